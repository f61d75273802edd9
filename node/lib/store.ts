// A place with many sessions of any format. Needs nothing of pi but its types.

import { resolve } from "node:path";

import type { ForkOptions, JsonValue } from "@earendil-works/pi-agent-core";

import { type Known, type LeaflogFormat, type LeaflogMetadata, metadataOf } from "./metadata.ts";
import {
	checkObject,
	checkOneOf,
	checkOptionalFlag,
	checkOptionalText,
	checkOptions,
	checkText,
	refuse,
	textOf,
} from "./check.ts";
import { LeaflogError } from "./error.ts";
import { answered, ask, type NativePlace, native } from "./native.ts";
import { assertJson } from "./payload.ts";
import { LeaflogStorage } from "./storage.ts";

/** A folder of files, or a database, and how its sessions are opened. */
export type LeaflogStoreOptions = (
	| {
			/** The folder. pi's sessions stand in it in one folder a working directory. */
			sessionsRoot: string;
			/** Where the index of a session lives: beside logs of 1 MiB or more (`auto`), beside all, in memory. */
			index?: "auto" | "always" | "memory";
			/** A folder for indexes, in place of the logs' own. */
			indexDir?: string;
	  }
	| {
			/** The file of an SQLite database. */
			database: string;
	  }
) & {
	/** Whether every append is flushed to the disk. */
	flush?: boolean;
};

export interface CreateOptions {
	id?: string;
	/** The working directory; that of the process if none is given, in a fork that of the source. */
	cwd?: string;
	parentSessionId?: string;
	metadata?: Record<string, JsonValue>;
	/** pi v4 if none is given; only files know others. */
	format?: LeaflogFormat;
}

/** A session by its metadata, its file or its id. */
export interface Named {
	id?: string;
	path?: string;
}

/** What a listing shows of a session. Times in milliseconds since 1970. */
export interface LeaflogInfo {
	id: string;
	path: string | null;
	format: LeaflogFormat;
	cwd: string | null;
	name: string | null;
	/** The name, or else the start of the first user message. */
	title: string | null;
	parent: string | null;
	created: number | null;
	updated: number | null;
	messageCount: number;
	bytes: number;
	damaged: boolean;
}

export interface LeaflogListing {
	/** The most recently active first. */
	sessions: LeaflogInfo[];
	/** Files that could not be read. */
	warnings: string[];
}

interface AnyOptions {
	sessionsRoot?: string;
	database?: string;
	index?: string;
	indexDir?: string;
	flush?: boolean;
}

/** The names that options for making a session can have. */
const OF_MAKING = ["id", "cwd", "parentSessionId", "metadata", "format"];
const FORMATS: readonly LeaflogFormat[] = ["codebot-v3", "pi-v1", "pi-v2", "pi-v3", "pi-v4"];

/** A place with many sessions. */
export class LeaflogStore {
	/** Whether each session is a file of its own. */
	readonly inFiles: boolean;
	readonly #keeping: string;
	#place: Promise<NativePlace> | undefined;

	constructor(options: LeaflogStoreOptions) {
		const ofFiles = ["sessionsRoot", "index", "indexDir"];
		checkOptions("options", options, [...ofFiles, "database", "flush"]);
		const { sessionsRoot, database, index, indexDir, flush }: AnyOptions = options;
		checkOptionalFlag("flush", flush);
		this.inFiles = database === undefined;
		if (this.inFiles) {
			checkText("sessionsRoot", sessionsRoot);
			checkOneOf("index", index, ["auto", "always", "memory"]);
			checkOptionalText("indexDir", indexDir);
			const folder = resolve(sessionsRoot);
			this.#keeping = textOf({ folder, index, indexDir: indexDir && resolve(indexDir), flush });
		} else {
			checkText("database", database);
			for (const name of ofFiles) {
				const given = (options as Record<string, unknown>)[name];
				if (given !== undefined) refuse(name, "nothing beside `database`", given);
			}
			this.#keeping = textOf({ database: resolve(database), flush });
		}
	}

