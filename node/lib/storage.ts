// One open session with pi's `SessionStorage`, whatever its format. Needs nothing of pi but its types.

import type {
	AgentMessage,
	BranchBounds,
	Entry,
	EntryQuery,
	JsonValue,
	LanePointer,
	LaneRecord,
	LogItem,
	LogOptions,
	NewRecord,
	OperationStartedRecord,
	ProvisionedEntry,
	RecordQuery,
	SessionContext,
	SessionStats,
	SessionStorage,
} from "@earendil-works/pi-agent-core";

import {
	checkObject,
	checkOptionalText,
	checkOptions,
	checkText,
	checkTextOrNull,
	textOf,
	refuse as refuseArgument,
} from "./check.ts";
import { LeaflogError } from "./error.ts";
import { type Known, type LeaflogFormat, type LeaflogMetadata, metadataOf } from "./metadata.ts";
import { ask, type NativeSession } from "./native.ts";
import { assertJson } from "./payload.ts";

/** Where a snapshot ends: at an entry, at the leaf of a lane, or where the conversation stands. */
export interface SnapshotOptions {
	lane?: string;
	leafId?: string;
}

/** What a harness resumes with: pi's `SessionContext`, and what else is known of the place. */
export interface LeaflogSnapshot extends SessionContext {
	messages: AgentMessage[];
	format: LeaflogFormat;
	sessionId: string;
	lane: string | null;
	leafId: string | null;
	name: string | null;
	/** Entries from the root to the leaf. */
	pathEntries: number;
	/** codebot's plan and goal. */
	plan: { phase: string | null; slug: string | null; preMode: string | null } | null;
	goal: JsonValue;
}

/** What a full reading of a log found. */
export interface Verification {
	clean: boolean;
	lines: number;
	bytes: number;
	entries: number;
	leaves: number;
	indexChecked: boolean;
	/** The first damaged lines, and how many there are. */
	reports: { line: number; offset: number; code: string; skipped: boolean; detail: string }[];
	reportCount: number;
	/** The first things that are wrong beside them, and how many there are. */
	problems: { place: string; detail: string }[];
	problemCount: number;
}

/** An entry to append; leaflog makes an id where there is none. */
export type NewEntry<TEntry extends Entry = Entry> =
	| ProvisionedEntry<TEntry>
	| (ProvisionedEntry<TEntry> extends infer P ? (P extends { id: string } ? Omit<P, "id"> : never) : never);

type Stored = Record<string, unknown>;
type StoredItem = { kind: string; seq: number } & Stored;

const invalid = "invalid_query";

function checkLimit(limit: unknown): void {
	if (limit === undefined || (Number.isSafeInteger(limit) && (limit as number) > 0)) return;
	refuseArgument("limit", "a whole number of at least 1, or nothing to get all,", limit, invalid);
}

function checkAfter(name: string, seq: unknown): void {
	if (Number.isSafeInteger(seq) && (seq as number) >= 0) return;
	refuseArgument(name, "a number of the sequence, 0 or more,", seq, invalid);
}

function checkOrder(order: unknown): void {
	if (order === undefined || order === "newestFirst" || order === "oldestFirst") return;
	refuseArgument("order", "newestFirst or oldestFirst", order, invalid);
}

const OF_ENTRIES = ["type", "customType", "order", "limit", "cursor"];
const OF_A_BRANCH = [...OF_ENTRIES, "start", "stopAtType", "stopAtId"];

/** A question about entries as the native half takes it; refuses what no session can answer. */
export function entryQuery(query: EntryQuery, known: readonly string[] = OF_ENTRIES) {
	checkOptions("query", query, known, invalid);
	const { type, customType, order, limit, cursor } = query;
	checkOptionalText("type", type, invalid);
	checkOptionalText("customType", customType, invalid);
	checkLimit(limit);
	checkOrder(order);
	// A cursor without its number would begin again from the start, for ever.
	if (cursor !== undefined) {
		checkOptions("cursor", cursor, ["afterSeq"], invalid);
		checkAfter("cursor.afterSeq", cursor.afterSeq);
	}
	return { type, customType, order, limit, afterSeq: cursor?.afterSeq };
}

/** The same of a question about a branch. */
export function branchQuery(query: EntryQuery & BranchBounds) {
	const entries = entryQuery(query, OF_A_BRANCH);
	const { start, stopAtType, stopAtId } = query;
	checkOptionalText("start", start, invalid);
	checkOptionalText("stopAtType", stopAtType, invalid);
	checkOptionalText("stopAtId", stopAtId, invalid);
	return { start, stopAtType, stopAtId, entries };
}

/** An entry of pi v4 without what only its line has. */
function bareEntry({ kind: _kind, lane: _lane, ...entry }: Stored): Stored {
	return entry;
}

/** What the store gives is given by the store, as with pi. codebot has fields of these names of its own. */
function withoutPlace({ parentId: _parent, seq: _seq, timestamp: _time, ...fields }: Stored): Stored {
	return fields;
}

function bareRecord({ kind: _kind, ...record }: Stored): Stored {
	return record;
}

