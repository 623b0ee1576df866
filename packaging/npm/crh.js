#!/usr/bin/env node
// Starts the program of this platform. npm installs it as an optional dependency.
"use strict";

const { spawnSync } = require("node:child_process");

const folder = `crh-cli-${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? "crh.exe" : "crh";
let program;
try {
  program = require.resolve(`${folder}/bin/${file}`);
} catch {
  console.error(
    `error: the package \`${folder}\` is not installed\n` +
      "hint: install again without `--omit=optional`; if it does not exist, crh has no binary for this platform: build crh from source",
  );
  process.exit(1);
}

// The terminal sends Ctrl-C to crh itself, which then prints its report. This process must wait for it.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
const ended = spawnSync(program, process.argv.slice(2), { stdio: "inherit" });
if (ended.error) {
  console.error(`error: cannot start ${program}: ${ended.error.message}`);
  process.exit(1);
}
process.exit(ended.signal ? 1 : ended.status);
