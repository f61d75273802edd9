// What the tests share: folders that go away, pi's programs, comparing.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { JsonlSessionRepo } from "@earendil-works/pi-agent-core";
import { NodeExecutionEnv } from "@earendil-works/pi-agent-core/node";

/** A folder for a test, removed after it. */
export async function folder(t) {
	const path = await mkdtemp(join(tmpdir(), "leaflog-"));
	t?.after(() => rm(path, { recursive: true, force: true }));
	return path;
}

/** pi's own repository of sessions of pi v4. */
export function piV4(sessionsRoot) {
	return new JsonlSessionRepo({ fs: new NodeExecutionEnv({ cwd: sessionsRoot }), sessionsRoot });
}

/** A value as JSON tells it: what is undefined is not there. */
export function plain(value) {
	return JSON.parse(JSON.stringify(value));
}

/** A source of numbers that gives the same ones for the same seed (xorshift, 32 bits). */
export function dice(seed) {
	let state = seed >>> 0 || 1;
	const next = () => {
		state ^= state << 13;
		state ^= state >>> 17;
		state ^= state << 5;
		return state >>> 0;
	};
	return {
		below: (end) => next() % end,
		pick: (list) => list[next() % list.length],
		chance: (percent) => next() % 100 < percent,
	};
}

/**
 * pi's sessions of version 3. The module is taken by its file: the package's own door loads all of pi, which
 * Node 20 lacks a function for.
 */
export const piV3 = await import(
	new URL("core/session-manager.js", import.meta.resolve("@earendil-works/pi-coding-agent"))
);
