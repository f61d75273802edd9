// What is known of a session beside its lines, as pi names it.

import type { JsonValue, SessionMetadata } from "@earendil-works/pi-agent-core";

export type LeaflogFormat = "codebot-v3" | "pi-v1" | "pi-v2" | "pi-v3" | "pi-v4";

export interface LeaflogMetadata extends SessionMetadata {
	cwd: string;
	/** The log; the database where sessions are kept in one. */
	path: string;
	/** When the log was changed last, in milliseconds since 1970; when it was made, in a database. */
	modifiedAt: number;
	/** 4 for pi v4, 3 for all that came before. */
	sourceFormat: 3 | 4;
	/** Only where a parent is known by its path alone. */
	legacyParentSessionPath?: string;
	/** The maker's own object. */
	metadata?: Record<string, JsonValue>;
}

/** What the native half says of a session. */
export interface Known {
	id: string;
	created: number | null;
	cwd: string | null;
	parent: string | null;
	format: LeaflogFormat;
	path: string | null;
	modified: number | null;
	header: { legacyParentSessionPath?: string; metadata?: Record<string, JsonValue> };
}

export function metadataOf(known: Known): LeaflogMetadata {
	const isV4 = known.format === "pi-v4";
	const created = known.created ?? 0;
	// Before pi v4 a parent is a path.
	const legacy = isV4 ? known.header.legacyParentSessionPath : (known.parent ?? undefined);
	return {
		id: known.id,
		createdAt: created,
		cwd: known.cwd ?? "",
		path: known.path ?? "",
		modifiedAt: known.modified ?? created,
		sourceFormat: isV4 ? 4 : 3,
		...(legacy === undefined && known.parent !== null ? { parentSessionId: known.parent } : {}),
		...(legacy === undefined ? {} : { legacyParentSessionPath: legacy }),
		...(known.header.metadata === undefined ? {} : { metadata: known.header.metadata }),
	};
}
