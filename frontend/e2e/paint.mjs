// How soon the page of a cold daemon is useful, with the built program and the built page:
//   node e2e/paint.mjs [ROUNDS]
// Each round has a data folder, a daemon and a browser profile of its own. The daemon's
// servers are on demand, so that their start is not what is measured.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch } from './browser.mjs';

const program = fileURLToPath(new URL('../../build/bin/drawbridge', import.meta.url));
const rounds = Number(process.argv[2] ?? 7);
const later = (ms) => new Promise((done) => setTimeout(done, ms));

/** Polls until ask has an answer. */
async function until(ask) {
  for (const end = Date.now() + 20_000; Date.now() < end; await later(2)) {
    const answer = ask();
    if (answer) return answer;
  }
  throw new Error('the daemon does not answer');
}

async function round(browser, folder) {
  const data = join(folder, 'data');
  mkdirSync(data, { mode: 0o700 });
  const demo = { command: program, args: ['demo-server'], start: 'onDemand' };
  const config = { mcpServers: { demo, second: demo, third: demo } };
  writeFileSync(join(data, 'config.jsonc'), JSON.stringify(config), { mode: 0o600 });
  const env = { PATH: process.env.PATH, HOME: folder, LANG: 'C.UTF-8', SHELL: '/bin/sh' };
  const began = performance.now();
  const daemon = spawn(program, ['serve', '--data', data, '--listen', '127.0.0.1:0'], {
    env,
    stdio: 'ignore',
  });
  const ended = new Promise((done) => daemon.once('exit', done));
  try {
    const runtime = join(data, 'runtime.json');
    await until(() => existsSync(runtime) && readFileSync(runtime, 'utf8').includes('"url"'));
    const answers = performance.now() - began;
    const link = execFileSync(program, ['open', '--print', '--data', data], { env }).toString();
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    const page = await context.newPage();
    const opened = performance.now();
    await page.goto(link.trim(), { waitUntil: 'commit' });
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.getByRole('link', { name: 'second' }).first().waitFor();
    const useful = performance.now() - opened;
    const painted = await page.evaluate(
      () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN,
    );
    await context.close();
    return { answers, painted, useful, together: answers + useful };
  } finally {
    daemon.kill('SIGTERM');
    await ended;
  }
}

const browser = await launch();
const figures = [];
for (let i = 0; i < rounds; i++) {
  const folder = mkdtempSync(join(tmpdir(), 'paint-'));
  try {
    figures.push(await round(browser, folder));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
await browser.close();

const names = {
  answers: 'the daemon answers after its start',
  painted: 'first contentful paint after the link is opened',
  useful: 'servers are seen after the link is opened',
  together: 'both: from the start of the daemon to servers seen',
};
console.log(`${rounds} rounds, load ${loadavg()[0].toFixed(2)}; median (least to most), ms`);
for (const [key, what] of Object.entries(names)) {
  const sorted = figures.map((one) => one[key]).sort((a, b) => a - b);
  const ms = (at) => Math.round(sorted[at]);
  console.log(`${what}: ${ms(rounds >> 1)} (${ms(0)} to ${ms(rounds - 1)})`);
}
