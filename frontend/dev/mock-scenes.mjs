// Generated data of the mock daemon.

import { matching } from './mock-history.mjs';
import { makeDirectory } from './mock-marketplace.mjs';
import { makeProfiles } from './mock-profiles.mjs';
import { makeExtras, moreApprovals } from './mock-responses.mjs';
import { makeChecks } from './sample-checks.mjs';
import { answered, asked, configured, said } from './sample-payloads.mjs';

const minute = 60_000;
const ago = (ms) => new Date(Date.now() - ms).toISOString();

const serverDefaults = {
  transport: 'stdio',
  state: 'running',
  reason: '',
  era: 'legacy',
  protocolVersion: '2025-11-25',
  prompts: 0,
  resources: 0,
  templates: 0,
  restarts: 0,
  inFlight: 0,
  warnings: [],
};

function server(id, more) {
  return {
    ...serverDefaults,
    id,
    label: id,
    since: ago(47 * minute),
    updated: ago(4000),
    tools: catalog[id]?.length ?? 0,
    ...more,
  };
}

function healthy() {
  return [
    server('filesystem', {
      pid: 48213,
      serverInfo: { name: 'secure-filesystem-server', version: '0.2.0' },
      command: 'npx -y @modelcontextprotocol/server-filesystem /home/ada/projects',
      inFlight: 1,
    }),
    server('github', {
      label: 'GitHub',
      tags: ['work'],
      transport: 'http',
      login: 'done',
      prompts: 4,
      resources: 2,
      era: 'modern',
      protocolVersion: '2026-07-28',
      serverInfo: { name: 'github-mcp-server', title: 'GitHub MCP Server', version: '1.4.2' },
    }),
    server('postgres', {
      label: 'Postgres (staging)',
      transport: 'docker',
      pid: 51877,
      resources: 23,
      command: 'docker exec staging-db mcp-postgres --read-only',
      serverInfo: { name: 'mcp-postgres', version: '0.9.1' },
    }),
    server('memory', {
      pid: 48240,
      command: 'npx -y @modelcontextprotocol/server-memory',
    }),
    server('everything', {
      pid: 48261,
      prompts: 3,
      resources: 100,
      templates: 2,
      since: ago(38_000),
      restarts: 2,
      command: 'npx -y @modelcontextprotocol/server-everything stdio',
    }),
    server('sequential-thinking', {
      label: 'Sequential thinking',
      pid: 48277,
      command: 'npx -y @modelcontextprotocol/server-sequential-thinking',
    }),
  ];
}