	async create(options: CreateOptions = {}): Promise<LeaflogStorage> {
		checkOptions("options", options, OF_MAKING);
		return this.#session({ create: made(options) });
	}

	/** Opens a session for writing, or beside its writer for reading. */
	async open(named: Named, options: { readOnly?: boolean } = {}): Promise<LeaflogStorage> {
		checkOptions("options", options, ["readOnly"]);
		const { readOnly = false } = options;
		checkOptionalFlag("readOnly", readOnly);
		const storage = await this.#session({ open: { named: this.#named(named), readOnly } });
		try {
			await checkId(storage, named.id);
		} catch (error) {
			await storage.close();
			throw error;
		}
		return storage;
	}

	async fork(source: Named, options: ForkOptions & CreateOptions = {}): Promise<LeaflogStorage> {
		checkOptions("options", options, [...OF_MAKING, "scope", "entryId", "position"]);
		const { entryId, position } = options as { entryId?: string; position?: string };
		checkOneOf("scope", options.scope, ["branch", "tree"]);
		checkOptionalText("entryId", entryId);
		checkOneOf("position", position, ["before", "at"]);
		const scope =
			options.scope === "tree" ? "tree" : { branch: { entry: options.entryId, position: options.position } };
		return this.#session({ fork: { source: this.#named(source), scope, made: made(options) } });
	}

	/** Removes a session and what was derived from it. One that is not there is no error. */
	async delete(named: Named): Promise<void> {
		const question = textOf({ delete: this.#named(named) });
		await ask(await this.#opened(), question);
	}

	/** All sessions with their titles. Opens none for writing and takes no lock. */
	async listing(): Promise<LeaflogListing> {
		return ask(await this.#opened(), '"listing"');
	}

	/** The sessions of pi v4 as pi describes them. */
	async metadata(): Promise<LeaflogMetadata[]> {
		const known: Known[] = await ask(await this.#opened(), '"headers"');
		return known.map(metadataOf);
	}

	#opened(): Promise<NativePlace> {
		if (this.#place === undefined) {
			const place = answered(native.Place.at(this.#keeping));
			this.#place = place;
			// What failed is tried again.
			place.catch(() => {
				this.#place = undefined;
			});
		}
		return this.#place;
	}

	async #session(opening: unknown): Promise<LeaflogStorage> {
		const text = textOf(opening);
		const place = await this.#opened();
		return LeaflogStorage.of(await answered(place.session(text)));
	}

	/** In a database the path is that of all. What else is known of a session may come along. */
	#named(named: Named): Named {
		checkObject("session", named);
		const { id, path } = named;
		checkOptionalText("session.id", id);
		checkOptionalText("session.path", path);
		if (this.inFiles && path !== undefined) return { path: resolve(path) };
		if (id !== undefined) return { id };
		return refuse("session", this.inFiles ? "an object with a `path` or an `id`" : "an object with an `id`", named);
	}
}

/** Refuses another session than the one that was meant. */
export async function checkId(storage: LeaflogStorage, wanted: string | undefined): Promise<void> {
	const { id, path } = await storage.getMetadata();
	if (wanted === undefined || wanted === id) return;
	const message = `expected the session \`${wanted}\`, found \`${id}\`; list the sessions again`;
	throw new LeaflogError({ code: "invalid_entry", message, path });
}

function made({ id, cwd, parentSessionId: parent, metadata, format }: CreateOptions) {
	checkOptionalText("id", id);
	checkOptionalText("cwd", cwd);
	checkOptionalText("parentSessionId", parent);
	checkOneOf("format", format, FORMATS);
	if (metadata !== undefined) {
		checkObject("metadata", metadata);
		assertJson(metadata);
	}
	return { id, cwd, parent, metadata, format };
}
