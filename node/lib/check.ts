// What is handed in, checked before anything is done with it: JSON would make `null` of much of it, and
// `null` means something.

import { LeaflogError, type LeaflogReason } from "./error.ts";

const LONGEST = 80;

/** A value as a message shows it. */
function shown(value: unknown): string {
	switch (typeof value) {
		case "string": {
			const text = value.length > LONGEST ? `${value.slice(0, LONGEST)}…` : value;
			return `the string ${JSON.stringify(text)}`;
		}
		case "function":
			return "a function";
		case "object":
			return value === null ? "null" : Array.isArray(value) ? "a list" : "an object";
		default: {
			const text = String(value);
			return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
		}
	}
}

/** Refuses an argument: its name, what was expected, and what was found. */
export function refuse(name: string, expected: string, found: unknown, code: LeaflogReason = "invalid_payload"): never {
	throw new LeaflogError({ code, message: `expected ${expected} as \`${name}\`, found ${shown(found)}` });
}

export function checkText(name: string, found: unknown): asserts found is string {
	if (typeof found !== "string") refuse(name, "a string", found);
}

export function checkTextOrNull(name: string, found: unknown): asserts found is string | null {
	if (found !== null && typeof found !== "string") refuse(name, "a string or null", found);
}

export function checkOptionalText(
	name: string,
	found: unknown,
	code?: LeaflogReason,
): asserts found is string | undefined {
	if (found !== undefined && typeof found !== "string") refuse(name, "a string or undefined", found, code);
}

export function checkOptionalFlag(name: string, found: unknown): asserts found is boolean | undefined {
	if (found !== undefined && typeof found !== "boolean") refuse(name, "true or false", found);
}

export function checkOneOf(name: string, found: unknown, choices: readonly string[]): void {
	if (found !== undefined && !choices.includes(found as string)) refuse(name, `one of ${choices.join(", ")}`, found);
}

export function checkObject(name: string, found: unknown, code?: LeaflogReason): asserts found is object {
	if (typeof found !== "object" || found === null || Array.isArray(found)) refuse(name, "an object", found, code);
}

/** Options of these names and no others: one that is misspelled would otherwise do nothing. */
export function checkOptions(name: string, found: unknown, known: readonly string[], code?: LeaflogReason): void {
	checkObject(name, found, code);
	for (const key of Object.keys(found)) {
		if (known.includes(key)) continue;
		const message = `expected ${known.map((one) => `\`${one}\``).join(", ")} in \`${name}\`, found ${shown(key)}`;
		throw new LeaflogError({ code: code ?? "invalid_payload", message });
	}
}

/** A JSON text; what is too deep or too long for one is refused. */
export function textOf(value: unknown): string {
	try {
		return JSON.stringify(value);
	} catch (error) {
		if (!(error instanceof RangeError)) throw error;
		const message = "expected a value that fits into one JSON text, found one that is too deep or too long";
		throw new LeaflogError({ code: "invalid_payload", message });
	}
}