function troubled() {
  const servers = healthy();
  return [
    ...servers.slice(0, 3),
    server('slack', {
      label: 'Slack',
      transport: 'http',
      state: 'needs-login',
      login: 'needed',
      reason: 'it requires you to sign in',
      hint: 'Use the web UI to sign in, or run: drawbridge login slack.',
      remedy: { kind: 'sign-in', name: 'slack', command: 'drawbridge login slack' },
      since: ago(12 * minute),
    }),
    server('browser', {
      label: 'Browser automation',
      state: 'crashed',
      reason: 'It exited 5 times within 60 seconds; the last exit code was 1.',
      remedy: { kind: 'see-log', command: 'drawbridge logs browser' },
      detail:
        "Error: Cannot find module 'playwright'\nRequire stack:\n- /usr/lib/node_modules/browser-mcp/index.js",
      exitCode: 1,
      stderr: [
        'node:internal/modules/cjs/loader:1228',
        "Error: Cannot find module 'playwright'",
        '\u001b[31m    at Module._resolveFilename (node:internal/modules/cjs/loader:1225:15)\u001b[0m',
      ],
      restarts: 5,
      since: ago(3 * minute),
      command: 'node /usr/lib/node_modules/browser-mcp/index.js',
    }),
    server('linear', {
      label: 'Linear',
      state: 'crashed',
      reason: 'env.LINEAR_API_KEY: variable ${LINEAR_API_KEY} is not set',
      hint: 'Set the variable, or give it a default: ${NAME:-default}.',
      remedy: { kind: 'set-variable', name: 'LINEAR_API_KEY' },
      since: ago(5 * minute),
    }),
    server('fetch', {
      state: 'crashed',
      reason: 'executable not found: "uvx"',
      hint: 'Install uv: curl -LsSf https://astral.sh/uv/install.sh | sh (https://docs.astral.sh/uv).',
      remedy: {
        kind: 'install-program',
        name: 'uv',
        command: 'curl -LsSf https://astral.sh/uv/install.sh | sh',
        url: 'https://docs.astral.sh/uv',
      },
      since: ago(5 * minute),
    }),
    server('search', {
      state: 'backoff',
      reason: 'The connection was lost; next try in 4 seconds.',
      remedy: { kind: 'see-log', command: 'drawbridge logs search' },
      restarts: 2,
      since: ago(9000),
      command: 'uvx mcp-search',
    }),
    server('jira', {
      label: 'Jira',
      transport: 'docker',
      state: 'waiting',
      reason: 'the container is not running: "jira-mcp"',
      hint: 'Start the container: docker start jira-mcp',
      remedy: { kind: 'start-container', name: 'jira-mcp', command: 'docker start jira-mcp' },
      since: ago(31 * minute),
    }),
    server('weather', {
      state: 'starting',
      since: ago(2000),
      pid: 50123,
      detail:
        'npm warn exec The following package was not found and will be installed: weather-mcp@2.1.0',
    }),
    server('legacy-tools', {
      label: 'Legacy tools',
      state: 'degraded',
      reason: '8 of 9 tools could be listed.',
      warnings: ['8 of 9 tools: the input schema of "convert" is not an object and was left out.'],
      tools: 8,
      pid: 48301,
    }),
    server('archive', { state: 'stopped', since: ago(26 * 60 * minute) }),
    server('notion', { label: 'Notion', state: 'disabled', since: ago(3 * 24 * 60 * minute) }),
  ];
}

const evil =
  '<img src=x onerror=alert(1)>"><script>alert(1)</script>\u001b[31mred\u202Egnp.exe javascript:alert(1)';

function hostile() {
  return [
    server('hostile', {
      label: evil,
      reason: evil + 'A'.repeat(5000),
      detail: evil,
      state: 'degraded',
      tools: 2000,
      warnings: [evil],
      command: evil,
      serverInfo: { name: evil, title: { toString: 1 }, version: 'x'.repeat(100_000) },
    }),
  ];
}

const catalog = {
  filesystem: [
    [
      'read_text_file',
      'Read the complete contents of a file from the file system as text.',
      { path: 'string', head: 'number?', tail: 'number?' },
    ],
    [
      'write_file',
      'Create a new file or completely overwrite an existing file with new content. Use with caution.',
      { path: 'string', content: 'string' },
    ],
    [
      'list_directory',
      'Get a detailed listing of all files and directories in a specified path.',
      { path: 'string' },
    ],
    [
      'search_files',
      'Recursively search for files and directories matching a pattern.',
      { path: 'string', pattern: 'string', excludePatterns: 'string[]?' },
    ],
    [
      'move_file',
      'Move or rename files and directories.',
      { source: 'string', destination: 'string' },
    ],
  ],
  github: [
    [
      'search_issues',
      'Search for issues in GitHub repositories using issues search syntax.',
      { query: 'string', perPage: 'number?' },
    ],
    [
      'get_pull_request',
      'Get details of a specific pull request.',
      { owner: 'string', repo: 'string', number: 'integer' },
    ],
    [
      'create_issue',
      'Create a new issue in a repository.',
      { owner: 'string', repo: 'string', title: 'string', body: 'string?' },
    ],
    ['list_commits', 'List the commits of a branch.', { repo: 'string', sha: 'string?' }],
  ],
  postgres: [
    ['query', 'Run a read-only SQL query.', { sql: 'string' }],
    ['list_tables', 'The tables of a schema, with their sizes.', { schema: 'string?' }],
  ],
  memory: [
    [
      'create_entities',
      'Create multiple new entities in the knowledge graph.',
      { entities: 'object[]' },
    ],
    ['read_graph', 'Read the entire knowledge graph.', {}],
  ],
  everything: [
    ['echo', 'Echoes back the input.', { message: 'string' }],
    ['add', 'Adds two numbers.', { a: 'number', b: 'number' }],
  ],
  'sequential-thinking': [
    [
      'sequentialthinking',
      'A detailed tool for dynamic and reflective problem-solving through thoughts.',
      { thought: 'string', thoughtNumber: 'integer' },
    ],
  ],
};

