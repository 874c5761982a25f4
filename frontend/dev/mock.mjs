// A mock of the daemon: serves dist and an API with generated data, so that the page can be
// shown in every state without running a server.
//
//   node dev/mock.mjs [--port 7599] [--scene full|empty|trouble|hostile|locked] [--rate 1]
//
// Scenes: full (everything runs, calls arrive), empty (a new installation), trouble
// (errors in the configuration, failed servers), hostile (texts of a hostile
// server), locked (every response is 401). --rate is calls per second.
import { createReadStream, existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isOperation } from './api-operations.mjs';
import { patched } from './mock-config.mjs';
import { historyRoute } from './mock-history.mjs';
import { directoryRoute } from './mock-marketplace.mjs';
import { profilesRoute } from './mock-profiles.mjs';
import { makeScene } from './mock-scenes.mjs';

const types = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; media-src data:; font-src 'self'; frame-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'; trusted-types 'none'";

/** The command lines that tests paste, as the daemon reads them. */
const files = '@modelcontextprotocol/server-filesystem';
const weather = ['-y', '@acme/server-weather', '--home', '/tmp/a b'];
const commands = {
  'npx -y server --api-key=abcdef0123456789': {
    server: { command: 'npx', args: ['-y', 'server', '--api-key=abcdef0123456789'] },
  },
  'npx -y server-time': { time: { command: 'npx', args: ['-y', 'server-time'] } },
  [`npx -y ${files} /path/to/allowed/files`]: {
    filesystem: { command: 'npx', args: ['-y', files, '/path/to/allowed/files'] },
  },
  'TOKEN=x npx -y "@acme/server-weather" --home "/tmp/a b"': {
    weather: { command: 'npx', args: weather, env: { TOKEN: 'x' } },
  },
};

