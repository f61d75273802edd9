// What the package does beyond pi's interface, and what it does where pi's suite does not look.

import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { execFile } from "node:child_process";
import { appendFile, cp, mkdir, readFile, readdir, readlink, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { Session } from "@earendil-works/pi-agent-core";
import { LeaflogError, LeaflogSession, LeaflogSessionRepo, LeaflogStore } from "leaflog";

import { folder, piV4 } from "./support.mjs";

const user = (content) => ({ role: "user", content, timestamp: 1 });
const files = async (root) => (await readdir(root, { recursive: true })).filter((name) => name.endsWith(".jsonl"));

async function places(t) {
	const root = await folder(t);
	return [
		new LeaflogSessionRepo({ sessionsRoot: join(root, "sessions") }),
		new LeaflogSessionRepo({ database: join(root, "sessions.db") }),
	];
}

test("an error has pi's code, a sentence, and where it was", async (t) => {
	const root = await folder(t);
	const repository = new LeaflogSessionRepo({ sessionsRoot: root });
	const session = await repository.create({ cwd: root });
	const { path } = await session.getMetadata();
	const error = await session.moveLane("main", "missing").catch((error) => error);
	ok(error instanceof LeaflogError && error instanceof Error);
	deepStrictEqual([error.name, error.code, error.reason, error.path], ["LeaflogError", "not_found", "not_found", path]);
	ok(error.message.includes("missing"));
	await repository.close();
	const broken = join(root, "broken.jsonl");
	await writeFile(broken, '{"kind":"header","version":5,"id":"x","createdAt":1,"cwd":"/"}\n');
	const store = new LeaflogStore({ sessionsRoot: root });
	await rejects(store.open({ path: broken }), { code: "storage", reason: "unsupported", path: broken });
});

test("a session has one writer, and readers beside it", async (t) => {
	for (const { store } of await places(t)) {
		const writer = await store.create({ id: "talk" });
		await writer.appendEntry({ type: "message", message: user("hi") }, "main");
		await rejects(store.open({ id: "talk" }), { code: "storage", reason: "locked" });
		const reader = await store.open({ id: "talk" }, { readOnly: true });
		strictEqual((await reader.findEntries()).length, 1);
		const append = reader.appendEntry({ type: "message", message: user("no") }, "main");
		await rejects(append, { code: "storage", reason: "unsupported" });
		await reader.close();
		await writer.close();
		await rejects(writer.getLanes(), { code: "storage", reason: "closed" });
		await writer.close();
		await (await store.open({ id: "talk" })).close();
	}
});

test("sessions that a repository has open more than once share their writer, which the last one gives back", async (t) => {
	for (const repository of await places(t)) {
		const one = await repository.create({ id: "talk" });
		const metadata = await one.getMetadata();
		const [two, three] = await Promise.all([repository.open(metadata), repository.open(metadata)]);
		const id = await two.appendMessage(user("hi"));
		strictEqual(await three.getLeafId(), id);
		await rejects(repository.open({ ...metadata, id: "other" }), ({ code }) =>
			["invalid_entry", "not_found"].includes(code),
		);
		await Promise.all([one.close(), one.close(), two.close()]);
		strictEqual(await three.getLeafId(), id);
		// Closing and opening at once: whoever opens waits for the lock.
		const [, again] = await Promise.all([three.close(), repository.open(metadata)]);
		strictEqual(await again.getLeafId(), id);
		await repository.close();
		await rejects(again.getLeafId(), { code: "storage", reason: "closed" });
		await (await repository.open(metadata)).close();
	}
});

test("a session that is deleted is gone for those who have it open too", async (t) => {
	for (const repository of await places(t)) {
		const session = await repository.create();
		const metadata = await session.getMetadata();
		await session.appendMessage(user("hi"));
		await repository.delete(metadata);
		await rejects(session.appendMessage(user("more")), { reason: "closed" });
		deepStrictEqual(await repository.list(), []);
	}
});

test("a closed handle does nothing more, though another one has the session open", async (t) => {
	const root = await folder(t);
	for (const repository of [...(await places(t)), new LeaflogSessionRepo({ sessionsRoot: root, Session })]) {
		const one = await repository.create({ id: "talk" });
		const metadata = await one.getMetadata();
		const two = await repository.open(metadata);
		const id = await two.appendMessage(user("hi"));
		const last = one.appendMessage(user("asked for before"));
		const closing = one.close();
		const calls = [
			() => one.appendMessage(user("no")),
			() => one.appendEntry({ type: "custom", customType: "note" }, "main"),
			() => one.appendRecord({ type: "abort_requested", id: "r", lane: "main", runId: "x" }),
			() => one.moveLane("main", null),
			() => one.createLane("aside", null),
			() => one.setName("no"),
			() => one.setLabel(id, "no"),
			() => one.getEntry(id),
			() => one.getEntry(undefined),
			() => one.getLabel(id),
			() => one.getName(),
			() => one.getLanes(),
			() => one.getLeafId(),
			() => one.getStats(),
			() => one.getLog(),
			() => one.findEntries(),
			() => one.findEntriesOnBranch(),
			() => one.findRecords(),
			() => one.findOpenOperations("main"),
			() => one.view("main").appendMessage(user("no")),
			() => one.snapshot(),
			() => one.snapshotAt(id),
			() => one.verify(),
			() => one.sync(),
		];
		for (const call of calls) await rejects(call(), { name: "LeaflogError", code: "storage", reason: "closed" });
		await closing;
		strictEqual(await two.getLeafId(), await last);
		strictEqual((await two.getLog()).length, 2);
		deepStrictEqual((await one.getMetadata()).id, "talk");
		await repository.close();
	}
});

test("a closed session has no files, though it is still held", async (t) => {
	if (process.platform !== "linux") return t.skip("/proc is Linux's");
	const root = await folder(t);
	const held = async () => {
		const found = [];
		for (const name of await readdir("/proc/self/fd")) {
			const file = await readlink(join("/proc/self/fd", name)).catch(() => "");
			if (file.startsWith(root)) found.push(file);
		}
		const maps = await readFile("/proc/self/maps", "utf8");
		return [...found, ...maps.split("\n").filter((line) => line.includes(root))];
	};
	for (const options of [
		{ sessionsRoot: join(root, "sessions"), index: "always" },
		{ database: join(root, "sessions.db") },
	]) {
		const repository = new LeaflogSessionRepo(options);
		// A database keeps a connection of its own once it was used.
		await (await repository.create()).close();
		const before = await held();
		const kept = [];
		for (let number = 0; number < 20; number += 1) {
			const session = await repository.create();
			await session.appendMessage(user("hi"));
			const reading = session.findEntries();
			await session.close();
			strictEqual((await reading).length, 1);
			const again = await repository.open(await session.getMetadata());
			await again.close();
			const reader = await repository.store.open(await session.getMetadata(), { readOnly: true });
			await reader.getStats();
			await reader.close();
			kept.push(session, again, reader);
		}
		deepStrictEqual(await held(), before);
		strictEqual(kept.length, 60);
	}
});

test("checking a large payload takes no longer than a few times making its JSON", async (t) => {
	const [repository] = await places(t);
	const session = await repository.create();
	const data = Array.from({ length: 100_000 }, (_, number) => ({ number, text: "x".repeat(40), list: [1, 2, 3] }));
	let start = performance.now();
	JSON.stringify(data);
	const made = performance.now() - start;
	start = performance.now();
	// What is done before the call gives its promise is done on the loop.
	const writing = session.appendCustomEntry("note", data);
	const took = performance.now() - start;
	await writing;
	ok(took < 10 * made + 200, `${took} ms, the JSON alone ${made} ms`);
	await repository.close();
});

test("await using gives the lock back", async (t) => {
	for (const repository of await places(t)) {
		strictEqual(typeof repository[Symbol.asyncDispose], "function");
		const session = await repository.create({ id: "talk" });
		await session[Symbol.asyncDispose]();
		await (await repository.store.open({ id: "talk" })).close();
	}
});

test("a snapshot is what the context of a lane or of an entry is made of", async (t) => {
	for (const repository of await places(t)) {
		const session = await repository.create({ id: "talk" });
		ok(session instanceof LeaflogSession);
		const asked = await session.appendMessage(user("Is it done?"));
		await session.createLane("aside", asked);
		await session.appendMessage({ role: "assistant", provider: "openai", model: "gpt-5", content: [], timestamp: 2 });
		await session.view("aside").appendMessage(user("Never mind."));
		await session.setName("A talk");
		const main = await session.snapshot();
		deepStrictEqual(
			[main.sessionId, main.format, main.lane, main.name, main.pathEntries, main.messages.length, main.model],
			["talk", "pi-v4", "main", "A talk", 2, 2, { provider: "openai", modelId: "gpt-5" }],
		);
		deepStrictEqual((await session.snapshot("aside")).messages, [user("Is it done?"), user("Never mind.")]);
		deepStrictEqual((await session.snapshotAt(asked)).messages, [user("Is it done?")]);
		await rejects(session.snapshot("nowhere"), { code: "invalid_lane" });
		await rejects(session.snapshotAt("missing"), { code: "not_found" });
		await repository.close();
	}
});

test("verify says which line is damaged, and what is whole", async (t) => {
	const [inFiles, inRows] = await places(t);
	const session = await inFiles.create();
	await session.appendMessage(user("hi"));
	const whole = await session.verify();
	deepStrictEqual([whole.clean, whole.lines, whole.entries, whole.reports], [true, 2, 1, []]);
	const { path, id } = await session.getMetadata();
	await session.close();
	await appendFile(path, 'not JSON\n{"kind":"fact","seq":2,"fact":"name","name":"x"}\n');
	const damaged = await inFiles.open({ id, path });
	const found = await damaged.verify();
	strictEqual(found.clean, false);
	deepStrictEqual(found.reports.map(({ line, code, skipped }) => [line, code, skipped]), [[3, "not_json", true]]);
	strictEqual(await damaged.getName(), "x");
	await inFiles.close();
	const row = await inRows.create();
	await rejects(row.verify(), { reason: "unsupported" });
	await inRows.close();
});

test("a listing shows titles, and sessions of other formats", async (t) => {
	const root = await folder(t);
	const repository = new LeaflogSessionRepo({ sessionsRoot: root });
	deepStrictEqual(await repository.listing(), { sessions: [], warnings: [] });
	const session = await repository.create({ cwd: "/work" });
	await session.appendMessage(user("What is a leaf?"));
	const old = await repository.store.create({ cwd: "/work", format: "pi-v3" });
	await old.appendEntry({ type: "message", message: user("Old times") }, "main");
	await old.setName("Named");
	await old.close();
	const { sessions, warnings } = await repository.listing();
	deepStrictEqual(warnings, []);
	const shown = sessions.map(({ title, format, messageCount, cwd }) => [title, format, messageCount, cwd]).sort();
	deepStrictEqual(shown, [
		["Named", "pi-v3", 1, "/work"],
		["What is a leaf?", "pi-v4", 1, "/work"],
	]);
	strictEqual((await repository.list()).length, 1);
	await repository.close();
});

test("sessions of codebot are written and read, with their plan and goal", async (t) => {
	const root = await folder(t);
	const store = new LeaflogStore({ sessionsRoot: root });
	const session = await store.create({ format: "codebot-v3", cwd: "/work" });
	const said = { role: "user", content: [{ type: "text", text: "hi" }], timestamp: "2026-01-01T00:00:00Z" };
	const entry = await session.appendEntry({ type: "message", ...said }, "main");
	deepStrictEqual([entry.kind, entry.parent_id, entry.data], ["message", "h0", said]);
	await session.appendEntry({ type: "plan_state", phase: "draft", pre_mode: "auto" }, "main");
	await session.appendEntry({ type: "goal_state", goal: { text: "done" } }, "main");
	const { messages, plan, goal, format } = await session.snapshot();
	deepStrictEqual(messages, [said]);
	deepStrictEqual([plan, goal, format], [
		{ phase: "draft", slug: null, preMode: "auto" },
		{ goal: { text: "done" } },
		"codebot-v3",
	]);
	await rejects(session.createLane("aside", null), { code: "storage", reason: "unsupported" });
	await session.close();
});

test("what is changed after a call changes nothing that was stored", async (t) => {
	for (const repository of await places(t)) {
		const session = await repository.create();
		const data = { list: [1] };
		const writing = session.appendCustomEntry("note", data);
		data.list.push(2);
		const id = await writing;
		deepStrictEqual((await session.getEntry(id)).data, { list: [1] });
		await repository.close();
	}
});

test("reads see the writes that were asked for before them", async (t) => {
	for (const repository of await places(t)) {
		const session = await repository.create();
		const writes = Array.from({ length: 50 }, (_, number) => session.appendCustomEntry("note", number));
		const found = await session.findEntries({ order: "oldestFirst" });
		deepStrictEqual(found.map(({ data }) => data), Array.from({ length: 50 }, (_, number) => number));
		deepStrictEqual(found.map(({ id }) => id), await Promise.all(writes));
		await repository.close();
	}
});

test("a failed write does not hold up those behind it", async (t) => {
	for (const repository of await places(t)) {
		const session = await repository.create();
		const failing = rejects(session.moveLane("main", "missing"), { code: "not_found" });
		const id = await session.appendMessage(user("hi"));
		await failing;
		strictEqual((await session.getEntry(id)).seq, 1);
		await repository.close();
	}
});

test("what pi would write and could not read again is refused, and nothing is stored", async (t) => {
	const note = { type: "custom", id: "a", customType: "note" };
	const started = { type: "operation_started", id: "r", lane: "main", sourceLeafId: null };
	const calls = [
		(session) => session.appendEntry({ type: "strange", id: "a" }, "main"),
		(session) => session.appendEntry({ type: "custom", id: "a" }, "main"),
		(session) => session.appendEntry({ ...note, kind: "record" }, "main"),
		(session) => session.appendEntry({ ...note, lane: "aside" }, "main"),
		(session) => session.appendRecord({ type: "strange", id: "r", lane: "main" }),
		(session) => session.appendRecord(started),
		(session) => session.appendRecord({ ...started, intent: { kind: "strange" } }),
	];
	for (const call of calls) {
		const root = await folder(t);
		const theirs = await piV4(root).create({ cwd: root });
		await call(theirs);
		await rejects(piV4(root).open(await theirs.getMetadata()), { code: "invalid_entry" });
		for (const repository of await places(t)) {
			const session = await repository.create();
			await rejects(call(session), { code: "invalid_payload" });
			deepStrictEqual(await session.getLog(), []);
			await repository.close();
		}
	}
});

test("what the store gives cannot be given to it, as with pi", async (t) => {
	const given = { parentId: "x", seq: 99, timestamp: 5 };
	const root = await folder(t);
	for (const repository of [piV4(root), ...(await places(t))]) {
		const session = await repository.create({ cwd: root });
		const entry = await session.appendEntry({ type: "custom", id: "a", customType: "note", ...given }, "main");
		const record = await session.appendRecord({ type: "abort_requested", id: "r", lane: "main", runId: "x", ...given });
		deepStrictEqual([entry.parentId, entry.seq, record.seq], [null, 1, 2]);
		ok(entry.timestamp > 5 && record.timestamp > 5);
		await repository.close?.();
	}
});

test("half a pair of surrogates is kept in a payload and refused in a name", async (t) => {
	for (const repository of await places(t)) {
		const session = await repository.create();
		const id = await session.appendMessage(user("\ud800"));
		deepStrictEqual((await session.snapshot()).messages, [user("\ud800")]);
		await rejects(session.setName("\ud800"), { code: "invalid_payload" });
		await rejects(session.setLabel(id, "\udc00"), { code: "invalid_payload" });
		strictEqual(await session.getName(), undefined);
		await repository.close();
	}
});

test("of two sessions with one id in two folders each is opened, forked and deleted by its file", async (t) => {
	const root = await folder(t);
	const made = [];
	for (const cwd of ["/one", "/two"]) {
		const session = await piV4(root).create({ cwd, id: "same" });
		await session.appendMessage(user(cwd));
		made.push(await session.getMetadata());
	}
	const repository = new LeaflogSessionRepo({ sessionsRoot: root });
	for (const metadata of made) {
		const fork = await repository.fork(metadata);
		deepStrictEqual((await fork.snapshot()).messages, [user(metadata.cwd)]);
		strictEqual((await fork.getMetadata()).cwd, metadata.cwd);
		const session = await repository.open(metadata);
		deepStrictEqual((await session.snapshot()).messages, [user(metadata.cwd)]);
		await session.close();
	}
	await repository.delete(made[0]);
	strictEqual((await files(root)).length, 3);
	await repository.open(made[1]);
	await rejects(repository.open(made[0]), { code: "not_found" });
	await repository.close();
});

test("nothing that is no session is deleted", async (t) => {
	const root = await folder(t);
	const path = join(root, "notes.jsonl");
	await writeFile(path, "mine\n");
	const repository = new LeaflogSessionRepo({ sessionsRoot: root });
	await rejects(repository.delete({ id: "notes", path }), { code: "invalid_entry", path });
	strictEqual(await readFile(path, "utf8"), "mine\n");
});

test("an index lives where it is told to", async (t) => {
	const root = await folder(t);
	for (const [options, beside, elsewhere] of [
		[{}, false, 0],
		[{ index: "always" }, true, 0],
		[{ index: "memory" }, false, 0],
		[{ index: "always", indexDir: join(root, "indexes") }, false, 1],
	]) {
		const repository = new LeaflogSessionRepo({ sessionsRoot: join(root, "sessions"), ...options });
		const session = await repository.create();
		await session.appendMessage(user("hi"));
		const { path } = await session.getMetadata();
		await repository.close();
		strictEqual(await stat(`${path}.idx`).then(() => true, () => false), beside);
		const indexes = await readdir(join(root, "indexes")).catch(() => []);
		strictEqual(indexes.filter((name) => name.endsWith(".idx")).length, elsewhere);
	}
});

test("long work leaves the event loop free", async (t) => {
	const root = await folder(t);
	const store = new LeaflogStore({ sessionsRoot: root, index: "memory" });
	const session = await store.create();
	const { path } = await session.getMetadata();
	await session.close();
	const line = (seq) =>
		`${JSON.stringify({ kind: "entry", lane: "main", type: "message", id: `e${seq}`, parentId: seq === 1 ? null : `e${seq - 1}`, seq, timestamp: seq, message: user("x".repeat(600)) })}\n`;
	await appendFile(path, Array.from({ length: 60_000 }, (_, number) => line(number + 1)).join(""));
	// Turns of the loop while the promise waits: none, if the work were done on it.
	const turns = async (promise) => {
		let [count, waits] = [0, true];
		const tick = () => {
			count += 1;
			if (waits) setImmediate(tick);
		};
		setImmediate(tick);
		const answer = await promise;
		waits = false;
		ok(count > 10, `${count} turns`);
		return answer;
	};
	const opened = await turns(store.open({ path }));
	const found = await turns(opened.verify());
	ok(found.clean);
	strictEqual(found.entries, 60_000);
	await opened.close();
});

test("what is published needs nothing beside it", async (t) => {
	const root = await folder(t);
	const home = join(root, "node_modules", "leaflog");
	const own = fileURLToPath(new URL("..", import.meta.url));
	await mkdir(home, { recursive: true });
	const { files: published } = JSON.parse(await readFile(join(own, "package.json"), "utf8"));
	for (const name of ["package.json", ...published]) await cp(join(own, name), join(home, name), { recursive: true });
	const script = `
		import { LeaflogSessionRepo } from "leaflog";
		const repository = new LeaflogSessionRepo({ sessionsRoot: "sessions" });
		const session = await repository.create();
		await session.appendMessage({ role: "user", content: "hi", timestamp: 1 });
		console.log((await session.snapshot()).messages.length);
		await repository.close();
	`;
	await writeFile(join(root, "script.mjs"), script);
	const { stdout } = await promisify(execFile)(process.execPath, ["script.mjs"], { cwd: root });
	strictEqual(stdout, "1\n");
	for (const name of ["LICENSE-APACHE", "LICENSE-MIT"]) ok((await stat(join(home, "dist", name))).size > 500);
	ok(!(await readFile(join(own, "README.md"), "utf8")).includes("](../"), "a link to what is not in the package");
});

test("the package can be required where Node requires modules", (t) => {
	if (!process.features.require_module) return t.skip("this Node requires no ES modules");
	const required = createRequire(import.meta.url)("leaflog");
	strictEqual(required.LeaflogStore, LeaflogStore);
});
