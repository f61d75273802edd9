// A session as a harness holds it: pi's `Session` in all its methods, over a storage of leaflog. Whoever
// needs an instance of pi's own class hands that class to the repository; what leaflog adds comes on top.

import type {
	AgentMessage,
	BranchBounds,
	CustomEntry,
	Entry,
	EntryQuery,
	LanePointer,
	LaneRecord,
	LogItem,
	LogOptions,
	MessageEntry,
	NewRecord,
	OperationStartedRecord,
	ProvisionedEntry,
	RecordBase,
	RecordQuery,
	SessionStats,
	SessionTree,
} from "@earendil-works/pi-agent-core";

import { checkText } from "./check.ts";
import { LeaflogError } from "./error.ts";
import type { LeaflogMetadata } from "./metadata.ts";
import { branchQuery, entryQuery, type LeaflogSnapshot, type LeaflogStorage, type NewEntry, type Verification } from "./storage.ts";

/** What a session can do beyond pi's interface. */
export interface SessionExtras extends AsyncDisposable {
	/** The context of a lane, without reading more of the log than counts. */
	snapshot(lane?: string): Promise<LeaflogSnapshot>;
	/** The context of an entry, wherever the lanes stand. */
	snapshotAt(leafId: string): Promise<LeaflogSnapshot>;
	/** Reads everything and says what is wrong. Sessions in files only. */
	verify(): Promise<Verification>;
	/** All that was acknowledged is on the disk when this is done. */
	sync(): Promise<void>;
	/** Ends this use of the session. With the last one the writer's lock is given back. */
	close(): Promise<void>;
}

/** One lane of a session, and of the session what is the same on every lane. */
class Lane implements SessionTree {
	protected readonly storage: LeaflogStorage;
	readonly #lane: string;

	constructor(storage: LeaflogStorage, lane: string) {
		this.storage = storage;
		this.#lane = lane;
	}

