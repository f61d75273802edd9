// A process that resumes sessions when it is told to, by pi's own code or by the package, and answers how
// long that took and what came out. Each has one of its own, so that neither pays for what the other left in
// its heap.

import { buildSessionContext } from "@earendil-works/pi-agent-core";
import { LeaflogSessionRepo, LeaflogStore } from "leaflog";

import { piV3, piV4, plain } from "../test/support.mjs";

const nothing = async () => {};

/** From nothing to the context that a harness goes on with, and what is to be closed after it. */
const contenders = {
	pi: {
		"pi-v3": async ({ path }) => [piV3.SessionManager.open(path).buildSessionContext(), nothing],
		"pi-v4": async ({ path, root }) => {
			const session = await piV4(root).open({ id: "bench", path });
			return [buildSessionContext(await session.findEntriesOnBranch({ order: "oldestFirst" })), nothing];
		},
	},
	leaflog: {
		"pi-v3": async ({ path, root }) => {
			const session = await new LeaflogStore({ sessionsRoot: root }).open({ path });
			return [await session.snapshot(), () => session.close()];
		},
		"pi-v4": async ({ path, root }) => {
			const repository = new LeaflogSessionRepo({ sessionsRoot: root });
			const session = await repository.open({ id: "bench", path });
			return [await session.snapshot(), () => repository.close()];
		},
	},
};

const own = contenders[process.argv[2]];
process.on("message", async (session) => {
	const start = process.hrtime.bigint();
	let [context, close] = await own[session.format](session);
	const ms = Number(process.hrtime.bigint() - start) / 1e6;
	await close();
	const { messages, thinkingLevel, model } = context;
	process.send({ ms, context: plain({ messages, thinkingLevel, model }) });
	// What was read is garbage in the next round, and collected before it.
	[context, close] = [];
	globalThis.gc();
});
