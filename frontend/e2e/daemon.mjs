// Real daemons, each with a copy of the files of a scene.
import { execFile, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { bin, scenes } from './scenes.mjs';
import { until } from './waiting.mjs';

const run = promisify(execFile);

const work = await mkdtemp(join(tmpdir(), 'page-'));
const started = new Set();

/** A remote server that requires a sign-in. */
const guarded = createServer((_, response) =>
  response.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end(),
);
guarded.listen(0, '127.0.0.1');
guarded.unref();

async function put(folder, files) {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true, mode: 0o700 });
    await writeFile(join(folder, name), text, { mode: 0o600 });
  }
}
const configured = (config) => ({
  'config.jsonc': config.replace('SIGN_IN', `http://127.0.0.1:${guarded.address().port}/mcp`),
});

const templates = new Map();

/** The folder of a scene, which is made at its first use. */
function template(scene) {
  if (!templates.has(scene)) templates.set(scene, make(scene, scenes[scene]));
  return templates.get(scene);
}

async function make(scene, { config, files, history, before, later }) {
  const folder = join(work, scene);
  const [data, home] = [join(folder, 'data'), join(folder, 'home')];
  // The programs of the user; a login shell finds them, too.
  await put(home, { '.profile': `PATH=$HOME/bin:$PATH\n`, ...files });
  await mkdir(join(home, 'bin'));
  for (const name of ['npx', 'npm']) await symlink(join(bin, 'pagedata'), join(home, 'bin', name));
  await put(data, configured(config));
  if (history) await run(join(bin, 'pagedata'), ['history', join(data, 'history.db')]);
  if (before) {
    const daemon = await launch(folder);
    await before(daemon);
    await daemon.stop();
  }
  if (later) {
    await put(data, configured(later.config));
    await put(home, later.files);
  }
  return folder;
}

let count = 0;

/** Starts a daemon with its own copy of a scene; `edit` may change the text of its configuration. */
export async function startDaemon(scene = 'full', edit) {
  const folder = join(work, `${scene}-${count++}`);
  await cp(await template(scene), folder, { recursive: true, verbatimSymlinks: true });
  if (edit) {
    const file = join(folder, 'data/config.jsonc');
    await writeFile(file, edit(await readFile(file, 'utf8')));
  }
  const daemon = await launch(folder, true);
  await scenes[scene].ready?.(daemon);
  return daemon;
}

const given = new Set();

/**
 * A free port outside of the range of ephemeral ports, so that no other program takes it while its
 * daemon restarts, and no other daemon of this run before its own listens.
 */
async function ownPort() {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if (given.has(port)) continue;
    given.add(port);
    const server = createServer();
    const free = await new Promise((done) => {
      server.once('error', () => done(false));
      server.listen(port, '127.0.0.1', () => server.close(() => done(true)));
    });
    if (free) return port;
  }
}

async function launch(folder, own) {
  const [data, home] = [join(folder, 'data'), join(folder, 'home')];
  const address = `127.0.0.1:${await ownPort()}`;
  let child;
  let ended;
  const daemon = {
    home,
    config: () => readFile(join(data, 'config.jsonc'), 'utf8'),
    writeConfig: (text) => writeFile(join(data, 'config.jsonc'), text),
    /** The body of a response of the API. */
    async api(method, path, body, headers) {
      const response = await fetch(`${daemon.url}/api/v1${path}`, {
        method,
        headers: {
          Authorization: `Bearer ${daemon.token}`,
          'Content-Type': 'application/json',
          ...headers,
        },
        body: body && JSON.stringify(body),
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
      return text ? JSON.parse(text) : undefined;
    },
    items: async (path) => (await daemon.api('GET', path)).items,
    /** Waits until these servers run. */
    running: (...ids) =>
      until(async () => {
        const servers = await daemon.items('/servers');
        return ids.every((id) => servers.find((one) => one.id === id)?.state === 'running');
      }, `${ids} run`),
    /** Opens the stream of events: without a page, a call that needs an approval is refused. */
    async watch() {
      // Kept, because a response that is collected ends its stream.
      daemon.stream = await fetch(`${daemon.url}/api/v1/events`, {
        headers: { Authorization: `Bearer ${daemon.token}` },
      });
    },
    /** Waits until this many calls wait for the user. */
    waiting: (count) =>
      until(
        async () =>
          (await daemon.items('/approvals')).filter(
            (one) => one.kind !== 'tools' && one.kind !== 'command',
          ).length === count,
        `${count} calls wait`,
      ),
    /** A session of a client that cannot ask its user: calls tools, and returns the text of each response. */
    async client(name, server) {
      const { tokens } = JSON.parse(await readFile(join(data, 'tokens.json'), 'utf8'));
      const headers = {
        Authorization: `Bearer ${tokens.find((one) => one.name === name).token}`,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
      };
      const send = (method, params) =>
        fetch(`${daemon.url}/s/${server}/mcp`, {
          method: 'POST',
          headers,
          body: JSON.stringify({ jsonrpc: '2.0', id: count++, method, params }),
        });
      const clientInfo = { name, version: '1' };
      const hello = await send('initialize', {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo,
      });
      headers['Mcp-Session-Id'] = hello.headers.get('mcp-session-id');
      await hello.text();
      return async (tool, args) =>
        (await send('tools/call', { name: tool, arguments: args })).text();
    },
    call: async (client, server, tool, args) => (await daemon.client(client, server))(tool, args),
    async start() {
      let said = '';
      child = spawn(join(bin, 'drawbridge'), ['serve', '--data', data, '--listen', address], {
        env: {
          PATH: `${home}/bin:${process.env.PATH}`,
          HOME: home,
          LANG: 'C.UTF-8',
          SHELL: '/bin/sh',
          DRAWBRIDGE_KEYRING: 'off',
          DBUS_SESSION_BUS_ADDRESS: `unix:path=${data}/no-bus`,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk) => {
          said += chunk;
        });
      daemon.log = () => said;
      const gone = new Promise((done) => child.once('exit', done));
      ended = gone;
      started.add(child);
      gone.then(() => started.delete(child));
      await until(async () => {
        if (child.exitCode !== null) throw new Error(`the daemon ended: ${said}`);
        daemon.url = JSON.parse(await readFile(join(data, 'runtime.json'), 'utf8')).url;
        return true;
      }, 'the daemon starts');
      daemon.token = (await readFile(join(data, 'admin.token'), 'utf8')).trim();
    },
    /** Stops the daemon; start runs it again at the same address. */
    async stop() {
      child.kill();
      await ended;
    },
    async close() {
      await daemon.stop();
      if (own) await rm(folder, { recursive: true, force: true });
    },
  };
  await daemon.start();
  return daemon;
}

process.on('exit', () => {
  for (const child of started) child.kill('SIGKILL');
  rmSync(work, { recursive: true, force: true, maxRetries: 5 });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
