// Long sessions as pi writes them: turns of a question, a call of a tool, its result and an answer; a way
// back now and then; a compaction every 500 entries that keeps the last 20 messages.

import { createWriteStream } from "node:fs";
import { finished } from "node:stream/promises";

const WORDS = "the leaf of a branch stands where the last entry was put and every path leads to its root ".repeat(12);
const COMPACT_EVERY = 500;
const KEPT = 20;

/** Texts of about a kilobyte that differ. */
function text(number) {
	const start = (number * 37) % 500;
	return `${number}: ${WORDS.slice(start, start + 500 + ((number * 131) % 500))}\n`;
}

function message(number) {
	const timestamp = 1_750_000_000_000 + number * 1000;
	const says = [{ type: "text", text: text(number) }];
	const cost = { input: 0.003, output: 0.015, cacheRead: 0, cacheWrite: 0, total: 0.018 };
	const usage = { input: 1000, output: 1000, cacheRead: 0, cacheWrite: 0, totalTokens: 2000, cost };
	const by = { api: "anthropic-messages", provider: "anthropic", model: "claude-sonnet-4-5", usage };
	const call = { type: "toolCall", id: `call-${number}`, name: "read", arguments: { path: `src/${number}.rs` } };
	switch (number % 4) {
		case 0:
			return { role: "user", content: says, timestamp };
		case 1:
			return { role: "assistant", content: [call], ...by, stopReason: "toolUse", timestamp };
		case 2:
			return {
				...{ role: "toolResult", toolCallId: `call-${number - 1}`, toolName: "read", content: says },
				...{ isError: false, timestamp },
			};
		default:
			return { role: "assistant", content: says, ...by, stopReason: "stop", timestamp };
	}
}

const id = (number) => number.toString(16).padStart(8, "0");

/** The entries: their fields, without what each format writes in its own way. */
function* entries(count, kept) {
	let leaf = null;
	const path = [];
	for (let number = 0; number < count; number++) {
		// Back to before the last turn, every hundred entries.
		if (number % 100 === 99) {
			path.splice(-4);
			leaf = path.at(-1)?.id ?? null;
			yield { move: leaf };
		}
		const isCompaction = number % COMPACT_EVERY === COMPACT_EVERY - 300;
		const fields = isCompaction
			? { type: "compaction", summary: text(number), tokensBefore: 100_000, ...kept(path.slice(-KEPT)) }
			: { type: "message", message: message(number) };
		const entry = { ...fields, id: id(number), parentId: leaf };
		yield { entry };
		leaf = entry.id;
		path.push(entry);
		if (path.length > 100) path.splice(0, 50);
	}
}

const time = (number) => 1_750_000_000_000 + number * 1000;

function* v3(count, cwd) {
	yield { type: "session", version: 3, id: "bench", timestamp: new Date(time(0)).toISOString(), cwd };
	const kept = (path) => ({ firstKeptEntryId: path[0]?.id ?? "" });
	let number = 0;
	for (const { entry } of entries(count, kept)) {
		if (entry === undefined) continue;
		const { type, id, parentId, ...fields } = entry;
		yield { type, id, parentId, timestamp: new Date(time(number++)).toISOString(), ...fields };
	}
}

function* v4(count, cwd) {
	yield { kind: "header", version: 4, id: "bench", createdAt: time(0), cwd };
	const kept = (path) => ({ retainedTail: path.flatMap(({ message }) => message ?? []) });
	let seq = 0;
	for (const { entry, move } of entries(count, kept)) {
		seq += 1;
		if (entry === undefined) yield { kind: "lane", seq, lane: "main", leafId: move };
		else {
			const { type, id, parentId, ...fields } = entry;
			yield { kind: "entry", lane: "main", type, id, ...fields, parentId, seq, timestamp: time(seq) };
		}
	}
}

/** Writes a session of so many entries. */
export async function write(path, format, count, cwd) {
	const out = createWriteStream(path);
	let lines = "";
	for (const line of format === "pi-v3" ? v3(count, cwd) : v4(count, cwd)) {
		lines += `${JSON.stringify(line)}\n`;
		if (lines.length < 1 << 20) continue;
		if (!out.write(lines)) await new Promise((resolve) => out.once("drain", resolve));
		lines = "";
	}
	out.end(lines);
	await finished(out);
}