function schema(parameters) {
  const properties = {};
  const required = [];
  for (const [name, type] of Object.entries(parameters)) {
    const base = type.replace('?', '');
    properties[name] = base.endsWith('[]')
      ? { type: 'array', items: { type: base.slice(0, -2) } }
      : { type: base, description: `The ${name} to use.` };
    if (!type.endsWith('?')) required.push(name);
  }
  return JSON.stringify({ type: 'object', properties, required, additionalProperties: false });
}

function makeTools(scene) {
  if (scene === 'empty') return [];
  if (scene === 'hostile') {
    return Array.from({ length: 2000 }, (_, i) => tool('hostile', `tool_${i}`, evil, {}));
  }
  return Object.entries(catalog).flatMap(([id, tools]) =>
    tools.map(([name, description, parameters]) => tool(id, name, description, parameters)),
  );
}

function tool(id, name, description, parameters) {
  const inputSchema = schema(parameters);
  const annotations = JSON.stringify(
    /^(read|list|search|get|describe|query)/.test(name)
      ? { readOnlyHint: true }
      : /^(write|move)/.test(name)
        ? { destructiveHint: true }
        : {},
  );
  return {
    name: `${id}__${name}`,
    server: id,
    tool: name,
    title: '',
    description,
    inputSchema,
    outputSchema: '',
    annotations,
    raw: JSON.stringify({ name, description, inputSchema: JSON.parse(inputSchema) }),
  };
}

const clients = [
  ['claude-code', '2.0.44', 'claude-code'],
  ['Claude Desktop', '1.4.0', 'claude-desktop'],
  ['cursor', '2.1.3', 'cursor'],
];

const endings = [
  ...Array.from({ length: 90 }, () => 'ok'),
  'tool_error',
  'tool_error',
  'timeout',
  'protocol_error',
  'cancelled',
  'rejected',
];
/** Durations of calls as powers of ten of nanoseconds: the minimum, and the range above it. */
const paces = {
  filesystem: [5.6, 2.4],
  github: [8, 1.3],
  postgres: [6.3, 2.4],
  memory: [5.7, 1.6],
  everything: [5.9, 2.2],
  'sequential-thinking': [6, 1.8],
};
const reasons = {
  tool_error: "ENOENT: no such file or directory, open '/home/ada/projects/bridge/notes.md'",
  timeout: 'The server did not respond within 60 seconds.',
  protocol_error: 'The server said: Invalid params (-32602).',
  cancelled: 'The client no longer wanted it.',
  rejected: 'Too many calls in a short time.',
};

const connectDiff =
  '@@ -1,5 +1,9 @@\n {\n   "theme": "dark",\n   "mcpServers": {\n+    "drawbridge": {\n+      "command": "/usr/bin/drawbridge",\n+      "args": ["stdio", "--client", "cursor"]\n+    }\n   }\n }\n';

