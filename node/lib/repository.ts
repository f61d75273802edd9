// pi's repository of sessions over leaflog.

import { resolve } from "node:path";

import type { ForkOptions, SessionCreateOptions } from "@earendil-works/pi-agent-core";

import { checkObject, checkOptionalText, checkOptions, checkText, refuse } from "./check.ts";
import type { LeaflogMetadata } from "./metadata.ts";
import { LeaflogSession, type SessionClass, type SessionExtras, type Shared, withExtras } from "./session.ts";
import type { LeaflogStorage } from "./storage.ts";
import { type CreateOptions, checkId, type LeaflogListing, LeaflogStore, type LeaflogStoreOptions } from "./store.ts";

export type LeaflogCreateOptions = SessionCreateOptions & Omit<CreateOptions, "format">;

export type LeaflogRepoOptions<TSession> = LeaflogStoreOptions & {
	/** The class of the sessions that are given out: pi's `Session` for a harness that needs its own. */
	Session?: SessionClass<TSession>;
};

/**
 * pi's `SessionRepo` over a folder of logs or over a database. Sessions of the repository that are open more
 * than once share one writer.
 */
export class LeaflogSessionRepo<TSession = LeaflogSession> implements AsyncDisposable {
	/** The same sessions, whatever their format. */
	readonly store: LeaflogStore;
	readonly #Session: new (shared: Shared) => TSession & SessionExtras;
	readonly #open = new Map<string, Promise<Shared>>();
	/** Sessions whose writer's lock is about to be given back. */
	readonly #ending = new Map<string, Promise<void>>();
	/** Those that are being deleted. */
	readonly #deleting = new Map<string, Promise<void>>();

	constructor(options: LeaflogRepoOptions<TSession>) {
		checkObject("options", options);
		const { Session, ...place } = options;
		if (Session !== undefined && typeof Session !== "function") refuse("Session", "a class", Session);
		this.store = new LeaflogStore(place as LeaflogStoreOptions);
		this.#Session = withExtras(Session ?? (LeaflogSession as unknown as SessionClass<TSession>));
	}

	async create(options: LeaflogCreateOptions = {}): Promise<TSession & SessionExtras> {
		checkOptions("options", options, ["id", "cwd", "parentSessionId", "metadata"]);
		return this.#added(await this.store.create({ ...options, format: "pi-v4" }));
	}

	/** Opens a session for writing. */
	async open(metadata: LeaflogMetadata): Promise<TSession & SessionExtras> {
		const key = this.#key(metadata);
		for (;;) {
			const shared = this.#open.get(key) ?? this.#opening(key, metadata);
			const found = await shared;
			await checkId(found.storage, metadata.id);
			// Whoever had it open may have closed it meanwhile.
			if (this.#open.get(key) === shared) return new this.#Session(found);
		}
	}

	/** The sessions of pi v4, of one working directory if one is given, the most recently changed first. */
	async list(options: { cwd?: string } | void): Promise<LeaflogMetadata[]> {
		if (options !== undefined) {
			checkOptions("options", options, ["cwd"]);
			checkOptionalText("cwd", options.cwd);
		}
		const sessions = (await this.store.metadata()).sort((one, other) => other.modifiedAt - one.modifiedAt);
		if (options?.cwd === undefined) return sessions;
		const cwd = resolve(options.cwd);
		return sessions.filter((session) => session.cwd === cwd);
	}

	/** All sessions, of whatever format, with their titles, the most recently active first. */
	listing(): Promise<LeaflogListing> {
		return this.store.listing();
	}

	/**
	 * Removes a session. One that is open here is closed first; every later call on it fails. One that is not
	 * there is no error, and calls at the same time are one.
	 */
	async delete(metadata: LeaflogMetadata): Promise<void> {
		const key = this.#key(metadata);
		const deleting = this.#deleting.get(key) ?? this.#delete(key, metadata).finally(() => this.#deleting.delete(key));
		this.#deleting.set(key, deleting);
		await deleting;
	}

	async #delete(key: string, metadata: LeaflogMetadata): Promise<void> {
		const shared = await this.#open.get(key)?.catch(() => undefined);
		await shared?.end();
		await this.#ending.get(key);
		await this.store.delete(metadata);
	}

	async fork(
		source: LeaflogMetadata,
		options: ForkOptions & LeaflogCreateOptions = {},
	): Promise<TSession & SessionExtras> {
		this.#key(source);
		return this.#added(await this.store.fork(source, options));
	}

	/** Closes all sessions that are open here. */
	async close(): Promise<void> {
		const open = [...this.#open.values()];
		await Promise.all(open.map(async (shared) => (await shared.catch(() => undefined))?.end()));
		await Promise.all(this.#ending.values());
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.close();
	}

	#opening(key: string, metadata: LeaflogMetadata): Promise<Shared> {
		const shared = (async () => {
			await this.#ending.get(key);
			return this.#shared(key, await this.store.open(metadata));
		})();
		this.#open.set(key, shared);
		shared.catch(() => this.#open.delete(key));
		return shared;
	}

	async #added(storage: LeaflogStorage): Promise<TSession & SessionExtras> {
		const key = this.#key(await storage.getMetadata());
		const shared = this.#shared(key, storage);
		this.#open.set(key, Promise.resolve(shared));
		return new this.#Session(shared);
	}

	#shared(key: string, storage: LeaflogStorage): Shared {
		let ended: Promise<void> | undefined;
		const end = () => {
			if (ended === undefined) {
				this.#open.delete(key);
				ended = storage.close();
				const told = ended.then(
					() => this.#ending.delete(key),
					() => this.#ending.delete(key),
				);
				this.#ending.set(
					key,
					told.then(() => undefined),
				);
			}
			return ended;
		};
		return { storage, users: 0, end };
	}

	#key(metadata: LeaflogMetadata): string {
		checkObject("session", metadata);
		const { id, path } = metadata;
		if (this.store.inFiles) checkText("session.path", path);
		else checkText("session.id", id);
		return this.store.inFiles ? resolve(path) : id;
	}
}