/** What the handles of one open session share. */
interface Core {
	readonly native: NativeSession;
	readonly metadata: LeaflogMetadata;
	readonly format: LeaflogFormat;
	/** Done with the last write that was asked for. */
	tail: Promise<void>;
	readonly reads: Set<Promise<unknown>>;
}

/**
 * One open session. Calls are done in the order they are made: a write waits for the writes before it, a
 * read for those writes that were asked for before it. A failed call changes nothing.
 */
export class LeaflogStorage implements SessionStorage<LeaflogMetadata>, AsyncDisposable {
	readonly format: LeaflogFormat;
	readonly #core: Core;
	readonly #end: () => Promise<void>;
	#closing: Promise<void> | undefined;

	private constructor(core: Core, end?: () => Promise<void>) {
		this.#core = core;
		this.#end = end ?? (() => this.#closeAll());
		this.format = core.format;
	}

	/** What `LeaflogStore` gives out. */
	static async of(native: NativeSession): Promise<LeaflogStorage> {
		const known = (await ask(native, '"metadata"')) as Known;
		const { format } = known;
		return new LeaflogStorage({ native, metadata: metadataOf(known), format, tail: Promise.resolve(), reads: new Set() });
	}

	/** The same session once more, closed by itself; what closing it comes to says who shares it. */
	sharing(end: () => Promise<void>): LeaflogStorage {
		return new LeaflogStorage(this.#core, end);
	}

	/** What is known of the session. A closed one tells it too, so that it can be opened again. */
	async getMetadata(): Promise<LeaflogMetadata> {
		return structuredClone(this.#core.metadata);
	}

	async getLanes(): Promise<LanePointer[]> {
		return this.#read("lanes");
	}

	async createLane(lane: string, at: string | null): Promise<void> {
		checkText("lane", lane);
		checkTextOrNull("at", at);
		await this.#write({ createLane: { lane, to: at } });
	}

	async moveLane(lane: string, to: string | null): Promise<void> {
		checkText("lane", lane);
		checkTextOrNull("to", to);
		await this.#write({ moveLane: { lane, to } });
	}

	async appendEntry<TEntry extends Entry>(entry: NewEntry<TEntry>, lane: string): Promise<TEntry> {
		checkObject("entry", entry);
		checkText("lane", lane);
		const { type: kind, id, ...given } = entry as Stored;
		checkText("entry.type", kind);
		checkOptionalText("entry.id", id);
		assertJson(entry);
		const fields = this.format === "codebot-v3" ? given : withoutPlace(given);
		const stored = await this.#write({ appendEntry: { id, kind, lane, fields } });
		return this.#entry(stored) as unknown as TEntry;
	}

	async appendRecord<TRecord extends LaneRecord>(record: NewRecord<TRecord>): Promise<TRecord> {
		checkObject("record", record);
		const { type: kind, id, lane, ...given } = record as Stored;
		checkText("record.type", kind);
		checkText("record.lane", lane);
		checkOptionalText("record.id", id);
		assertJson(record);
		// Without a cost pi cannot open the session again.
		if (kind === "usage") checkObject("record.usage.cost", (given.usage as { cost?: unknown } | null)?.cost);
		const fields = withoutPlace(given);
		return bareRecord(await this.#write({ appendRecord: { id, kind, lane, fields } })) as unknown as TRecord;
	}

	async getEntry(id: string): Promise<Entry | undefined> {
		// As with pi nothing has an id that is none, such as the leaf of an empty lane.
		this.#checkOpen();
		if (typeof id !== "string") return undefined;
		const stored: Stored | null = await this.#read({ entry: id });
		return stored === null ? undefined : this.#entry(stored);
	}

	async findEntries(query: EntryQuery = {}): Promise<Entry[]> {
		const found: Stored[] = await this.#read({ findEntries: entryQuery(query) });
		return found.map((stored) => this.#entry(stored));
	}

	async findEntriesOnBranch(query: EntryQuery & BranchBounds & { start: string }): Promise<Entry[]> {
		const asked = branchQuery(query);
		checkText("start", asked.start);
		const found: Stored[] = await this.#read({ findEntriesOnBranch: asked });
		return found.map((stored) => this.#entry(stored));
	}

	async findRecords<K extends LaneRecord["type"]>(
		query: RecordQuery & { type: K },
	): Promise<Extract<LaneRecord, { type: K }>[]>;
	async findRecords(query?: RecordQuery): Promise<LaneRecord[]>;
	async findRecords(query: RecordQuery = {}): Promise<LaneRecord[]> {
		const known = ["lane", "type", "runId", "operationKind", "afterSeq", "order", "limit"];
		checkOptions("query", query, known, invalid);
		const { lane, type, runId, operationKind, afterSeq, order, limit } = query;
		checkOptionalText("lane", lane, invalid);
		checkOptionalText("type", type, invalid);
		checkOptionalText("runId", runId, invalid);
		checkOptionalText("operationKind", operationKind, invalid);
		if (afterSeq !== undefined) checkAfter("afterSeq", afterSeq);
		checkLimit(limit);
		checkOrder(order);
		const found: Stored[] = await this.#read({
			findRecords: { lane, type, runId, operationKind, afterSeq, order, limit },
		});
		return found.map((stored) => bareRecord(stored) as unknown as LaneRecord);
	}

	async findOpenOperations(lane: string, options: { limit?: number } = {}): Promise<OperationStartedRecord[]> {
		checkText("lane", lane);
		checkOptions("options", options, ["limit"], invalid);
		checkLimit(options.limit);
		const found: Stored[] = await this.#read({ findOpenOperations: { lane, limit: options.limit } });
		return found.map((stored) => bareRecord(stored) as unknown as OperationStartedRecord);
	}

	/** What happened, in order. Lines of kinds that this version does not know are left out. */
	async getLog(options: LogOptions = {}): Promise<LogItem[]> {
		checkOptions("options", options, ["afterSeq", "limit"], invalid);
		const { afterSeq, limit } = options;
		if (afterSeq !== undefined) checkAfter("afterSeq", afterSeq);
		checkLimit(limit);
		const items: StoredItem[] = await this.#read({ log: { afterSeq, limit } });
		return items.filter((item) => item.kind !== "other").map((item) => this.#item(item));
	}

	async getName(): Promise<string | undefined> {
		return (await this.#read("name")) ?? undefined;
	}

	async setName(name: string | undefined): Promise<void> {
		checkOptionalText("name", name);
		await this.#write({ setName: name ?? null });
	}

	async getLabel(id: string): Promise<string | undefined> {
		this.#checkOpen();
		return typeof id === "string" ? ((await this.#read({ label: id })) ?? undefined) : undefined;
	}

	async setLabel(id: string, label: string | undefined): Promise<void> {
		checkText("id", id);
		checkOptionalText("label", label);
		await this.#write({ setLabel: { id, label } });
	}

	async getStats(): Promise<SessionStats> {
		return this.#read("stats");
	}

	/** The context of a lane or of any entry, without reading more of the log than counts. */
	async snapshot(options: SnapshotOptions = {}): Promise<LeaflogSnapshot> {
		checkOptions("options", options, ["lane", "leafId"]);
		const { lane, leafId: leaf } = options;
		checkOptionalText("lane", lane);
		checkOptionalText("leafId", leaf);
		const { model, ...taken } = await this.#read({ snapshot: { lane, leaf } });
		return {
			...taken,
			model: model && { provider: model.provider ?? undefined, modelId: model.model ?? undefined },
		};
	}

	/** Reads everything: every line, the rules of the format, the index against the log. Files only. */
	async verify(): Promise<Verification> {
		return this.#read("verify");
	}

	/** All that was acknowledged is on the disk when this is done. */
	async sync(): Promise<void> {
		await this.#write("sync");
	}

	/**
	 * Ends this use of the session once the calls that were made are done. With the last one the index is
	 * brought up to date, and the writer's lock and the files are given back. Closing again does nothing.
	 */
	close(): Promise<void> {
		this.#closing ??= this.#end();
		return this.#closing;
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.close();
	}

	#checkOpen(): void {
		if (this.#closing === undefined) return;
		const { path } = this.#core.metadata;
		throw new LeaflogError({ code: "closed", message: "the session was closed; open it again", path });
	}

	#closeAll(): Promise<void> {
		return this.#queue(async () => {
			// Those who read still have the files.
			await Promise.allSettled(this.#core.reads);
			await ask(this.#core.native, '"close"');
		});
	}

	/** Does something after the writes before it. */
	#queue<T>(work: () => Promise<T>): Promise<T> {
		const result = this.#core.tail.then(work);
		this.#core.tail = result.then(
			() => undefined,
			() => undefined,
		);
		return result;
	}

	// A call becomes a text at once: what the caller changes later changes nothing here. What comes back
	// has the shape that the call asks for.
	async #write(call: unknown): Promise<any> {
		this.#checkOpen();
		const question = textOf(call);
		return this.#queue(() => ask(this.#core.native, question));
	}

	async #read(call: unknown): Promise<any> {
		this.#checkOpen();
		const { native, reads, tail } = this.#core;
		const question = textOf(call);
		const result = tail.then(() => ask(native, question));
		reads.add(result);
		try {
			return await result;
		} finally {
			reads.delete(result);
		}
	}

	/** In other formats than pi v4 a line is the entry and nothing else. */
	#entry(stored: Stored): Entry {
		return (this.format === "pi-v4" ? bareEntry(stored) : stored) as unknown as Entry;
	}

	#item(item: StoredItem): LogItem {
		switch (item.kind) {
			case "entry":
				return { ...item, entry: this.#entry(item.entry as Stored) } as LogItem;
			case "record":
				return { ...item, record: bareRecord(item.record as Stored) } as unknown as LogItem;
			case "fact":
				// What was cleared is there and undefined.
				return (item.fact === "name" ? { ...item, name: item.name } : { ...item, label: item.label }) as LogItem;
			default:
				return item as unknown as LogItem;
		}
	}
}
