// The native half: places and sessions that are asked and answer in JSON texts, on threads of their own.

import { createRequire } from "node:module";

import { LeaflogError } from "./error.ts";

export interface NativeSession {
	call(question: string): Promise<string>;
}

export interface NativePlace {
	call(question: string): Promise<string>;
	session(opening: string): Promise<NativeSession>;
}

interface Native {
	Place: { at(keeping: string): Promise<NativePlace> };
}

export const native = createRequire(import.meta.url)("./leaflog.node") as Native;

/** Awaits the native half; what goes wrong there becomes an error with a code. */
export async function answered<T>(promise: Promise<T>): Promise<T> {
	try {
		return await promise;
	} catch (error) {
		throw LeaflogError.from(error);
	}
}

/** Asks, and parses the answer. What is asked names what comes back. */
export async function ask(of: NativePlace | NativeSession, question: string): Promise<any> {
	const answer = await answered(of.call(question));
	try {
		return JSON.parse(answer);
	} catch (cause) {
		// What stands in the store goes into an answer as it stands there.
		const message = `what is stored is no JSON: ${(cause as Error).message}; \`verify\` tells where in a file`;
		throw new LeaflogError({ code: "invalid_entry", message });
	}
}
