// Sessions of pi v4 in the tests: calls that are made on any session, and all that can be seen of one.

import { buildSessionContext } from "@earendil-works/pi-agent-core";

import { content } from "./content.mjs";

const context = ({ messages, thinkingLevel, model, activeToolNames }) => ({
	messages,
	thinkingLevel,
	model,
	activeToolNames,
});

/** What can be asked of a session by pi's interface. */
export async function seen(session) {
	const log = await session.getLog();
	const entries = await session.findEntries({ order: "oldestFirst" });
	const records = await session.findRecords();
	const lanes = await session.getLanes();
	const contexts = {};
	const labels = {};
	for (const { id } of entries) {
		contexts[id] = buildSessionContext(await session.findEntriesOnBranch({ start: id, order: "oldestFirst" }));
		labels[id] = await session.getLabel(id);
	}
	const open = {};
	for (const { lane } of lanes) open[lane] = await session.findOpenOperations(lane);
	return {
		metadata: await session.getMetadata(),
		name: await session.getName(),
		stats: await session.getStats(),
		...{ log, entries, records, lanes, labels, open, contexts },
	};
}

/** The contexts of all entries, as leaflog takes them. */
export async function snapshots(session) {
	const contexts = {};
	for (const { id } of await session.findEntries({ order: "oldestFirst" })) {
		contexts[id] = context(await session.snapshotAt(id));
	}
	return contexts;
}

/** One call on a session, good or bad: what it is, for a failure's message, and how it is made. */
export function call(dice, known, number) {
	const say = content(dice);
	const id = dice.chance(4) && known.ids.length > 0 ? dice.pick(known.ids) : `id-${number}`;
	const lane = dice.chance(3) ? "nowhere" : dice.pick(known.lanes);
	const target = () => {
		if (dice.chance(8)) return null;
		return dice.chance(6) || known.entries.length === 0 ? "missing" : dice.pick(known.entries);
	};
	const run = () => (dice.chance(50) && known.runs.length > 0 ? dice.pick(known.runs) : `run-${number}`);
	const entry = (fields) => ({ append: { id, ...fields }, lane });
	const record = (fields) => ({ record: { id, lane, ...fields } });
	const kinds = [
		[30, () => entry({ type: "message", message: say.message() })],
		[3, () => entry({ type: "message", message: { ...say.assistant(), stopReason: "deferred" } })],
		[3, () => entry({ type: "message", message: say.message(), terminate: true })],
		[4, () => entry({ type: "model_change", provider: "openai", modelId: say.name() })],
		[4, () => entry({ type: "thinking_level_change", thinkingLevel: dice.pick(["off", "low", "high"]) })],
		[3, () => entry({ type: "active_tools_change", activeToolNames: dice.pick([[], ["read"], ["read", "bash"]]) })],
		[
			5,
			() =>
				entry({
					type: "compaction",
					summary: say.text(),
					retainedTail: dice.pick([[], [say.user()], [say.user(), say.assistant()]]),
					tokensBefore: dice.below(100_000),
					...(dice.chance(50) ? { details: { files: [say.text()] }, usage: say.usage() } : {}),
				}),
		],
		[4, () => entry({ type: "branch_summary", fromId: "root", summary: say.text() })],
		[6, () => entry({ type: "custom", customType: dice.pick(["note", "plan"]), data: { text: say.text() } })],
		[2, () => entry({ type: "custom", customType: "bare" })],
		[8, () => ({ move: lane, to: target() })],
		[4, () => ({ make: dice.chance(10) ? "main" : `lane-${number}`, at: target() })],
		[3, () => ({ name: dice.pick([undefined, "", say.name()]) })],
		[5, () => ({ label: target() ?? "missing", to: dice.pick([undefined, "", "here", say.name()]) })],
		[
			6,
			() =>
				record({
					type: "operation_started",
					sourceLeafId: null,
					intent: dice.pick([
						{ kind: "run", originalPrompt: [say.user()], initialMessages: [] },
						{ kind: "compaction", resultEntryId: "later" },
						{ kind: "navigation", targetId: null, summarize: false },
					]),
				}),
		],
		[5, () => record({ type: "operation_finished", runId: run(), outcome: "completed" })],
		[2, () => record({ type: "abort_requested", runId: run() })],
		[
			2,
			() => record({ type: "step_attempt", runId: run(), step: "assistant", attempt: 1, resultEntryId: "later" }),
		],
		[
			2,
			() =>
				record({
					type: "queue_enqueued",
					queue: "nextRun",
					target: { type: "message", id: `queued-${number}`, message: say.user() },
				}),
		],
		[1, () => record({ type: "queue_cancelled", entryId: `queued-${number}` })],
		[
			1,
			() =>
				record({ type: "write_deferred", runId: run(), target: { type: "custom", id: "later", customType: "x" } }),
		],
		[
			2,
			() =>
				record({
					type: "tool_started",
					runId: run(),
					assistantEntryId: "a",
					toolIndex: 0,
					toolCallId: "c",
					toolName: "read",
					effectiveArgs: { path: say.text() },
					resultEntryId: "later",
					replay: "safe",
				}),
		],
		[5, () => record({ type: "usage", cause: "adjustment", usage: say.usage() })],
	];
	const all = kinds.reduce((sum, [weight]) => sum + weight, 0);
	let left = dice.below(all);
	for (const [weight, make] of kinds) {
		if (left < weight) return make();
		left -= weight;
	}
	throw new Error("the weights do not add up");
}

