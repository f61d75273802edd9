// What is handed in wrongly is refused with a code, whichever call it is, and nothing is stored.

import { deepStrictEqual, ok, rejects, strictEqual, throws } from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import { Session } from "@earendil-works/pi-agent-core";
import { LeaflogError, LeaflogSessionRepo, LeaflogStore } from "leaflog";

import { folder } from "./support.mjs";

const user = (content) => ({ role: "user", content, timestamp: 1 });
const refused = (code, name) => (error) => {
	ok(error instanceof LeaflogError, String(error));
	strictEqual(error.code, code, error.message);
	ok(error.message.includes(`\`${name}\``) && error.message.length < 300, error.message);
	return true;
};

async function places(t) {
	const root = await folder(t);
	return [
		new LeaflogSessionRepo({ sessionsRoot: join(root, "sessions") }),
		new LeaflogSessionRepo({ database: join(root, "sessions.db") }),
		new LeaflogSessionRepo({ sessionsRoot: join(root, "theirs"), Session }),
	];
}

const noText = [Number.NaN, 5, 1n, () => 1, Symbol("x"), {}, [], true];

test("a lane, an entry, a name or a label that is no string is refused, and nothing moves", async (t) => {
	for (const repository of await places(t)) {
		const session = await repository.create();
		const id = await session.appendMessage(user("hi"));
		await session.setName("A talk");
		await session.setLabel(id, "here");
		for (const wrong of [undefined, ...noText]) {
			await rejects(session.moveLane("main", wrong), refused("invalid_payload", "to"));
			await rejects(session.moveLane(wrong, id), refused("invalid_payload", "lane"));
			await rejects(session.createLane("aside", wrong), refused("invalid_payload", "at"));
			await rejects(session.snapshotAt(wrong), refused("invalid_payload", "leafId"));
			await rejects(session.setLabel(wrong, "x"), refused("invalid_payload", "id"));
			await rejects(session.findOpenOperations(wrong), refused("invalid_payload", "lane"));
			await rejects(session.appendEntry({ type: "custom", customType: "x" }, wrong), refused("invalid_payload", "lane"));
			await rejects(session.appendEntry({ type: wrong }, "main"), { code: "invalid_payload" });
			await rejects(session.appendRecord({ type: wrong, lane: "main" }), { code: "invalid_payload" });
			strictEqual(await session.getEntry(wrong), undefined);
		}
		for (const wrong of [null, ...noText]) {
			await rejects(session.setName(wrong), refused("invalid_payload", "name"));
			await rejects(session.setLabel(id, wrong), refused("invalid_payload", "label"));
			await rejects(session.snapshot(wrong), refused("invalid_payload", "lane"));
		}
		await rejects(session.snapshotAt(null), refused("invalid_payload", "leafId"));
		await rejects(session.appendEntry(null, "main"), { name: /LeaflogError|TypeError|SessionError/ });
		await rejects(session.appendRecord("record"), { name: /LeaflogError|TypeError|SessionError/ });
		await rejects(repository.store.open("x".repeat(1000)), refused("invalid_payload", "session"));
		deepStrictEqual(
			[await session.getLeafId(), await session.getName(), await session.getLabel(id), (await session.getLanes()).length],
			[id, "A talk", "here", 1],
		);
		strictEqual(await session.getEntry(null), undefined);
		await session.setName(undefined);
		await session.setLabel(id, undefined);
		await session.moveLane("main", null);
		deepStrictEqual([await session.getName(), await session.getLabel(id)], [undefined, undefined]);
		await repository.close();
	}
});

