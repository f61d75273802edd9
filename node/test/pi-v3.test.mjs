// The sessions of pi's command line and leaflog on the same files: what one writes the other reads, and what
// a model would be sent is the same for every entry.

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { LeaflogStore } from "leaflog";

import { dice, folder, piV3, plain } from "./support.mjs";
import { byPi, byUs, compare, ourContext, piContext, step } from "./v3.mjs";

const { SessionManager } = piV3;
const user = (content) => ({ role: "user", content, timestamp: 1 });

/** A session that pi wrote at random. */
function written(root, seed, steps) {
	const [chance, manager] = [dice(seed), SessionManager.create(root, root)];
	manager.appendMessage(user("Is it done?"));
	for (let number = 0; number < steps; number++) byPi(manager, step(chance, manager));
	return manager;
}

const indexed = (root) => new LeaflogStore({ sessionsRoot: root, index: "always" });

test("what pi writes is read and indexed, with the same context for every entry", async (t) => {
	const root = await folder(t);
	const manager = written(root, 21, 200);
	const found = await compare(indexed(root), manager.getSessionFile());
	const types = new Set(found.getEntries().map(({ type }) => type));
	strictEqual(types.size, 11, [...types].join(" "));
});

test("a session that is made through the package is read and gone on with by pi", async (t) => {
	const root = await folder(t);
	const store = indexed(root);
	const session = await store.create({ format: "pi-v3", cwd: root });
	const { path } = await session.getMetadata();
	await session.appendEntry({ type: "thinking_level_change", thinkingLevel: "high" }, "main");
	await session.appendEntry({ type: "message", message: user("Is it done?") }, "main");
	const chance = dice(22);
	for (let number = 0; number < 60; number++) await byUs(session, step(chance, SessionManager.open(path)));
	const before = await ourContext(session);
	const [{ leafId }] = await session.getLanes();
	deepStrictEqual(before, leafId === null ? before : piContext(SessionManager.open(path), leafId));
	await session.close();
	const manager = await compare(store, path);
	manager.appendMessage(user("And now?"));
	strictEqual((await compare(store, path)).getEntries().length, manager.getEntries().length);
});

test("forks that pi makes are read, and pi reads those of the package", async (t) => {
	const root = await folder(t);
	const store = indexed(root);
	const source = written(root, 23, 120);
	const path = source.getSessionFile();
	await compare(store, path);
	const messages = source.getEntries().filter(({ type }) => type === "message");
	for (const { id } of [messages[3], messages.at(-1), messages[10]]) {
		const context = piContext(source, id);
		const forked = SessionManager.open(path).createBranchedSession(id);
		const byThem = await compare(store, forked);
		deepStrictEqual(plain(byThem.buildSessionContext()), context);
		const fork = await store.fork({ path }, { entryId: id, position: "at" });
		const { path: own, legacyParentSessionPath } = await fork.getMetadata();
		await fork.close();
		strictEqual(legacyParentSessionPath, path);
		const byUsNow = await compare(store, own);
		deepStrictEqual(plain(byUsNow.buildSessionContext()), context);
		const labels = (manager) => {
			const labelled = manager.getEntries().map(({ id }) => [id, manager.getLabel(id)]);
			return labelled.filter(([, label]) => label !== undefined);
		};
		deepStrictEqual(labels(byUsNow), labels(byThem));
	}
	const all = SessionManager.forkFrom(path, join(root, "elsewhere"), root);
	await compare(store, all.getSessionFile());
	const tree = await store.fork({ path }, { scope: "tree" });
	const { path: own } = await tree.getMetadata();
	await tree.close();
	const whole = await compare(store, own);
	for (const { id } of source.getEntries()) deepStrictEqual(piContext(whole, id), piContext(source, id));
});

test("both list the same sessions", async (t) => {
	const root = await folder(t);
	const store = indexed(root);
	for (let seed = 31; seed < 39; seed++) written(root, seed, 20);
	const named = SessionManager.create(root, root);
	named.appendMessage(user("x".repeat(200)));
	named.appendSessionInfo("A name");
	SessionManager.forkFrom(named.getSessionFile(), root, root).appendSessionInfo("");
	const byId = (list) => list.sort((one, other) => (one.id < other.id ? -1 : 1));
	const theirs = byId(await SessionManager.list(root, root));
	const { sessions, warnings } = await store.listing();
	deepStrictEqual(warnings, []);
	strictEqual(sessions.length, 10);
	// pi's listing, unlike pi, does not take a message whose content is null, and leaves the session out.
	const listed = new Set(theirs.map(({ id }) => id));
	for (const { id, path } of sessions) {
		const hasNull = /"role":"user","content":null/.test(await readFile(path, "utf8"));
		strictEqual(listed.has(id), !hasNull);
	}
	deepStrictEqual(
		byId(sessions.filter(({ id }) => listed.has(id))).map(({ id, path, cwd, name, parent, created, updated, messageCount }) => {
			return { id, path, cwd, name: name?.trim() || undefined, parent, created, updated, messageCount };
		}),
		theirs.map(({ id, path, cwd, name, parentSessionPath, created, modified, messageCount }) => {
			const times = { created: created.getTime(), updated: modified.getTime() };
			return { id, path, cwd, name, parent: parentSessionPath ?? null, ...times, messageCount };
		}),
	);
	ok(theirs.length > 5);
	const titles = new Map(sessions.map(({ id, title }) => [id, title]));
	for (const { id, name, firstMessage } of theirs) {
		const cut = firstMessage.length > 80 ? `${firstMessage.slice(0, 77)}...` : firstMessage;
		strictEqual(titles.get(id), name ?? cut);
	}
});

