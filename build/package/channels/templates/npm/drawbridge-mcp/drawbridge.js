#!/usr/bin/env node
// Runs the program from the package of this system.
'use strict';
const { spawn } = require('node:child_process');

const name = `@drawbridge-mcp/${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/drawbridge${process.platform === 'win32' ? '.exe' : ''}`);
} catch {
  console.error(`drawbridge: the package ${name} is not installed. If it exists, npm omitted optional packages: install drawbridge-mcp again without --omit=optional. All packages: {{.Repository}}/releases`);
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
// The terminal sends Ctrl-C to the program as well; the other signals reach only this process.
process.on('SIGINT', () => {});
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('error', (err) => {
  console.error(`drawbridge: cannot start ${program}: ${err.message}`);
  process.exit(1);
});
child.on('exit', (code) => process.exit(code ?? 1));
