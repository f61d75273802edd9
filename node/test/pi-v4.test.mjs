// pi's durable harness and leaflog on the same files: what one writes the other reads, to the last value.

import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { appendFile, readFile, stat, truncate } from "node:fs/promises";
import { test } from "node:test";

import { buildSessionContext, Session } from "@earendil-works/pi-agent-core";
import { LeaflogSessionRepo } from "leaflog";

import { dice, folder, piV4 } from "./support.mjs";
import { ask, call, learn, make, nothing, question, seen, snapshots, timeless } from "./v4.mjs";

/** Says random things to a session. */
async function write(session, seed, calls) {
	const [chance, known] = [dice(seed), nothing()];
	for (let number = 0; number < calls; number++) {
		const next = call(chance, known, number);
		learn(known, next, await make(session, next));
	}
	return known;
}

function ours(sessionsRoot, more = {}) {
	return new LeaflogSessionRepo({ sessionsRoot, index: "always", ...more });
}

/** pi and leaflog, each from the file alone, see the same. */
async function compare(root, metadata) {
	const mine = await seen(await piV4(root).open(metadata));
	const repository = ours(root);
	try {
		const session = await repository.open(metadata);
		const theirs = await seen(session);
		// Opening may have ended a last line, which is a change of the file.
		theirs.metadata.modifiedAt = mine.metadata.modifiedAt;
		deepStrictEqual(theirs, mine);
		deepStrictEqual(await snapshots(session), mine.contexts);
		ok((await session.verify()).clean);
	} finally {
		await repository.close();
	}
	return mine;
}

test("what pi writes is read, indexed and taken as a snapshot", async (t) => {
	const root = await folder(t);
	const session = await piV4(root).create({ cwd: root, metadata: { app: "test", list: [1, "two", null] } });
	await write(session, 11, 150);
	const metadata = await session.getMetadata();
	const mine = await compare(root, metadata);
	ok(mine.entries.length > 50 && mine.records.length > 10 && mine.lanes.length > 1);
	await stat(`${metadata.path}.idx`);
});

test("what is written through the package is read by pi", async (t) => {
	const root = await folder(t);
	const repository = ours(root, { Session });
	const session = await repository.create({ cwd: root, metadata: { app: "test" } });
	ok(session instanceof Session);
	await write(session, 12, 150);
	const before = await seen(session);
	await session.close();
	const { metadata, ...after } = await compare(root, await session.getMetadata().catch(() => before.metadata));
	strictEqual(metadata.id, before.metadata.id);
	deepStrictEqual({ ...before, metadata }, { ...after, metadata });
});

test("both write in turns, and neither loses a line", async (t) => {
	const root = await folder(t);
	const { id, path } = await (await piV4(root).create({ cwd: root })).getMetadata();
	const metadata = { id, path };
	const [chance, known] = [dice(13), nothing()];
	let number = 0;
	for (let turn = 0; turn < 20; turn++) {
		const repository = turn % 2 === 0 ? ours(root) : piV4(root);
		const session = await repository.open(metadata);
		for (const end = number + 8; number < end; number++) {
			const next = call(chance, known, number);
			learn(known, next, await make(session, next));
		}
		if (turn % 2 === 0) await repository.close();
		await compare(root, metadata);
	}
	strictEqual((await (await piV4(root).open(metadata)).getLog()).at(-1).seq, (await linesOf(path)).length - 1);
});

async function linesOf(path) {
	return (await readFile(path, "utf8")).trimEnd().split("\n");
}

test("forks hold the same, whoever makes them", async (t) => {
	const root = await folder(t);
	const source = await piV4(root).create({ cwd: root, metadata: { app: "test" } });
	await write(source, 14, 120);
	const metadata = await source.getMetadata();
	const messages = (await source.findEntries({ type: "message" })).map(({ id }) => id);
	const [last] = messages;
	await source.moveLane("main", last);
	const scopes = [
		{ scope: "tree" },
		{},
		{ position: "before" },
		{ position: "at" },
		{ entryId: messages[5], position: "at" },
		{ scope: "branch", entryId: messages.at(-1), position: "before" },
	];
	const repository = ours(root);
	for (const [number, scope] of scopes.entries()) {
		const [byPi, byUs] = [`pi-${number}`, `leaflog-${number}`];
		const mine = await seen(await piV4(root).fork(metadata, { ...scope, cwd: root, id: byPi }));
		const fork = await repository.fork(metadata, { ...scope, cwd: root, id: byUs });
		const theirs = await seen(fork);
		await fork.close();
		for (const side of [mine, theirs]) {
			strictEqual(side.metadata.parentSessionId, metadata.id);
			delete side.metadata;
		}
		deepStrictEqual(theirs, mine);
	}
	const listed = await repository.list();
	strictEqual(listed.length, 1 + 2 * scopes.length);
	for (const found of listed) await compare(root, found);
	const custom = (await source.findEntries({ type: "custom", limit: 1 }))[0].id;
	for (const entryId of [custom, "missing"]) {
		for (const side of [repository, piV4(root)]) {
			await rejects(side.fork(metadata, { entryId, cwd: root }), { code: "invalid_fork_target" });
		}
	}
	await repository.close();
});