	async getLeafId(): Promise<string | null> {
		const lanes = await this.storage.getLanes();
		const found = lanes.find(({ lane }) => lane === this.#lane);
		if (found === undefined) {
			throw new LeaflogError({
				code: "invalid_lane",
				message: `there is no lane \`${this.#lane}\`; \`createLane\` makes one`,
			});
		}
		return found.leafId;
	}

	getEntry(id: string): Promise<Entry | undefined> {
		return this.storage.getEntry(id);
	}

	getStats(): Promise<SessionStats> {
		return this.storage.getStats();
	}

	getName(): Promise<string | undefined> {
		return this.storage.getName();
	}

	setName(name: string | undefined): Promise<void> {
		return this.storage.setName(name);
	}

	getLabel(targetId: string): Promise<string | undefined> {
		return this.storage.getLabel(targetId);
	}

	setLabel(targetId: string, label: string | undefined): Promise<void> {
		return this.storage.setLabel(targetId, label);
	}

	findEntries(query?: EntryQuery): Promise<Entry[]> {
		return this.storage.findEntries(query);
	}

	async findEntry(query: EntryQuery = {}): Promise<Entry | undefined> {
		entryQuery(query);
		return (await this.findEntries(first(query)))[0];
	}

	async findEntriesOnBranch(query: EntryQuery & BranchBounds = {}): Promise<Entry[]> {
		// A question that no session can answer is refused on an empty lane too.
		branchQuery(query);
		const start = query.start ?? (await this.getLeafId());
		return start === null ? [] : this.storage.findEntriesOnBranch({ ...query, start });
	}

	async findEntryOnBranch(query: EntryQuery & BranchBounds = {}): Promise<Entry | undefined> {
		branchQuery(query);
		return (await this.findEntriesOnBranch(first(query)))[0];
	}

	async appendMessage(message: AgentMessage): Promise<string> {
		const entry = await this.storage.appendEntry<MessageEntry>({ type: "message", message }, this.#lane);
		return entry.id;
	}

	async appendCustomEntry(customType: string, data?: unknown): Promise<string> {
		const fields = data === undefined ? { customType } : { customType, data };
		const entry = await this.storage.appendEntry<CustomEntry>({ type: "custom", ...fields }, this.#lane);
		return entry.id;
	}
}

/** The same question for one entry. */
function first<Q extends EntryQuery>(query: Q): Q {
	return { ...query, limit: 1 };
}

/** pi's `Session` without pi: the lane `main`, and the other lanes by their names. */
export class LeaflogSession extends Lane {
	constructor(storage: LeaflogStorage) {
		super(storage, "main");
	}

	getMetadata(): Promise<LeaflogMetadata> {
		return this.storage.getMetadata();
	}

	view(lane: string): SessionTree {
		return lane === "main" ? this : new Lane(this.storage, lane);
	}

	getLanes(): Promise<LanePointer[]> {
		return this.storage.getLanes();
	}

	createLane(lane: string, at: string | null): Promise<void> {
		return this.storage.createLane(lane, at);
	}

	moveLane(lane: string, to: string | null): Promise<void> {
		return this.storage.moveLane(lane, to);
	}

	appendEntry<TEntry extends Entry>(entry: NewEntry<TEntry> | ProvisionedEntry<TEntry>, lane: string): Promise<TEntry> {
		return this.storage.appendEntry<TEntry>(entry, lane);
	}

	appendRecord<TNew extends NewRecord>(record: TNew): Promise<TNew & Pick<RecordBase, "seq" | "timestamp">> {
		const stored: Promise<unknown> = this.storage.appendRecord(record as NewRecord<LaneRecord>);
		return stored as Promise<TNew & Pick<RecordBase, "seq" | "timestamp">>;
	}

	findRecords<K extends LaneRecord["type"]>(
		query: RecordQuery & { type: K },
	): Promise<Extract<LaneRecord, { type: K }>[]>;
	findRecords(query?: RecordQuery): Promise<LaneRecord[]>;
	findRecords(query?: RecordQuery): Promise<LaneRecord[]> {
		return this.storage.findRecords(query);
	}

	findOpenOperations(lane: string, options?: { limit?: number }): Promise<OperationStartedRecord[]> {
		return this.storage.findOpenOperations(lane, options);
	}

	getLog(options?: LogOptions): Promise<LogItem[]> {
		return this.storage.getLog(options);
	}
}

/** A class of sessions that are made over a storage, such as pi's `Session`. */
export type SessionClass<TSession> = new (storage: LeaflogStorage) => TSession;

/** A session open more than once in a repository is open once below; the last one to be closed closes it. */
export interface Shared {
	storage: LeaflogStorage;
	users: number;
	/** Closes what is below. */
	end(): Promise<void>;
}

/** The class with what leaflog adds. */
export function withExtras<TSession>(Base: SessionClass<TSession>): new (shared: Shared) => TSession & SessionExtras {
	class WithExtras extends (Base as SessionClass<object>) implements SessionExtras {
		readonly #storage: LeaflogStorage;

		constructor(shared: Shared) {
			// Closed by itself: who has it goes on no more, whoever else has the session open.
			const storage = shared.storage.sharing(async () => {
				shared.users -= 1;
				if (shared.users === 0) await shared.end();
			});
			super(storage);
			this.#storage = storage;
			shared.users += 1;
		}

		async snapshot(lane = "main"): Promise<LeaflogSnapshot> {
			checkText("lane", lane);
			return this.#storage.snapshot({ lane });
		}

		async snapshotAt(leafId: string): Promise<LeaflogSnapshot> {
			checkText("leafId", leafId);
			return this.#storage.snapshot({ leafId });
		}

		verify(): Promise<Verification> {
			return this.#storage.verify();
		}

		sync(): Promise<void> {
			return this.#storage.sync();
		}

		close(): Promise<void> {
			return this.#storage.close();
		}

		[Symbol.asyncDispose](): Promise<void> {
			return this.close();
		}
	}
	return WithExtras as unknown as new (shared: Shared) => TSession & SessionExtras;
}
