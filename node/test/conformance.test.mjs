// pi's own suite for session backends, on files and on SQLite, with pi's class of sessions and with ours.

import { strictEqual } from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";

import { Session } from "@earendil-works/pi-agent-core";
import { createSessionBackendConformance } from "@earendil-works/pi-agent-core/session/testing";
import { LeaflogSessionRepo } from "leaflog";

const places = {
	JSONL: (folder) => ({ sessionsRoot: join(folder, "sessions") }),
	"JSONL with an index beside every log": (folder) => ({ sessionsRoot: join(folder, "sessions"), index: "always" }),
	SQLite: (folder) => ({ database: join(folder, "sessions.db") }),
};
const classes = { "pi's Session": { Session }, LeaflogSession: {} };

for (const [place, options] of Object.entries(places)) {
	for (const [name, more] of Object.entries(classes)) {
		describe(`pi's conformance suite on ${place}, sessions of the class ${name}`, () => {
			const cases = createSessionBackendConformance(async () => {
				const folder = await mkdtemp(join(tmpdir(), "leaflog-"));
				const repository = new LeaflogSessionRepo({ ...options(folder), ...more });
				return {
					repository,
					async [Symbol.asyncDispose]() {
						await repository.close();
						await rm(folder, { recursive: true, force: true });
					},
				};
			});
			test("has 30 cases", () => strictEqual(cases.length, 30));
			for (const { group, name, run } of cases) test(`${group}: ${name}`, run);
		});
	}
}