/** Makes a call. Gives what came of it: an answer, or the code of an error. */
export async function make(session, call) {
	try {
		if (call.append) return { answer: await session.appendEntry(call.append, call.lane) };
		if (call.record) return { answer: await session.appendRecord(call.record) };
		if ("move" in call) return { answer: await session.moveLane(call.move, call.to) };
		if ("make" in call) return { answer: await session.createLane(call.make, call.at) };
		if ("name" in call) return { answer: await session.setName(call.name) };
		return { answer: await session.setLabel(call.label, call.to) };
	} catch (error) {
		if (error.code === undefined) throw error;
		return { code: error.code };
	}
}

/** A question about a session, good or bad. */
export function question(dice, known) {
	const maybe = (percent, value) => (dice.chance(percent) ? value() : undefined);
	const entry = () => (dice.chance(8) || known.entries.length === 0 ? "missing" : dice.pick(known.entries));
	const limit = maybe(40, () => dice.pick([1, 1, 2, 5, 100, 0, -1, 1.5]));
	const order = maybe(60, () => dice.pick(["newestFirst", "oldestFirst"]));
	const afterSeq = maybe(40, () => (dice.chance(5) ? -1 : dice.below(130)));
	const type = maybe(40, () => dice.pick(["message", "custom", "compaction", "model_change"]));
	const customType = maybe(20, () => dice.pick(["note", "plan", "none"]));
	const cursor = afterSeq === undefined ? undefined : { afterSeq };
	const lane = maybe(60, () => (dice.chance(10) ? "nowhere" : dice.pick(known.lanes)));
	return dice.pick([
		["findEntries", { type, customType, order, limit, cursor }],
		[
			"findEntriesOnBranch",
			{
				...{ type, customType, order, limit, cursor },
				start: maybe(70, entry),
				stopAtType: maybe(30, () => dice.pick(["compaction", "custom", "message"])),
				stopAtId: maybe(30, entry),
			},
		],
		[
			"findRecords",
			{
				...{ lane, order, limit, afterSeq },
				type: maybe(60, () => dice.pick(["operation_started", "usage", "operation_finished", "tool_started"])),
				runId: maybe(20, () => (known.runs.length === 0 ? "none" : dice.pick(known.runs))),
				operationKind: maybe(15, () => dice.pick(["run", "compaction", "navigation"])),
			},
		],
		["findOpenOperations", lane ?? "main", { limit }],
		["getLog", { afterSeq, limit }],
		["getEntry", entry()],
		["getLabel", entry()],
	]);
}

/** Asks. Gives the answer, or the code of an error. */
export async function ask(session, [method, ...options]) {
	try {
		return { answer: await session[method](...options) };
	} catch (error) {
		if (error.code === undefined) throw error;
		return { code: error.code };
	}
}

/** Remembers what a call made, so that later ones can be about it. */
export function learn(known, call, { code, answer }) {
	if (code !== undefined) return;
	if (call.append) known.entries.push(answer.id);
	if (call.append || call.record) known.ids.push(answer.id);
	if (call.record?.type === "operation_started") known.runs.push(answer.id);
	if ("make" in call) known.lanes.push(call.make);
}

export const nothing = () => ({ ids: [], entries: [], runs: [], lanes: ["main"] });

/** Times differ between two sessions to which the same was said. */
export function timeless(value) {
	return JSON.parse(
		JSON.stringify(value, (key, inner) => (key === "timestamp" || key === "createdAt" ? undefined : inner)),
	);
}