const stamp = (number) => new Date(Date.UTC(2025, 1, 1, 0, 0, number)).toISOString();

/** A session as pi wrote it before entries had ids. */
function v1(cwd) {
	const said = (message) => ({ type: "message", message });
	const assistant = { role: "assistant", provider: "openai", model: "gpt-4", stopReason: "stop", timestamp: 2 };
	const text = (text) => [{ type: "text", text }];
	const entries = [
		{ type: "session", id: "old", cwd },
		said(user("one")),
		said({ ...assistant, content: text("two") }),
		{ type: "thinking_level_change", thinkingLevel: "high" },
		said(user("three")),
		{ type: "model_change", provider: "anthropic", modelId: "claude-3" },
		said({ ...assistant, content: text("four") }),
		{ type: "compaction", summary: "It was said.", firstKeptEntryIndex: 4, tokensBefore: 100 },
		said({ role: "hookMessage", customType: "hook", content: "five", display: true, timestamp: 3 }),
		{ type: "custom", customType: "note", data: 1 },
		said(user("six")),
		{ type: "compaction", summary: "Once more.", firstKeptEntryIndex: 8, tokensBefore: 200 },
		said(user("seven")),
	];
	return entries.map((entry, number) => ({ ...entry, timestamp: stamp(number) }));
}

/** The same as pi wrote it later, with a branch. */
function v2(cwd) {
	const ids = v1(cwd).map((_, number) => number.toString(16).padStart(8, "0"));
	const chain = v1(cwd).map(({ firstKeptEntryIndex, ...entry }, number) => {
		if (number === 0) return { ...entry, version: 2 };
		const kept = firstKeptEntryIndex === undefined ? {} : { firstKeptEntryId: ids[firstKeptEntryIndex] };
		return { ...entry, ...kept, id: ids[number], parentId: number === 1 ? null : ids[number - 1] };
	});
	const back = { type: "message", id: "0000abcd", parentId: ids[4], timestamp: stamp(20), message: user("instead") };
	return [...chain, back];
}

for (const [version, lines] of Object.entries({ v1, v2 })) {
	test(`a session of pi ${version} is read as pi migrates it, and stays as it is`, async (t) => {
		const root = await folder(t);
		const path = join(root, "old.jsonl");
		const text = lines(root).map((line) => `${JSON.stringify(line)}\n`);
		await writeFile(path, text.join(""));
		const session = await indexed(root).open({ path }, { readOnly: true });
		const entries = await session.findEntries({ order: "oldestFirst" });
		const contexts = [];
		for (const { id } of entries) contexts.push(await ourContext(session, id));
		contexts.push(await ourContext(session));
		strictEqual((await session.getMetadata()).sourceFormat, 3);
		await session.close();
		strictEqual(await readFile(path, "utf8"), text.join(""));

		const manager = SessionManager.open(path);
		ok((await readFile(path, "utf8")) !== text.join(""), "pi brought the file to its version");
		const migrated = manager.getEntries();
		strictEqual(entries.length, migrated.length);
		deepStrictEqual(contexts, [...migrated.map(({ id }) => piContext(manager, id)), piContext(manager, undefined)]);
		await compare(indexed(root), path);
	});
}

test("a session without a message leaves no file, as with pi", async (t) => {
	const root = await folder(t);
	const session = await indexed(root).create({ format: "pi-v3", cwd: root });
	await session.appendEntry({ type: "model_change", provider: "openai", modelId: "gpt-5" }, "main");
	await session.close();
	const files = (await readdir(root, { recursive: true })).filter((name) => name.endsWith(".jsonl"));
	deepStrictEqual(files, []);
});

const seeds = Number(process.env.LEAFLOG_SEEDS ?? 10);
for (let seed = 1; seed <= seeds; seed++) {
	test(`a random history, written by both in turns, reads the same on both sides (seed ${seed})`, async (t) => {
		const root = await folder(t);
		const store = indexed(root);
		let manager = written(root, seed, 5);
		const path = manager.getSessionFile();
		const chance = dice(seed * 104729);
		for (let turn = 0; turn < 12; turn++) {
			manager = SessionManager.open(path);
			const session = turn % 2 === 0 ? await store.open({ path }) : undefined;
			for (let number = 0; number < 8; number++) {
				const next = step(chance, manager);
				if (session === undefined) {
					byPi(manager, next);
					continue;
				}
				await byUs(session, next);
				manager = SessionManager.open(path);
				const [{ leafId }] = await session.getLanes();
				// Where an open session stands is in no file.
				if (leafId === null) manager.resetLeaf();
				else manager.branch(leafId);
			}
			if (session === undefined) {
				const leaf = manager.getLeafId();
				const reader = await store.open({ path }, { readOnly: true });
				if (leaf !== null) deepStrictEqual(await ourContext(reader, leaf), plain(manager.buildSessionContext()));
				await reader.close();
			} else {
				const leaf = manager.getLeafId();
				if (leaf !== null) deepStrictEqual(await ourContext(session), piContext(manager, leaf));
				await session.close();
			}
			await compare(store, path);
		}
	});
}
