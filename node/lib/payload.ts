// What JSON can hold. A payload that would come back as something else is refused before it is stored.

import { LeaflogError } from "./error.ts";

/** The levels that the library takes, and some for what stands around a payload: what is deeper it refuses anyway. */
const DEEPEST = 1_040;

function refuse(what: string): never {
	throw new LeaflogError({
		code: "invalid_payload",
		message: `expected a value that JSON can hold, found ${what}`,
	});
}

function instance(prototype: unknown): never {
	return refuse(`an instance of ${(prototype as { constructor?: { name?: string } } | null)?.constructor?.name ?? "a class"}`);
}

/** Refuses what JSON would leave out or change; `path` holds the objects that the value stands in. */
function check(found: unknown, path: Set<object>): void {
	switch (typeof found) {
		case "string":
		case "boolean":
			return;
		case "number":
			if (!Number.isFinite(found)) refuse(String(found));
			return;
		case "object":
			break;
		default:
			refuse(`a value of the type ${typeof found}`);
	}
	if (found === null) return;
	if (path.has(found)) refuse("an object that holds itself");
	if (path.size > DEEPEST) refuse("more than 1,024 levels");
	path.add(found);
	const prototype: unknown = Object.getPrototypeOf(found);
	const keys = Object.keys(found);
	if (Array.isArray(found)) {
		if (prototype !== Array.prototype) instance(prototype);
		if (keys.length !== found.length) refuse("a list with gaps or with names");
		for (let at = 0; at < found.length; at += 1) check(found[at], path);
	} else {
		if (prototype !== Object.prototype && prototype !== null) instance(prototype);
		for (const key of keys) check((found as Record<string, unknown>)[key], path);
	}
	// Of a list the length is a name too.
	const names = Object.getOwnPropertyNames(found).length - (Array.isArray(found) ? 1 : 0);
	if (names !== keys.length || Object.getOwnPropertySymbols(found).length > 0) refuse("a property that is not plain");
	path.delete(found);
}

/** Refuses what JSON cannot hold, however deep it lies. */
export function assertJson(value: unknown): void {
	try {
		check(value, new Set());
	} catch (error) {
		if (error instanceof RangeError) refuse("one that is too deep for the stack");
		throw error;
	}
}