test("an entry or a record that is none is refused by what it lacks", async (t) => {
	const [repository] = await places(t);
	const session = await repository.create();
	for (const wrong of [undefined, null, 5, "x", []]) {
		await rejects(session.appendEntry(wrong, "main"), refused("invalid_payload", "entry"));
		await rejects(session.appendRecord(wrong), refused("invalid_payload", "record"));
	}
	for (const type of [undefined, null, ...noText]) {
		await rejects(session.appendEntry({ type }, "main"), refused("invalid_payload", "entry.type"));
		await rejects(session.appendRecord({ type, lane: "main" }), refused("invalid_payload", "record.type"));
	}
	await rejects(session.appendRecord({ type: "abort_requested" }), refused("invalid_payload", "record.lane"));
	await rejects(session.appendEntry({ type: "custom", id: 5 }, "main"), refused("invalid_payload", "entry.id"));
	deepStrictEqual(await session.getLog(), []);
	await repository.close();
});

test("a question with a cursor without its number, or with names that there are not, is refused", async (t) => {
	for (const repository of await places(t)) {
		const session = await repository.create();
		await session.appendMessage(user("hi"));
		for (const cursor of [{ afterSeq: undefined }, { afterSeq: null }, { afterSeq: "1" }]) {
			await rejects(session.findEntries({ cursor }), { name: /LeaflogError|SessionError|TypeError/ });
		}
		await rejects(session.findEntries({ afterSeq: 1 }), refused("invalid_query", "query"));
		await rejects(session.findRecords({ afterSeq: "1" }), { code: "invalid_query" });
		await rejects(session.findRecords({ kind: "x" }), refused("invalid_query", "query"));
		await repository.close();
	}
	const [repository] = await places(t);
	const session = await repository.create();
	for (const cursor of [null, {}, { afterSeq: undefined }, { afterSeq: null }, { afterSeq: "1" }, { seq: 1 }, 5]) {
		for (const call of ["findEntries", "findEntry", "findEntriesOnBranch", "findEntryOnBranch"]) {
			await rejects(session[call]({ cursor }), (error) => error instanceof LeaflogError && error.code === "invalid_query");
		}
	}
	for (const wrong of [null, 5, "x", [], { strange: 1 }]) {
		for (const call of ["findEntries", "findEntry", "findEntriesOnBranch", "findEntryOnBranch", "findRecords", "getLog"]) {
			await rejects(session[call](wrong), (error) => error instanceof LeaflogError && error.code === "invalid_query");
		}
	}
	deepStrictEqual(await session.getLog({ afterSeq: undefined }), []);
	await repository.close();
});

test("options that there are not, or that do not go together, are refused at once", async (t) => {
	const root = await folder(t);
	const [sessionsRoot, database] = [join(root, "sessions"), join(root, "sessions.db")];
	for (const [options, name] of [
		[undefined, "options"],
		[null, "options"],
		["sessions", "options"],
		[{}, "sessionsRoot"],
		[{ sessionRoot: root }, "options"],
		[{ sessionsRoot: 5 }, "sessionsRoot"],
		[{ database: 5 }, "database"],
		[{ sessionsRoot, database }, "sessionsRoot"],
		[{ database, index: "auto" }, "index"],
		[{ database, indexDir: root }, "indexDir"],
		[{ sessionsRoot, index: "never" }, "index"],
		[{ sessionsRoot, indexDir: 5 }, "indexDir"],
		[{ sessionsRoot, flush: "yes" }, "flush"],
	]) {
		throws(() => new LeaflogStore(options), refused("invalid_payload", name));
		throws(() => new LeaflogSessionRepo(options), refused("invalid_payload", name));
	}
	throws(() => new LeaflogSessionRepo({ sessionsRoot, Session: "Session" }), refused("invalid_payload", "Session"));
});

