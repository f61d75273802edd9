// Resuming the same files by pi's own code and by the package, side by side: the times, their ratios, and
// that both come to the same context. `LEAFLOG_BENCH_SIZES=1000,5000` says other numbers of entries,
// `LEAFLOG_BENCH_FORMATS=pi-v3` one of the two formats.

import { deepStrictEqual } from "node:assert/strict";
import { fork } from "node:child_process";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { write } from "./logs.mjs";

const sizes = (process.env.LEAFLOG_BENCH_SIZES ?? "1000,10000,50000,200000").split(",").map(Number);
const formats = (process.env.LEAFLOG_BENCH_FORMATS ?? "pi-v3,pi-v4").split(",");
const program = fileURLToPath(new URL("contender.mjs", import.meta.url));

function start(name) {
	return fork(program, [name], { execArgv: ["--expose-gc", "--max-old-space-size=8192"] });
}

/** Has a contender resume a session; gives what it tells. */
function run(contender, session) {
	return new Promise((resolve, reject) => {
		const ended = (code) => reject(new Error(`a contender ended with ${code}`));
		contender.once("exit", ended);
		contender.once("message", (told) => {
			contender.off("exit", ended);
			resolve(told);
		});
		contender.send(session);
	});
}

/** A value such that a part of the sorted list lies below it. */
function quantile(list, part) {
	const sorted = [...list].sort((one, other) => one - other);
	return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
}

const median = (list) => quantile(list, 0.5);
const short = (number) => (number >= 100 ? number.toFixed(0) : number.toPrecision(3));

console.log(
	"| format | entries | bytes | live messages | pi | leaflog, first open | ratio | leaflog, resumed | ratio (middle half) |",
);
console.log("|---|---|---|---|---|---|---|---|---|");
const root = await mkdtemp(join(tmpdir(), "leaflog-bench-"));
try {
	for (const format of formats) {
		for (const count of sizes) {
			const path = join(root, `${format}-${count}.jsonl`);
			await write(path, format, count, root);
			const session = { format, path, root };
			const [pi, leaflog] = [start("pi"), start("leaflog")];
			const rounds = count > 50_000 ? 5 : 11;
			const [theirs, first, resumed] = [[], [], []];
			// One round that does not count: both compile their code, and the page cache is warm.
			for (let round = -1; round < rounds; round++) {
				const one = await run(pi, session);
				await rm(`${path}.idx`, { force: true });
				const two = await run(leaflog, session);
				const three = await run(leaflog, session);
				deepStrictEqual(two.context, one.context);
				deepStrictEqual(three.context, one.context);
				if (one.context.messages.length < 10) throw new Error("the session has no context to speak of");
				if (round < 0) continue;
				theirs.push(one.ms);
				first.push(two.ms);
				resumed.push(three.ms);
				session.live = one.context.messages.length;
			}
			const ratio = (list) => theirs.map((ms, round) => ms / list[round]);
			const ratios = ratio(resumed);
			const middle = `${short(quantile(ratios, 0.25))} to ${short(quantile(ratios, 0.75))}`;
			const { size } = await stat(path);
			const cells = [
				format,
				count.toLocaleString("en"),
				`${(size / 1e6).toFixed(1)} MB`,
				session.live,
				`${short(median(theirs))} ms`,
				`${short(median(first))} ms`,
				short(median(ratio(first))),
				`${short(median(resumed))} ms`,
				`${short(median(ratios))} (${middle})`,
			];
			console.log(`| ${cells.join(" | ")} |`);
			for (const contender of [pi, leaflog]) contender.disconnect();
			await rm(path);
			await rm(`${path}.idx`, { force: true });
		}
	}
} finally {
	await rm(root, { recursive: true, force: true });
}
