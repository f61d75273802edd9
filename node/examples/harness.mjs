// A harness in small: it opens or makes a session, appends turns to it, goes back to an earlier question,
// forks, and goes on where it was after it was killed. The model is a function, so that it runs anywhere.
//
//   node examples/harness.mjs FOLDER            say something, and see the conversation
//   node examples/harness.mjs FOLDER --tour     a turn, a branch, a fork, a kill in the middle, and on

import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

import { LeaflogSessionRepo } from "leaflog";

const [folder = "sessions", mode] = process.argv.slice(2);
const repository = new LeaflogSessionRepo({ sessionsRoot: folder });

/** What would be a model. */
function model(messages) {
	const last = messages.findLast(({ role }) => role === "user");
	const text = `To "${last.content}" I say: ${messages.length} messages so far.`;
	const content = [{ type: "text", text }];
	return { role: "assistant", content, provider: "example", model: "echo", timestamp: Date.now() };
}

/** The session of this working directory: the one that was changed last, or a new one. */
async function openOrCreate() {
	const [latest] = await repository.list({ cwd: process.cwd() });
	return latest === undefined ? repository.create() : repository.open(latest);
}

/** What a killed process left open is finished before the next turn begins. */
async function recover(session) {
	for (const { id } of await session.findOpenOperations("main")) {
		const finished = { type: "operation_finished", id: `${id}-end`, lane: "main", runId: id, outcome: "aborted" };
		await session.appendRecord(finished);
		console.log(`  (the run ${id} was cut off)`);
	}
}

/** One turn: the question, the model, the answer. Gives the id of the question. */
async function turn(session, content, thinking = async () => {}) {
	const run = `run-${Date.now()}-${process.pid}`;
	const intent = { kind: "run", originalPrompt: [], initialMessages: [] };
	const sourceLeafId = await session.getLeafId();
	await session.appendRecord({ type: "operation_started", id: run, lane: "main", sourceLeafId, intent });
	const question = await session.appendMessage({ role: "user", content, timestamp: Date.now() });
	const { messages } = await session.snapshot();
	await thinking();
	await session.appendMessage(model(messages));
	const finished = { type: "operation_finished", id: `${run}-end`, lane: "main", runId: run, outcome: "completed" };
	await session.appendRecord(finished);
	return question;
}

async function show(title, session) {
	console.log(title);
	for (const { role, content } of (await session.snapshot()).messages) {
		console.log(`  ${role}: ${typeof content === "string" ? content : content[0].text}`);
	}
}

if (mode === "--die") {
	const session = await openOrCreate();
	// A model that never answers.
	await turn(session, "Will you answer?", () => {
		process.send("thinking");
		return new Promise(() => setInterval(() => {}, 1000));
	});
} else if (mode === "--tour") {
	const session = await openOrCreate();
	await recover(session);
	await turn(session, "What is a leaf?");
	const second = await turn(session, "And a root?");
	await show("Two turns:", session);

	// Back to before the second question; what was said there stays in the tree.
	await session.moveLane("main", (await session.getEntry(second)).parentId);
	await turn(session, "And a lane?");
	await show("Another second turn:", session);

	// The first try as a session of its own.
	const aside = await repository.fork(await session.getMetadata(), { entryId: second, position: "at" });
	await turn(aside, "Go on.");
	await show("A fork that goes on from the first try:", aside);
	await aside.close();
	await repository.delete(await aside.getMetadata());
	await session.close();

	// Somebody works on it, and is killed while the model thinks.
	const other = fork(fileURLToPath(import.meta.url), [folder, "--die"]);
	await once(other, "message");
	other.kill("SIGKILL");
	await once(other, "exit");

	const again = await openOrCreate();
	await recover(again);
	await turn(again, "Still there?");
	await show("After a kill:", again);
	console.log((await again.verify()).clean ? "The log is whole." : "The log is damaged.");
} else {
	const session = await openOrCreate();
	await recover(session);
	await turn(session, "Hello.");
	await show("The conversation:", session);
}
await repository.close();
