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

function refuse(message: string): never {
	throw new LeaflogError({ code: "invalid_query", message });
}

function checkLimit(limit: number | undefined): void {
	if (limit !== undefined && (!Number.isSafeInteger(limit) || limit <= 0)) {
		refuse(`expected a limit of at least 1, found ${limit}; leave it out to get all`);
	}
}

function checkAfter(seq: number | undefined): void {
	if (seq !== undefined && (!Number.isSafeInteger(seq) || seq < 0)) {
		refuse(`expected a number of the sequence, 0 or more, found ${seq}`);
	}
}

function checkOrder(order: string | undefined): void {
	if (order !== undefined && order !== "newestFirst" && order !== "oldestFirst") {
		refuse(`expected the order newestFirst or oldestFirst, found ${order}`);
	}
}

/** A question about entries as the native half takes it; refuses what no session can answer. */
export function entryQuery(query: EntryQuery) {
	checkLimit(query.limit);
	checkOrder(query.order);
	checkAfter(query.cursor?.afterSeq);
	const { type, customType, order, limit, cursor } = query;
	return { type, customType, order, limit, afterSeq: cursor?.afterSeq };
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

/**
 * One open session. Calls are done in the order they are made: a write waits for the writes before it, a
 * read for those writes that were asked for before it. A failed call changes nothing.
 */
export class LeaflogStorage implements SessionStorage<LeaflogMetadata>, AsyncDisposable {
	readonly format: LeaflogFormat;
	readonly #native: NativeSession;
	readonly #metadata: LeaflogMetadata;
	#tail: Promise<void> = Promise.resolve();

	private constructor(native: NativeSession, known: Known) {
		this.#native = native;
		this.#metadata = metadataOf(known);
		this.format = known.format;
	}

	/** What `LeaflogStore` gives out. */
	static async of(native: NativeSession): Promise<LeaflogStorage> {
		return new LeaflogStorage(native, (await ask(native, '"metadata"')) as Known);
	}

	async getMetadata(): Promise<LeaflogMetadata> {
		return structuredClone(this.#metadata);
	}

	getLanes(): Promise<LanePointer[]> {
		return this.#read("lanes");
	}

	async createLane(lane: string, at: string | null): Promise<void> {
		await this.#write({ createLane: { lane, to: at } });
	}

	async moveLane(lane: string, to: string | null): Promise<void> {
		await this.#write({ moveLane: { lane, to } });
	}

	async appendEntry<TEntry extends Entry>(entry: NewEntry<TEntry>, lane: string): Promise<TEntry> {
		assertJson(entry);
		const { type: kind, id, ...given } = entry as Stored;
		const fields = this.format === "codebot-v3" ? given : withoutPlace(given);
		const stored = await this.#write({ appendEntry: { id, kind, lane, fields } });
		return this.#entry(stored) as unknown as TEntry;
	}

	async appendRecord<TRecord extends LaneRecord>(record: NewRecord<TRecord>): Promise<TRecord> {
		assertJson(record);
		const { type: kind, id, lane, ...given } = record as Stored;
		const fields = withoutPlace(given);
		return bareRecord(await this.#write({ appendRecord: { id, kind, lane, fields } })) as unknown as TRecord;
	}

	async getEntry(id: string): Promise<Entry | undefined> {
		const stored: Stored | null = await this.#read({ entry: id });
		return stored === null ? undefined : this.#entry(stored);
	}

	async findEntries(query: EntryQuery = {}): Promise<Entry[]> {
		const found: Stored[] = await this.#read({ findEntries: entryQuery(query) });
		return found.map((stored) => this.#entry(stored));
	}

	async findEntriesOnBranch(query: EntryQuery & BranchBounds & { start: string }): Promise<Entry[]> {
		const { start, stopAtType, stopAtId } = query;
		const entries = entryQuery(query);
		const found: Stored[] = await this.#read({
			findEntriesOnBranch: { start, stopAtType, stopAtId, entries },
		});
		return found.map((stored) => this.#entry(stored));
	}

	async findRecords<K extends LaneRecord["type"]>(
		query: RecordQuery & { type: K },
	): Promise<Extract<LaneRecord, { type: K }>[]>;
	async findRecords(query?: RecordQuery): Promise<LaneRecord[]>;
	async findRecords(query: RecordQuery = {}): Promise<LaneRecord[]> {
		checkLimit(query.limit);
		checkAfter(query.afterSeq);
		checkOrder(query.order);
		const { lane, type, runId, operationKind, afterSeq, order, limit } = query;
		const found: Stored[] = await this.#read({
			findRecords: { lane, type, runId, operationKind, afterSeq, order, limit },
		});
		return found.map((stored) => bareRecord(stored) as unknown as LaneRecord);
	}

	async findOpenOperations(lane: string, options: { limit?: number } = {}): Promise<OperationStartedRecord[]> {
		checkLimit(options.limit);
		const found: Stored[] = await this.#read({ findOpenOperations: { lane, limit: options.limit } });
		return found.map((stored) => bareRecord(stored) as unknown as OperationStartedRecord);
	}

	/** What happened, in order. Lines of kinds that this version does not know are left out. */
	async getLog(options: LogOptions = {}): Promise<LogItem[]> {
		checkLimit(options.limit);
		checkAfter(options.afterSeq);
		const { afterSeq, limit } = options;
		const items: StoredItem[] = await this.#read({ log: { afterSeq, limit } });
		return items.filter((item) => item.kind !== "other").map((item) => this.#item(item));
	}

	async getName(): Promise<string | undefined> {
		return (await this.#read("name")) ?? undefined;
	}

	async setName(name: string | undefined): Promise<void> {
		await this.#write({ setName: name ?? null });
	}

	async getLabel(id: string): Promise<string | undefined> {
		return (await this.#read({ label: id })) ?? undefined;
	}

	async setLabel(id: string, label: string | undefined): Promise<void> {
		await this.#write({ setLabel: { id, label } });
	}

	getStats(): Promise<SessionStats> {
		return this.#read("stats");
	}

	/** The context of a lane or of any entry, without reading more of the log than counts. */
	async snapshot(options: SnapshotOptions = {}): Promise<LeaflogSnapshot> {
		const { lane, leafId: leaf } = options;
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

	/** Brings the index up to date and gives the writer's lock back. Closing again does nothing. */
	async close(): Promise<void> {
		await this.#write("close");
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.close();
	}

	// A call becomes a text at once: what the caller changes later changes nothing here. What comes back
	// has the shape that the call asks for.
	#write(call: unknown): Promise<any> {
		const question = JSON.stringify(call);
		const result = this.#tail.then(() => ask(this.#native, question));
		this.#tail = result.then(
			() => undefined,
			() => undefined,
		);
		return result;
	}

	async #read(call: unknown): Promise<any> {
		const question = JSON.stringify(call);
		await this.#tail;
		return ask(this.#native, question);
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