function makeConnections(scene) {
  if (scene === 'empty') return [];
  const states = {
    'claude-code': 'connected',
    'claude-desktop': scene === 'trouble' ? 'vanished' : 'connected',
    cursor: 'notConnected',
    zed: scene === 'trouble' ? 'unreadable' : 'notConnected',
  };
  const names = ['Claude Code', 'Claude Desktop', 'Cursor', 'Zed'];
  return Object.entries(states).map(([id, state], i) => ({
    key: id,
    id,
    name: scene === 'hostile' ? evil : names[i],
    kind: 'json',
    project: '',
    path: scene === 'hostile' ? evil : `/home/ada/.config/${id}/mcp.json`,
    detected: true,
    state,
    connected: state === 'connected',
    problem: state === 'unreadable' ? 'line 12, column 3: a comma is missing' : '',
    http: false,
    supportsHttp: i !== 1,
    reload: 'To apply the change, restart the client.',
    maxTools: i === 2 ? 40 : 0,
    tested: true,
    live: state === 'connected' && i === 0,
    tools: i === 0 ? Object.values(catalog).flat().length : 0,
    next: i === 1 ? 'Quit Claude Desktop completely and start it again.' : '',
    warnings: [],
  }));
}

function makeApprovals(scene) {
  if (scene !== 'trouble' && scene !== 'hostile') return [];
  const common = {
    at: ago(20_000),
    expires: ago(-100_000),
    state: '',
    client: { name: scene === 'hostile' ? evil : 'claude-code', version: '2.0.44' },
  };
  return [
    ...moreApprovals(scene, evil),
    {
      ...common,
      id: 'q1',
      kind: 'form',
      server: scene === 'hostile' ? 'hostile' : 'github',
      tool: 'github__create_issue',
      message:
        scene === 'hostile'
          ? evil + 'A'.repeat(8000)
          : 'Which repository should the issue be opened in?',
      schema: JSON.stringify({
        type: 'object',
        properties: {
          repository: {
            type: 'string',
            title: scene === 'hostile' ? evil : 'Repository',
            enum: ['bridge/main', 'bridge/docs'],
            enumNames: ['The bridge', 'Its documentation'],
          },
          title: { type: 'string', description: scene === 'hostile' ? evil : 'One line.' },
          priority: { type: 'integer', minimum: 1, maximum: 5 },
          notify: { type: 'boolean', default: true },
        },
        required: ['repository', 'title'],
      }),
    },
    {
      ...common,
      id: 'q2',
      kind: 'url',
      server: scene === 'hostile' ? 'hostile' : 'slack',
      tool: '',
      message: 'Sign in to let the server read your channels.',
      url: 'https://slack.example/oauth?state=c0ffee',
    },
  ];
}

// Small and repeatable, so that screenshots of two runs can be compared.
function random(seed) {
  let x = seed;
  return () => {
    x = (x * 1103515245 + 12345) & 0x7fffffff;
    return x / 0x7fffffff;
  };
}

/** Recorded progress notifications; a total is optional. */
const progressLog = (message) => [
  { afterMs: 0, params: JSON.stringify({ progress: 0, message }) },
  { afterMs: 140, params: '{"progress":1.0,"total":3}' },
  { afterMs: 2310, params: JSON.stringify({ progress: 3, total: 3, message }) },
];