test("both list the same sessions with the same metadata", async (t) => {
	const root = await folder(t);
	const repository = ours(root);
	strictEqual((await repository.list()).length, 0);
	const made = [
		await piV4(root).create({ cwd: "/work/one", metadata: { by: "pi" } }),
		await repository.create({ cwd: "/work/one", id: "by-us", metadata: { by: "us" } }),
		await piV4(root).create({ cwd: "/work/two", parentSessionId: "by-us" }),
		await repository.create({ cwd: "/work/two", parentSessionId: "by-us" }),
	];
	for (const session of made) await session.appendMessage({ role: "user", content: "hi", timestamp: 1 });
	const byId = (list) => list.sort((one, other) => (one.id < other.id ? -1 : 1));
	for (const query of [{}, { cwd: "/work/one" }, { cwd: "/work/three" }]) {
		deepStrictEqual(byId(await repository.list(query)), byId(await piV4(root).list(query)));
	}
	await repository.close();
});

test("a torn last line is mended by whoever opens the log first", async (t) => {
	for (const first of ["pi", "leaflog"]) {
		const root = await folder(t);
		const session = await piV4(root).create({ cwd: root });
		await write(session, 15, 30);
		const metadata = await session.getMetadata();
		const before = await seen(session);
		await appendFile(metadata.path, '{"kind":"entry","lane":"main","type":"mess');
		if (first === "leaflog") {
			const repository = ours(root);
			const opened = await repository.open(metadata);
			deepStrictEqual({ ...(await seen(opened)), metadata: 0 }, { ...before, metadata: 0 });
			await opened.appendMessage({ role: "user", content: "on", timestamp: 1 });
			await repository.close();
		}
		const after = await compare(root, metadata);
		deepStrictEqual(after.log.slice(0, before.log.length), before.log);
		strictEqual(after.log.length, before.log.length + (first === "leaflog" ? 1 : 0));
	}
});

test("a log without its last newline is read and gone on with", async (t) => {
	const root = await folder(t);
	const session = await piV4(root).create({ cwd: root });
	await write(session, 16, 30);
	const metadata = await session.getMetadata();
	await truncate(metadata.path, (await stat(metadata.path)).size - 1);
	const repository = ours(root);
	const opened = await repository.open(metadata);
	await opened.appendMessage({ role: "user", content: "on", timestamp: 1 });
	await repository.close();
	const after = await compare(root, metadata);
	strictEqual(after.log.length, (await session.getLog()).length + 1);
});

const seeds = Number(process.env.LEAFLOG_SEEDS ?? 12);
for (let seed = 1; seed <= seeds; seed++) {
	test(`a random history gives the same answers, errors and files on both sides (seed ${seed})`, async (t) => {
		const [root, own] = [await folder(t), await folder(t)];
		const repository = seed % 3 === 0 ? new LeaflogSessionRepo({ database: `${own}/sessions.db` }) : ours(own);
		const [chance, known] = [dice(seed * 7919), nothing()];
		const pi = await piV4(root).create({ cwd: root, id: "same" });
		let session = await repository.create({ cwd: root, id: "same" });
		for (let number = 0; number < 120; number++) {
			const next = call(chance, known, number);
			const [mine, theirs] = [await make(pi, next), await make(session, next)];
			deepStrictEqual(timeless(theirs), timeless(mine), JSON.stringify(next));
			learn(known, next, mine);
			if (number % 15 !== 14) continue;
			for (let asked = 0; asked < 30; asked++) {
				const about = question(chance, known);
				const answers = [await ask(pi, about), await ask(session, about)];
				deepStrictEqual(timeless(answers[1]), timeless(answers[0]), JSON.stringify(about));
			}
			if (number % 30 === 29) {
				const metadata = await session.getMetadata();
				await session.close();
				session = await repository.open(metadata);
			}
			const [saw, see] = [await seen(pi), await seen(session)];
			for (const side of [saw, see]) delete side.metadata;
			deepStrictEqual(timeless(see), timeless(saw));
			deepStrictEqual(await snapshots(session), see.contexts);
			for (const { lane, leafId } of see.lanes) {
				const { messages, leafId: leaf } = await session.snapshot(lane);
				strictEqual(leaf, leafId);
				const path = leafId === null ? [] : await session.findEntriesOnBranch({ start: leafId, order: "oldestFirst" });
				deepStrictEqual(messages, buildSessionContext(path).messages);
			}
		}
		await compare(root, await pi.getMetadata());
		const metadata = await session.getMetadata();
		await repository.close();
		if (seed % 3 !== 0) await compare(own, metadata);
	});
}
