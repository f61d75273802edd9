// What JSON can hold. A payload that would come back as something else is refused before it is stored.

import { LeaflogError } from "./error.ts";

function refuse(what: string): never {
	throw new LeaflogError({
		code: "invalid_payload",
		message: `expected a value that JSON can hold, found ${what}`,
	});
}

/** The values that stand in an object or an array; refuses those that JSON would leave out or change. */
function inside(holder: object): unknown[] {
	const isList = Array.isArray(holder);
	const prototype: unknown = Object.getPrototypeOf(holder);
	if (isList ? prototype !== Array.prototype : prototype !== Object.prototype && prototype !== null) {
		refuse(`an instance of ${(prototype as { constructor?: { name?: string } } | null)?.constructor?.name ?? "a class"}`);
	}
	const keys = Reflect.ownKeys(holder).filter((key) => !(isList && key === "length"));
	if (isList && keys.length !== holder.length) refuse("a list with gaps or with names");
	return keys.map((key) => {
		const found = Object.getOwnPropertyDescriptor(holder, key);
		if (typeof key === "symbol" || found === undefined || !found.enumerable || !("value" in found)) {
			return refuse(`a property that is not plain, ${String(key)}`);
		}
		return found.value as unknown;
	});
}

/** Refuses what JSON cannot hold, however deep it lies. */
export function assertJson(value: unknown): void {
	const path = new Set<object>();
	// The end of an object's values on the stack is marked by the object in a list of its own.
	const stack: ({ enter: unknown } | { leave: object })[] = [{ enter: value }];
	for (let step = stack.pop(); step !== undefined; step = stack.pop()) {
		if ("leave" in step) {
			path.delete(step.leave);
			continue;
		}
		const found = step.enter;
		if (typeof found === "number" && !Number.isFinite(found)) refuse(String(found));
		if (found === null || ["string", "boolean", "number"].includes(typeof found)) continue;
		if (typeof found !== "object") refuse(`a value of the type ${typeof found}`);
		if (path.has(found)) refuse("an object that holds itself");
		path.add(found);
		stack.push({ leave: found });
		for (const held of inside(found)) stack.push({ enter: held });
	}
}