export function makeScene(scene) {
  const next = random(7);
  const started = Date.now() - 47 * minute;
  const servers =
    scene === 'empty'
      ? []
      : scene === 'trouble'
        ? troubled()
        : scene === 'hostile'
          ? hostile()
          : healthy();
  const tools = makeTools(scene);
  let lastId = 0;

  const newCall = (at) => {
    // Some are called more often than others.
    const t = tools[Math.floor(next() ** 1.4 * tools.length)];
    const [client, clientVersion, token] = clients[Math.floor(next() * next() * clients.length)];
    lastId = Math.max(lastId + 1, at * 1000);
    return {
      id: String(lastId),
      at: new Date(at).toISOString(),
      client: scene === 'hostile' ? evil : client,
      clientVersion,
      token,
      session: `${clients.findIndex((c) => c[0] === client)}c0ffee-${Math.floor(at / (73 * minute))}`,
      workspace: ['/home/ada/projects/bridge', '', '/home/ada/notes'][
        clients.findIndex((c) => c[0] === client)
      ],
      ...(t.server === 'github' && { account: at % 2 ? 'work' : 'default' }),
      ...(t.server === 'filesystem' && {
        servedBy: {
          name: 'secure-filesystem-server',
          version: at % 2 ? '0.2.0' : '0.1.9',
          package: '@modelcontextprotocol/server-filesystem@2026.7.4',
          definition: '0123456789abcdef0123456789abcdef',
        },
      }),
      era: 'legacy',
      server: t.server,
      tool: t.tool,
      publicName: t.name,
      method: 'tools/call',
      fromServer: false,
      approval: '',
      outcome: '',
      code: '',
      reason: '',
      tookNs: 0,
      queuedNs: 0,
      bytesIn: 60 + Math.floor(next() * 400),
      bytesOut: 0,
      attempts: 1,
      instance: 'u-17',
      progress: 0,
      traceId: '',
    };
  };
  const end = (call) => {
    const outcome = endings[Math.floor(next() * endings.length)];
    const [least, span] = paces[call.server] ?? [5.6, 4];
    const tookNs = outcome === 'timeout' ? 60e9 : Math.floor(10 ** (least + next() * span));
    return {
      ...call,
      outcome,
      reason: scene === 'hostile' ? evil : (reasons[outcome] ?? ''),
      code: { timeout: 'timeout', cancelled: 'cancelled', rejected: 'rate_limited' }[outcome] ?? '',
      tookNs,
      queuedNs: next() > 0.8 ? Math.floor(tookNs * 0.3) : 0,
      bytesOut: Math.floor(10 ** (2 + next() * 4)),
    };
  };

  const calls = [];
  if (scene !== 'empty') {
    // A working day: busy hours, a break at noon, quiet nights.
    const began = Date.now() - 23 * 60 * minute;
    let at = began;
    for (let i = 0; i < 1200; i++) {
      const hour = (at - began) / (60 * minute);
      const busy = 0.15 + Math.max(0, Math.sin((hour / 23) * 3 * Math.PI)) * (1 + hour / 23);
      at += Math.floor((next() * 110_000) / busy);
      if (at > Date.now() - 9000) break;
      calls.unshift(end(newCall(at)));
    }
    calls.unshift({ ...newCall(Date.now() - 4000), progress: 3 });
  }
  const put = (call) => {
    const i = calls.findIndex((c) => c.id === call.id);
    if (i >= 0) calls[i] = call;
    else calls.unshift(call);
    return call;
  };

  const argumentsOf = (call) =>
    scene === 'hostile'
      ? JSON.stringify({ evil, long: 'A'.repeat(1_000_000) })
      : (asked[call.tool] ?? '{}');
  const resultOf = (call) =>
    scene === 'hostile'
      ? JSON.stringify({ content: [{ type: 'text', text: evil }] })
      : (answered[call.tool] ?? said('Done.'));

  const problems =
    scene === 'trouble'
      ? [
          {
            file: '/home/ada/.config/drawbridge/config.jsonc',
            line: 14,
            column: 7,
            key: 'mcpServers.files.comand',
            message: 'unknown key "comand"',
            suggestion: 'Did you mean "command"?',
            warning: true,
            server: 'files',
          },
          {
            file: '/home/ada/.config/drawbridge/config.jsonc',
            line: 12,
            column: 5,
            key: 'mcpServers.files',
            message: 'missing \'command\' in stdio server "files"',
            suggestion: 'Add "command": the program that starts the server.',
            warning: false,
            server: 'files',
          },
        ]
      : [];

  const known =
    scene === 'empty'
      ? []
      : clients.map(([name, version, token], i) => ({
          token,
          hasToken: true,
          name: scene === 'hostile' ? evil + i : name,
          version,
          sessions: new Set(calls.filter((c) => c.token === token).map((c) => c.session)).size,
          lastSeen: calls.find((c) => c.token === token)?.at ?? ago(27 * 60 * minute),
          calls: calls.filter((c) => c.token === token).length,
        }));

  return {
    servers,
    tools,
    calls,
    profiles: makeProfiles(scene, evil),
    extras: makeExtras(scene, { servers, tools, clients: known, evil }),
    checks: makeChecks(scene, evil),
    directory: makeDirectory(scene, evil),
    say: (text) => (scene === 'hostile' ? evil : text),
    history: {
      calls: calls.length,
      bytes: 4_812_800,
      freeBytes: 120_000,
      indexPending: scene === 'trouble' ? 1204 : 0,
      ...(scene === 'trouble' ? { indexedUpTo: ago(6 * minute) } : {}),
      recorder: { state: 'recording', queued: 0, dropped: 0 },
      recording: {
        paused: false,
        rules: scene === 'empty' ? [] : [{ server: 'postgres', tool: 'query', record: 'meta' }],
      },
      keepDays: 30,
      maxBytes: 1_000_000_000,
    },
    approvals: makeApprovals(scene),
    /** The answers to approvals. */
    answers: [],
    connections: makeConnections(scene),
    connect(key, connected) {
      const found = this.connections.find((c) => c.key === key);
      Object.assign(found, { connected, state: connected ? 'connected' : 'notConnected' });
    },
    /** The target of the link, by the key of a client. */
    outside: {},
    /** Keys of clients whose file cannot be written. */
    unwritable: new Set(),
    takeover() {
      const here = this.connections.filter((c) => c.state === 'notConnected');
      const one = (c) => ({
        key: c.key,
        name: c.name,
        path: c.path,
        servers: 2,
        diff: this.say(connectDiff),
        outside: this.outside[c.key] ?? '',
        warnings: c.key === 'zed' ? [this.say('pg: set the variable PGPASSWORD.')] : [],
      });
      return {
        servers: 2 * here.length,
        clients: here.map(one),
        skipped: this.connections
          .filter((c) => c.state === 'unreadable')
          .map((c) => ({ client: c.name, reason: this.say(c.problem) })),
        plan: here.map((c) => c.key).join('+') || 'none',
      };
    },
    takeOver({ plan, outside = [] }) {
      const shown = this.takeover();
      const unconfirmed = shown.clients.some((c) => c.outside && !outside.includes(c.outside));
      if (shown.plan !== plan || unconfirmed) return undefined;
      return shown.clients.map(({ key, name }) => {
        const failed = this.unwritable.has(key);
        if (!failed) this.connect(key, true);
        return {
          key,
          name,
          servers: failed ? 0 : 2,
          error: failed ? 'the file is read-only' : '',
          reload: failed ? '' : this.say('To apply the change, restart the client.'),
        };
      });
    },
    putBack(keys) {
      for (const key of keys) this.connect(key, false);
      return keys.map((key) => ({ key, result: 'restored', error: '' }));
    },
    live: scene !== 'empty' && scene !== 'hostile',
    clients: known,
    config: {
      path: '/home/ada/.config/drawbridge/config.jsonc',
      etag: '"1"',
      problems,
      text:
        scene === 'trouble'
          ? '{\n  // Everything Drawbridge runs.\n  "mcpServers": {\n    "filesystem": {\n      "command": "npx",\n      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/ada/projects"]\n    },\n    "postgres": {\n      "type": "docker",\n      "container": "staging-db"\n    },\n    "Linear": {\n      "command": "npx",\n      "args": ["-y", "mcp-linear"],\n      // from linear.app\n      "env": { "LINEAR_API_KEY": "${LINEAR_API_KEY}", "LINEAR_TOKEN": "lin_0123456789" }\n    },\n    "files": {\n      // starts nothing yet\n      "comand": "npx"\n    }\n  }\n}\n'
          : configured,
    },
    status() {
      return {
        version: '0.1.0',
        url: 'http://127.0.0.1:7575',
        startedAt: new Date(started).toISOString(),
        configPath: '/home/ada/.config/drawbridge/config.jsonc',
        problems,
        requireToken: scene !== 'trouble',
        recorder: {
          state: 'ok',
          queued: 0,
          dropped: scene === 'trouble' ? 12 : 0,
          full: this.history.recording.full,
        },
        notices: this.paused ? [{ subject: 'paused', message: 'All servers are paused.' }] : [],
        visibleTools: scene === 'full' ? { filesystem: servers[0].tools - 1 } : {},
        withheld: scene === 'full' ? { filesystem: 1 } : {},
        knowsReleases: scene !== 'trouble',
        servers,
      };
    },
    writeConfig(text) {
      this.config.text = text;
      this.config.etag = `"${Number(this.config.etag.slice(1, -1)) + 1}"`;
    },
    server: (id) => {
      const found = servers.find((s) => s.id === id);
      return (
        found && {
          ...found,
          log: Array.from({ length: 24 }, (_, i) => ({
            at: ago((24 - i) * 1700),
            level: i === 15 ? 'warn' : i === 19 && found.state === 'crashed' ? 'error' : 'stderr',
            text:
              scene === 'hostile'
                ? evil
                : [
                    'Secure MCP Filesystem Server running on stdio',
                    'Client does not support MCP Roots, using allowed directories',
                    '\u001b[33mreading\u001b[0m /home/ada/projects/bridge/plan.md',
                    'done in 12 ms',
                  ][i % 4],
          })),
          usage: found.pid
            ? {
                rssBytes: 84_300_000,
                cpuPercent: 0.3,
                tree: [
                  { pid: found.pid, ppid: 1, name: 'npm exec', rssBytes: 41_000_000 },
                  { pid: found.pid + 11, ppid: found.pid, name: 'sh', rssBytes: 1_300_000 },
                  { pid: found.pid + 12, ppid: found.pid + 11, name: 'node', rssBytes: 42_000_000 },
                ],
              }
            : undefined,
        }
      );
    },
    call: (id) => {
      const found = calls.find((c) => c.id === id);
      if (!found) return undefined;
      const detail = { ...found, arguments: argumentsOf(found) };
      if (found.outcome === 'ok' || found.outcome === 'tool_error') detail.result = resultOf(found);
      if (found.outcome === 'ok' && found.tool === 'read_text_file')
        detail.progressLog = progressLog(scene === 'hostile' ? evil : 'Reading notes.md');
      if (found.outcome === 'protocol_error')
        detail.error = '{"code":-32602,"message":"Invalid params","data":{"path":"required"}}';
      return detail;
    },
    page(query) {
      const limit = this.pageSize ?? Number(query.get('limit') ?? 100);
      const before = query.get('before') ?? '';
      const payloads = (call) => argumentsOf(call) + resultOf(call);
      const found = matching(calls, query, undefined, payloads).filter(
        (c) => before === '' || Number(c.id) < Number(before),
      );
      const items = found.slice(0, limit);
      return { items, next: found.length > limit ? items.at(-1).id : '' };
    },
    invent: (tell) => {
      const call = put(newCall(Date.now()));
      tell(call);
      const ended = end(call);
      setTimeout(() => tell(put(ended)), Math.min(5000, ended.tookNs / 1e6));
    },
    run: (text) => {
      const wanted = JSON.parse(text);
      const call = put({ ...newCall(Date.now()), server: wanted.server, tool: wanted.tool });
      const raw = resultOf(call);
      return { success: true, output: 'see raw', data: null, error: null, raw, callId: call.id };
    },
  };
}
