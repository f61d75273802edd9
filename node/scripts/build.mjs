// Builds the package into `dist/`: cargo makes the native half, the TypeScript compiler the rest.

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(here, "dist");
const run = (program, args) => execFileSync(program, args, { cwd: here, stdio: "inherit" });

run("cargo", ["build", "--release", "--locked"]);
// Where cargo puts what it builds is its own affair.
const metadata = execFileSync("cargo", ["metadata", "--format-version=1", "--no-deps", "--locked"], { cwd: here });
const target = JSON.parse(metadata).target_directory;
const library = {
	darwin: "libleaflog_node.dylib",
	win32: "leaflog_node.dll",
}[process.platform] ?? "libleaflog_node.so";

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
// Renamed into its place, so that no process ever loads half of it.
copyFileSync(join(target, "release", library), join(dist, "leaflog.node.new"));
renameSync(join(dist, "leaflog.node.new"), join(dist, "leaflog.node"));

const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
run(process.execPath, [tsc, "-p", here]);

// What is packed holds the licences too.
for (const name of ["LICENSE-APACHE", "LICENSE-MIT"]) copyFileSync(join(here, "..", name), join(dist, name));
