// The example harness does what it says, the kill included.

import { match, strictEqual } from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { LeaflogStore } from "leaflog";

import { folder } from "./support.mjs";

const example = fileURLToPath(new URL("../examples/harness.mjs", import.meta.url));
const run = async (...options) => (await promisify(execFile)(process.execPath, [example, ...options])).stdout;

test("the example harness opens, branches, forks, and resumes after a kill", async (t) => {
	const root = join(await folder(t), "sessions");
	const tour = await run(root, "--tour");
	match(tour, /\(the run \S+ was cut off\)/);
	match(tour, /The log is whole\.\n$/);
	const [, after] = tour.split("After a kill:\n");
	const said = after.split("\n").filter((line) => line.startsWith("  user: "));
	strictEqual(said.join(), "  user: What is a leaf?,  user: And a lane?,  user: Will you answer?,  user: Still there?");

	const once = await run(root);
	match(once, /user: Hello\.\n {2}assistant: To "Hello\." I say: 8 messages so far\.\n$/);
	const { sessions, warnings } = await new LeaflogStore({ sessionsRoot: root }).listing();
	strictEqual(sessions.length, 1);
	strictEqual(warnings.length, 0);
	strictEqual(sessions[0].title, "What is a leaf?");
});
