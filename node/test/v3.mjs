// Sessions of pi v3 in the tests: steps that are made by pi's `SessionManager` or through the package, and
// all that can be seen of a file.

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";

import { content } from "./content.mjs";
import { piV3, plain } from "./support.mjs";

const EDITABLE = ["user", "assistant", "toolResult"];

/** A step that is possible where the session stands, as pi sees it. */
export function step(dice, manager) {
	const say = content(dice);
	const entries = manager.getEntries();
	const path = manager.getBranch();
	const any = () => dice.pick(entries).id;
	const kept = () => (dice.chance(10) ? any() : dice.pick(path).id);
	const editable = path.filter(
		({ type, message }) => type === "custom_message" || (type === "message" && EDITABLE.includes(message.role)),
	);
	const maybe = (value) => (dice.chance(50) ? value() : undefined);
	const kinds = [
		[30, () => ({ message: say.message() })],
		[3, () => ({ message: { role: "system", content: say.text(), tools: [], timestamp: 5 } })],
		[2, () => ({ message: { role: "user", content: null, timestamp: 5 } })],
		[4, () => ({ thinking: dice.pick(["off", "low", "high"]) })],
		[4, () => ({ model: say.name(), provider: dice.pick(["anthropic", "openai"]) })],
		[5, () => ({ note: dice.pick(["note", "plan"]), data: maybe(() => ({ text: say.text() })) })],
		[4, () => ({ name: dice.pick(["", "A name", " two\nlines ", say.name()]) })],
		[
			5,
			() => ({
				said: "skill",
				content: dice.pick([say.text(), [{ type: "text", text: say.text() }]]),
				display: dice.chance(50),
				details: maybe(() => ({ n: 1 })),
			}),
		],
		[3, () => ({ used: "title", usage: say.usage(), why: maybe(say.name) })],
	];
	if (path.length > 0) {
		kinds.push(
			[6, () => ({ summary: say.text(), kept: kept(), tokens: dice.below(9999), details: maybe(() => [1]) })],
			[6, () => ({ label: any(), as: dice.pick([undefined, "here", say.name()]) })],
			[6, () => ({ goTo: any() })],
			[1, () => ({ goTo: null })],
			[3, () => ({ left: any(), summary: say.text() })],
		);
	}
	if (editable.length > 0) {
		const target = dice.pick(editable).id;
		const replaced = [null, { content: say.text() }, { content: [{ type: "text", text: say.text() }] }];
		kinds.push([8, () => ({ edit: target, replacement: dice.pick(replaced) })]);
	}
	let left = dice.below(kinds.reduce((sum, [weight]) => sum + weight, 0));
	for (const [weight, make] of kinds) {
		if (left < weight) return make();
		left -= weight;
	}
	throw new Error("the weights do not add up");
}

/** Has pi make a step. */
export function byPi(manager, made) {
	if ("message" in made) return manager.appendMessage(made.message);
	if ("thinking" in made) return manager.appendThinkingLevelChange(made.thinking);
	if ("model" in made) return manager.appendModelChange(made.provider, made.model);
	if ("note" in made) return manager.appendCustomEntry(made.note, made.data);
	if ("name" in made) return manager.appendSessionInfo(made.name);
	if ("said" in made) return manager.appendCustomMessageEntry(made.said, made.content, made.display, made.details);
	if ("used" in made) return manager.appendUsage(made.used, "openai", "gpt-5", made.usage, made.why);
	if ("kept" in made) return manager.appendCompaction(made.summary, made.kept, made.tokens, made.details);
	if ("label" in made) return manager.appendLabelChange(made.label, made.as);
	if ("left" in made) return manager.branchWithSummary(made.left, made.summary);
	if ("edit" in made) return manager.appendContextEdit(made.edit, made.replacement);
	return made.goTo === null ? manager.resetLeaf() : manager.branch(made.goTo);
}

/** What is undefined is left out, as pi leaves it out of the file. */
function there(fields) {
	return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Makes a step through the package. */
export async function byUs(session, made) {
	const append = (type, fields) => session.appendEntry(there({ type, ...fields }), "main");
	const { details } = made;
	if ("message" in made) return append("message", { message: made.message });
	if ("thinking" in made) return append("thinking_level_change", { thinkingLevel: made.thinking });
	if ("model" in made) return append("model_change", { provider: made.provider, modelId: made.model });
	if ("note" in made) return append("custom", { customType: made.note, data: made.data });
	if ("name" in made) return session.setName(made.name);
	if ("said" in made) {
		return append("custom_message", { customType: made.said, content: made.content, display: made.display, details });
	}
	if ("used" in made) {
		return append("usage", { kind: made.used, provider: "openai", model: "gpt-5", usage: made.usage, note: made.why });
	}
	if ("kept" in made) {
		const compaction = { summary: made.summary, firstKeptEntryId: made.kept, tokensBefore: made.tokens, details };
		return append("compaction", compaction);
	}
	if ("label" in made) return session.setLabel(made.label, made.as);
	if ("left" in made) {
		const [{ leafId }] = await session.getLanes();
		await session.moveLane("main", made.left);
		return append("branch_summary", { fromId: leafId ?? "root", summary: made.summary });
	}
	if ("edit" in made) return append("context_edit", { targetId: made.edit, replacement: made.replacement });
	return session.moveLane("main", made.goTo);
}

/** What pi makes of a leaf. */
export function piContext(manager, leafId) {
	const entries = manager.getEntries();
	return plain(piV3.buildSessionContext(entries, leafId, new Map(entries.map((entry) => [entry.id, entry]))));
}

/** What the package makes of a leaf, or of where the session stands. */
export async function ourContext(session, leafId) {
	const { messages, thinkingLevel, model } = await session.snapshot(leafId === undefined ? {} : { leafId });
	return plain({ messages, thinkingLevel, model });
}

/** pi and the package, each from the file alone, see the same. Gives pi's view. */
export async function compare(store, path) {
	const manager = piV3.SessionManager.open(path);
	const session = await store.open({ path }, { readOnly: true });
	try {
		const entries = plain(manager.getEntries());
		deepStrictEqual(await session.findEntries({ order: "oldestFirst" }), entries);
		for (const { id } of entries) {
			deepStrictEqual(await ourContext(session, id), piContext(manager, id), `the context of ${id}`);
			const branch = await session.findEntriesOnBranch({ start: id, order: "oldestFirst" });
			deepStrictEqual(branch, plain(manager.getBranch(id)));
			strictEqual(await session.getLabel(id), manager.getLabel(id));
		}
		deepStrictEqual(await ourContext(session), plain(manager.buildSessionContext()));
		deepStrictEqual(await session.getLanes(), [{ lane: "main", leafId: manager.getLeafId() }]);
		strictEqual(((await session.getName()) ?? "").trim() || undefined, manager.getSessionName());
		const { id, cwd, legacyParentSessionPath } = await session.getMetadata();
		const header = manager.getHeader();
		deepStrictEqual([id, cwd, legacyParentSessionPath], [header.id, header.cwd, header.parentSession]);
		const found = await session.verify();
		ok(found.clean, JSON.stringify(found));
	} finally {
		await session.close();
	}
	return manager;
}