test("a session that is named by nothing, and options that do nothing, are refused", async (t) => {
	for (const repository of await places(t)) {
		const { store } = repository;
		const session = await repository.create();
		const metadata = await session.getMetadata();
		await session.close();
		const one = repository.store.inFiles ? "session.path" : "session.id";
		for (const call of ["open", "delete", "fork"]) {
			for (const wrong of [undefined, null, "x", 5, []]) {
				await rejects(repository[call](wrong), refused("invalid_payload", "session"));
				await rejects(store[call](wrong), refused("invalid_payload", "session"));
			}
			await rejects(repository[call]({}), refused("invalid_payload", one));
			await rejects(store[call]({}), refused("invalid_payload", "session"));
		}
		for (const wrong of [null, 5, "x", { readonly: true }]) {
			await rejects(store.open(metadata, wrong), refused("invalid_payload", "options"));
		}
		await rejects(store.open(metadata, { readOnly: 1 }), refused("invalid_payload", "readOnly"));
		for (const wrong of [null, "x", 5, { strange: 1 }]) {
			await rejects(repository.create(wrong), refused("invalid_payload", "options"));
			await rejects(repository.fork(metadata, wrong), refused("invalid_payload", "options"));
			await rejects(repository.list(wrong), refused("invalid_payload", "options"));
		}
		await rejects(repository.create({ cwd: 5 }), refused("invalid_payload", "cwd"));
		await rejects(repository.create({ metadata: "x" }), refused("invalid_payload", "metadata"));
		await rejects(repository.fork(metadata, { position: "after" }), refused("invalid_payload", "position"));
		strictEqual((await repository.list()).length, 1);
		// What else somebody keeps with the metadata is theirs.
		await (await repository.open({ ...metadata, mine: 1 })).close();
	}
});

test("a payload that is too deep, holds itself or is no JSON is refused", async (t) => {
	let deep = 1;
	for (let level = 0; level < 200_000; level += 1) deep = [deep];
	const loop = {};
	loop.inner = { loop };
	for (const repository of await places(t)) {
		const session = await repository.create();
		for (const wrong of [deep, loop, [1n], { [Symbol("x")]: 1 }, [, 1], new Date(), { toJSON: () => 1 }]) {
			await rejects(session.appendCustomEntry("note", wrong), { code: "invalid_payload" });
			await rejects(session.appendMessage({ ...user("hi"), wrong }), { code: "invalid_payload" });
		}
		const shared = { twice: 1 };
		await session.appendCustomEntry("note", [shared, shared]);
		strictEqual((await session.getLog()).length, 1);
		await repository.close();
	}
});

test("a hint names the calls of this package", async (t) => {
	const [repository] = await places(t);
	const session = await repository.create();
	await rejects(session.appendEntry({ type: "custom", customType: "note" }, "aside"), /`createLane` makes one/);
	await session.createLane("aside", null);
	await rejects(session.createLane("aside", null), /`moveLane` moves it/);
	await rejects(session.appendEntry({ type: "lane" }, "main"), /`createLane` or `moveLane`/);
	await rejects(session.appendEntry({ type: "fact" }, "main"), /`setName` or `setLabel`/);
	await rejects(session.appendEntry({ type: "label" }, "main"), /`setLabel` of the library/);
	await repository.close();
});

test("a record of usage without a cost, which pi could not read again, is refused", async (t) => {
	for (const repository of await places(t)) {
		const session = await repository.create();
		for (const usage of [null, {}, { cost: null }, { cost: 1 }]) {
			const record = { type: "usage", id: "u", lane: "main", cause: "adjustment", usage };
			await rejects(session.appendRecord(record), refused("invalid_payload", "record.usage.cost"));
		}
		deepStrictEqual(await session.getLog(), []);
		await session.close();
	}
});

test("a session that is deleted twice at once is deleted, and neither call fails", async (t) => {
	for (const repository of await places(t)) {
		for (let round = 0; round < 20; round++) {
			const session = await repository.create();
			await session.appendMessage(user("hi"));
			const metadata = await session.getMetadata();
			if (round % 2 === 0) await session.close();
			await Promise.all([repository.delete(metadata), repository.delete(metadata), repository.delete(metadata)]);
		}
		deepStrictEqual(await repository.list(), []);
	}
});