/** `delay` returns the delay of a response in milliseconds, by its path. */
export function startMock({
  port = 0,
  scene = 'full',
  rate = 1,
  mangle = (v) => v,
  delay = () => 0,
} = {}) {
  const world = makeScene(scene);
  let expired = false;
  const streams = new Set();
  const dist = process.env.MOCK_DIST ?? fileURLToPath(new URL('../dist', import.meta.url));

  const send = (type, data) => {
    for (const stream of streams) stream.write(`event: ${type}\ndata: ${JSON.stringify(data)}\n\n`);
  };
  const json = (response, value, status = 200) => {
    response.writeHead(status, {
      'Content-Type': status >= 400 ? 'application/problem+json' : 'application/json',
    });
    response.end(typeof value === 'string' ? value : JSON.stringify(mangle(value)));
  };

  const server = createServer(async (request, response) => {
    const url = new URL(request.url, 'http://mock');
    response.setHeader('Content-Security-Policy', policy);
    response.setHeader('X-Content-Type-Options', 'nosniff');
    if (!url.pathname.startsWith('/api/')) return file(response, url.pathname);
    const late = delay(url.pathname);
    if (late > 0) await new Promise((done) => setTimeout(done, late));
    if (expired) return json(response, { status: 401, code: 'unauthorized' }, 401);
    if (scene === 'locked' && request.headers['x-drawbridge-key'] !== 'mock-key') {
      if (url.pathname === '/api/session') {
        const { code } = JSON.parse(await body(request));
        if (code === 'good') return json(response, { key: 'mock-key' });
      }
      return json(response, { status: 401, code: 'unauthorized', detail: 'not let in' }, 401);
    }
    if (!isOperation(request.method, url.pathname) && url.pathname !== '/api/session')
      return json(response, { status: 404, code: 'not_found', detail: 'no such resource' }, 404);
    const path = url.pathname.replace('/api/v1/', '').split('/').map(decodeURIComponent);
    const text = request.method === 'GET' ? '' : await body(request);
    const answer =
      directoryRoute(world, request.method, path, text) ??
      profilesRoute(world, request.method, path, text) ??
      historyRoute(world, request.method, path, url.searchParams, text) ??
      world.extras.route(request.method, path, url.searchParams, text);
    if (answer !== undefined) return json(response, answer);
    if (path[0] === 'servers' && path[2] === 'log')
      return json(response, { items: world.server(path[1])?.log ?? [], next: '' });
    switch (`${request.method} ${path[0]}`) {
      case 'GET status':
        return json(response, world.status());
      case 'GET servers':
        if (path.length === 1) return json(response, { items: world.servers, next: '' });
        return respond(response, world.server(path[1]));
      case 'GET checks':
        return json(response, { items: world.checks, next: '' });
      case 'GET tools':
        return json(response, { items: world.tools, next: '' });
      case 'GET calls':
        if (path.length === 2) return respond(response, world.call(path[1]));
        return json(response, world.page(url.searchParams));
      case 'POST calls': {
        const { ids } = JSON.parse(text);
        const kept = world.calls.filter(({ id }) => !ids.includes(id));
        const deleted = world.calls.length - kept.length;
        world.calls.splice(0, world.calls.length, ...kept);
        return json(response, { deleted });
      }
      case 'GET clients':
        return json(response, { items: world.clients, next: '' });
      case 'GET config':
        return json(response, world.config);
      case 'GET connections':
        return json(response, { items: world.connections, next: '' });
      case 'GET takeover':
        return json(response, world.takeover());
      case 'POST takeover': {
        const asked = JSON.parse(text);
        const items = path[1] === 'undo' ? world.putBack(asked.keys) : world.takeOver(asked);
        if (items) return json(response, { items, next: '' });
        const detail = 'a file has changed since the preview';
        return json(response, { status: 409, code: 'conflict', detail }, 409);
      }
      case 'GET approvals':
        return json(response, { items: world.approvals, next: '' });
      case 'POST approvals':
        world.answers.push({ id: path[1], ...JSON.parse(text) });
        allowAlways(world.approvals, world.answers.at(-1));
        world.approvals = world.approvals.filter(({ id }) => id !== path[1]);
        response.writeHead(204).end();
        return;
      case 'PATCH config':
      case 'PUT config': {
        if (!['*', world.config.etag].includes(request.headers['if-match']))
          return json(
            response,
            {
              status: 412,
              code: 'conflict',
              detail: 'the configuration file has changed in the meantime',
            },
            412,
          );
        const asked = JSON.parse(text);
        const written = asked.edits ? patched(world.config.text, asked.edits) : asked.text;
        if (asked.dryRun) return json(response, { ...world.config, text: written, problems: [] });
        world.writeConfig(written);
        send('config', { applied: true });
        return json(response, world.config);
      }
      case 'GET desktop':
      case 'PUT desktop': {
        const set = text ? JSON.parse(text) : {};
        world.paused = set.paused ?? world.paused ?? false;
        world.startAtLogin = set.startAtLogin ?? world.startAtLogin ?? false;
        const { startAtLogin, paused } = world;
        return json(response, { startAtLogin, paused, tray: true, window: scene === 'full' });
      }
      case 'PUT secrets':
        response.writeHead(204).end();
        return;
      case 'POST parse-servers': {
        const pasted = JSON.parse(text).text.trim();
        const servers = Object.entries(
          pasted.startsWith('{') ? JSON.parse(pasted).mcpServers : (commands[pasted] ?? {}),
        ).map(([name, entry]) => ({ name, entry, notes: [] }));
        const unreadableLink = servers.length === 0 && /^[a-z]+:\/\/\S*$/.test(pasted);
        return json(response, { servers, unreadableLink });
      }
      case 'POST call':
        return json(response, world.run(text));
      case 'GET events':
        response.writeHead(200, {
          'Content-Type': 'text/event-stream',
          'Cache-Control': 'no-store',
        });
        response.write(
          `event: snapshot\ndata: ${JSON.stringify(mangle({ status: world.status(), calls: world.calls.slice(0, 100).map(({ note: _, ...call }) => call), approvals: world.approvals }))}\n\n`,
        );
        streams.add(response);
        request.on('close', () => streams.delete(response));
        return;
    }
    json(response, { status: 404, code: 'not_found', detail: 'no such resource' }, 404);
  });

  /** Writes the permission of "Always allow" into the settings of the tool. */
  function allowAlways(approvals, { id, scope }) {
    const call = approvals.find((one) => one.id === id);
    if (scope !== 'always' || !call) return;
    const set = { allowClients: [call.client.token] };
    const text = JSON.stringify({ tools: [call.original], set });
    world.extras.route('POST', ['servers', call.server, 'tools'], new URLSearchParams(), text);
  }

  const respond = (response, value) =>
    value === undefined
      ? json(response, { status: 404, code: 'not_found', detail: 'not found' }, 404)
      : json(response, value);

  function file(response, pathname) {
    const path = join(dist, normalize(pathname === '/' ? '/index.html' : pathname));
    if (!path.startsWith(dist) || !existsSync(path)) {
      response.writeHead(404).end();
      return;
    }
    const headers = { 'Content-Type': types[extname(path)] ?? 'application/octet-stream' };
    if (path.endsWith('/index.html')) {
      headers['Content-Security-Policy'] = policy.replace("style-src 'self'", "$& 'nonce-mock'");
      response
        .writeHead(200, headers)
        .end(readFileSync(path, 'utf8').replace('STYLE-NONCE', 'mock'));
      return;
    }
    // As in the daemon, because these files are named by their content.
    if (pathname.startsWith('/assets/'))
      headers['Cache-Control'] = 'public, max-age=31536000, immutable';
    response.writeHead(200, headers);
    createReadStream(path).pipe(response);
  }

  const timers = [
    setInterval(() => {
      for (const stream of streams) stream.write(': beat\n\n');
    }, 15_000),
  ];
  if (rate > 0 && world.live) {
    // Many calls per second are sent in batches, as a busy daemon sends them.
    const every = Math.max(20, 1000 / rate);
    const bunch = Math.max(1, Math.round((rate * every) / 1000));
    timers.push(
      setInterval(() => {
        for (let i = 0; i < bunch; i++) world.invent((call) => send('call', call));
      }, every),
    );
  }

  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () =>
      resolve({
        url: `http://127.0.0.1:${server.address().port}`,
        world,
        send,
        /** Whether every request is refused. */
        expire: (yes) => {
          expired = yes;
        },
        close: () =>
          new Promise((done) => {
            timers.forEach(clearInterval);
            server.closeAllConnections();
            server.close(done);
          }),
      }),
    );
  });
}

function body(request) {
  return new Promise((resolve) => {
    let text = '';
    request.on('data', (chunk) => {
      text += chunk;
    });
    request.on('end', () => resolve(text));
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const option = (name, fallback) => {
    const at = process.argv.indexOf(`--${name}`);
    return at < 0 ? fallback : process.argv[at + 1];
  };
  const { url } = await startMock({
    port: Number(option('port', 7599)),
    scene: option('scene', 'full'),
    rate: Number(option('rate', 1)),
  });
  console.log(url);
}
