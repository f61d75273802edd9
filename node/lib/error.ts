// What goes wrong, as an error whose code is one of pi's.

import type { SessionErrorCode } from "@earendil-works/pi-agent-core";

/** What leaflog calls it: pi's codes, and three that pi has no code for. */
export type LeaflogReason = SessionErrorCode | "locked" | "unsupported" | "closed";

const PI_CODES: ReadonlySet<string> = new Set<SessionErrorCode>([
	"not_found",
	"already_exists",
	"invalid_entry",
	"invalid_payload",
	"invalid_lane",
	"invalid_query",
	"invalid_fork_target",
	"storage",
]);

interface Parts {
	code: LeaflogReason;
	message: string;
	path?: string | null;
	line?: number | null;
	offset?: number | null;
	cause?: string | null;
}

/** Hints of the library that name its own functions, and what they are called here. */
const HERE: readonly (readonly [string, string])[] = [
	["`create_lane` makes one", "`createLane` makes one"],
	["`move_lane` moves it", "`moveLane` moves it"],
	["`create_lane` or `move_lane` (at the prompt `leaflog branch`)", "`createLane` or `moveLane`"],
	["`set_name` or `set_label`", "`setName` or `setLabel`"],
	["`set_name` of the library", "`setName` of the library"],
	["`set_label` of the library", "`setLabel` of the library"],
	["a folder, whose sessions `leaflog ls` lists", "a folder, whose sessions `listing` lists"],
];

/** A failure. Its message says what was expected, what was found and what to do. */
export class LeaflogError extends Error {
	/** pi's code; `storage` for what pi has no code for. */
	readonly code: SessionErrorCode;
	/** leaflog's own code. */
	readonly reason: LeaflogReason;
	/** The file it is about. */
	readonly path: string | undefined;
	/** The line it is about, counted from 1. */
	readonly line: number | undefined;
	/** The byte offset of that line. */
	readonly offset: number | undefined;

	constructor(parts: Parts) {
		super(parts.message, parts.cause ? { cause: new Error(parts.cause) } : undefined);
		this.name = "LeaflogError";
		this.reason = parts.code;
		this.code = PI_CODES.has(parts.code) ? (parts.code as SessionErrorCode) : "storage";
		this.path = parts.path ?? undefined;
		this.line = parts.line ?? undefined;
		this.offset = parts.offset ?? undefined;
	}

	/** What the native half threw; its message is a JSON object if it is a failure of the library. */
	static from(error: unknown): unknown {
		if (!(error instanceof Error) || !error.message.startsWith("{")) return error;
		try {
			const parts = JSON.parse(error.message) as Parts;
			const message = HERE.reduce((text, [theirs, ours]) => text.replace(theirs, ours), parts.message);
			return new LeaflogError({ ...parts, message });
		} catch {
			return error;
		}
	}
}
