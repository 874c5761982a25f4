// What the mock daemon answers of the directory, of sharing and of copies of the configuration.

const ago = (ms) => new Date(Date.now() - ms).toISOString();
const refused = (status, code, detail, hint = '') => ({
  status,
  body: { status, code, detail, hint },
});
const field = (key, label, more = {}) => ({ key, label, required: false, secret: false, ...more });

export function makeDirectory(scene, evil) {
  const hostile = scene === 'hostile';
  const say = (text) => (hostile ? evil : text);
  const item = (name, title, description, more) => ({
    name,
    title: say(title),
    description: say(description),
    version: say('2026.8.31'),
    website: '',
    repository: say(`https://github.com/example/${title.toLowerCase().replace(/ /g, '-')}`),
    curated: true,
    refused: '',
    label: title.toLowerCase().replace(/ /g, '-'),
    options: [],
    installed: [],
    ...more,
  });
  const npx = (title, fields = []) => ({
    title: say(title),
    launcher: 'npx',
    pinned: true,
    command: [
      'npx',
      '-y',
      say(title),
      ...fields.filter((f) => f.required && !f.secret).map((f) => `<${f.label}>`),
    ],
    fields,
  });
  const items = [
    item(
      'io.github.modelcontextprotocol/server-filesystem',
      'Filesystem',
      'Reads and writes files in the folders that you name.',
      {
        installed: scene === 'empty' ? [] : ['filesystem'],
        options: [
          npx('@modelcontextprotocol/server-filesystem@2026.8.31', [
            field('arg.0', say('folder'), {
              required: true,
              multiple: true,
              format: 'filepath',
              description: say('A folder that it may use'),
            }),
          ]),
        ],
      },
    ),
    item(
      'io.github.brave/brave-search-mcp-server',
      'Brave Search',
      'Searches the web, images, videos and news with Brave.',
      {
        options: [
          npx('@brave/brave-search-mcp-server@2.1.4', [
            field('env.BRAVE_API_KEY', say('BRAVE_API_KEY'), {
              required: true,
              secret: true,
              description: say('Your key'),
            }),
            field('arg.1', say('--browser'), { choices: ['chrome', 'firefox'], default: 'chrome' }),
            field('arg.2', say('--headless'), { format: 'boolean' }),
            field('arg.3', say('--results'), { format: 'number', placeholder: '20' }),
          ]),
        ],
      },
    ),
    item(
      'io.github.github/github-mcp-server',
      'GitHub',
      'Repositories, issues, pull requests and workflows.',
      {
        version: '',
        options: [
          {
            title: 'ghcr.io/github/github-mcp-server',
            launcher: 'docker',
            pinned: false,
            command: ['docker', 'run', '-i', '--rm', 'ghcr.io/github/github-mcp-server'],
            fields: [
              field('env.TOKEN', 'GITHUB_PERSONAL_ACCESS_TOKEN', { required: true, secret: true }),
            ],
          },
          {
            title: 'https://api.githubcopilot.com/mcp/',
            pinned: true,
            command: [],
            fields: [
              field('header.Authorization.token', 'token', { required: true, secret: true }),
            ],
          },
        ],
      },
    ),
    item('com.linear/mcp', 'Linear', 'Issues, projects and comments in Linear.', {
      version: '',
      repository: '',
      options: [{ title: 'https://mcp.linear.app/mcp', pinned: true, command: [], fields: [] }],
    }),
    item('io.github.mallory/evil', '', '', {
      title: '',
      curated: false,
      label: '',
      repository: '',
      version: '',
      refused: say('the option "--call evil" of npx is not allowed in an installation'),
    }),
  ];
  return {
    items,
    refreshedAt: scene === 'full' ? ago(3 * 86_400_000) : '0001-01-01T00:00:00Z',
    failing: scene === 'trouble',
    uploads: new Map(),
    copies:
      scene === 'empty'
        ? []
        : [1, 26, 200].map((hours) => ({
            name: `config-20261122-07${String(hours % 60).padStart(2, '0')}00.000.jsonc`,
            at: ago(hours * 3_600_000),
            bytes: 812 + hours,
            current: hours === 1,
            text: `{\n  "mcpServers": {\n    "old-${hours}": { "command": "npx" }\n  }\n}\n`,
          })),
  };
}

/** Answers one request as {body, status}, or undefined. start adds a server that begins to run. */
export async function directoryRoute(
  world,
  method,
  [first, second, third, fourth],
  query,
  text,
  start,
) {
  const d = world.directory;
  if (first === 'share') return shareRoute(world, method, second, text, start);
  if (first === 'config' && second === 'backups')
    return copiesRoute(world, method, third, fourth, text);
  if (first !== 'directory') return undefined;
  const page = () => {
    const words = (query.get('search') ?? '').toLowerCase().split(/\s+/).filter(Boolean);
    const [kind, only] = [query.get('kind'), query.get('only')];
    const items = d.items.filter(
      (one) =>
        words.every((word) =>
          `${one.name} ${one.title} ${one.description}`.toLowerCase().includes(word),
        ) &&
        (!kind || one.options.some((way) => (way.launcher ?? 'address') === kind)) &&
        (only !== 'curated' || one.curated) &&
        (only !== 'installed' || one.installed.length > 0) &&
        (only !== 'installable' || one.refused === ''),
    );
    return {
      body: {
        items,
        next: '',
        total: items.length,
        refreshedAt: d.refreshedAt,
        address: 'https://registry.example',
      },
    };
  };
  if (method === 'GET') return page();
  if (second === 'refresh') {
    await world.held;
    if (d.failing)
      return refused(
        503,
        'unavailable',
        'cannot reach the registry: connection refused',
        'Try again later. The current list is kept.',
      );
    d.refreshedAt = ago(0);
    return page();
  }
  const body = text ? JSON.parse(text) : {};
  if (second === 'uploads') {
    if (method === 'POST') {
      d.uploads.set('UP', { size: body.size, got: '' });
      return { body: { id: 'UP', received: 0 } };
    }
    const up = d.uploads.get(third);
    if (method === 'DELETE') d.uploads.delete(third);
    if (method === 'DELETE') return { body: {} };
    await world.held;
    if (!up)
      return refused(404, 'not_found', 'the uploaded bundle has expired', 'Choose the file again.');
    up.got += Buffer.from(body.part, 'base64').toString('latin1');
    return { body: { id: third, received: up.got.length } };
  }
  const plan = planned(world, body);
  if (plan.status || second === 'plan') return plan.status ? plan : { body: plan };
  if (body.entry !== plan.entry)
    return refused(409, 'conflict', 'the entry to write differs from the entry that was shown');
  await world.held;
  const from = d.items.find((one) => one.name === body.name);
  if (from) from.installed = [plan.id];
  start(plan.id, plan.label.includes('broken'));
  d.uploads.delete(body.upload);
  d.installed = body;
  return { body: { ...plan, done: true } };
}

const bundleFields = (say) => [
  field('dir', say('Folder of your notes'), {
    required: true,
    format: 'directory',
    description: say('It reads and writes here.'),
  }),
  field('token', say('Token'), { secret: true }),
];

function planned(world, { name, way = 0, upload, label, values = {} }) {
  const say = world.say;
  let fields;
  let words;
  let about;
  if (upload) {
    const up = world.directory.uploads.get(upload);
    if (!up)
      return refused(404, 'not_found', 'the uploaded bundle has expired', 'Choose the file again.');
    if (!up.got.startsWith('PK'))
      return refused(
        400,
        'validation',
        'the bundle is not a zip archive: zip: not a valid zip file',
      );
    if (up.got.includes('../'))
      return refused(
        400,
        'validation',
        'the bundle contains "../../evil", which is a path outside of it',
      );
    fields = bundleFields(say);
    const folder = '/home/ada/.config/drawbridge/bundles/notes-1a2b3c';
    words = ['node', `${folder}/server/index.js`];
    about = {
      name: 'notes',
      title: say('Notes'),
      version: '1.4.0',
      description: say('Your notes as tools.'),
      author: say('Ada'),
      type: 'node',
      command: [...words, '<Folder of your notes>'],
      variables: ['TOKEN'],
      files: 14,
      bytes: 182_000,
      sha256: '1a2b3c4d5e6f',
      folder,
      unpacked: false,
    };
  } else {
    const chosen = world.directory.items.find((one) => one.name === name)?.options[way];
    if (!chosen) return refused(404, 'not_found', 'the directory has no such server');
    fields = chosen.fields;
    words = chosen.launcher ? chosen.command.filter((word) => !word.startsWith('<')) : [];
    if (!chosen.launcher) about = undefined;
  }
  const called = label || about?.name || 'server';
  const lacking = fields.filter((f) => f.required && !values[f.key] && !f.default);
  const base = {
    label: called,
    entry: '',
    command: [],
    secrets: [],
    fields: upload ? fields : [],
    missing: [],
    done: false,
    id: called.toLowerCase(),
    ...(about ? { bundle: about } : {}),
  };
  if (lacking.length > 0) return { ...base, missing: [lacking[0].key] };
  for (const f of fields)
    if (f.format === 'number' && values[f.key] && !/^\d+$/.test(values[f.key]))
      return refused(400, 'validation', `${f.key} must be a number`);
  const plain = fields
    .filter((f) => !f.secret && values[f.key])
    .flatMap((f) => values[f.key].split('\n'));
  const command = words.length > 0 ? [...words, ...plain] : [];
  const secrets = fields
    .filter((f) => f.secret && values[f.key])
    .map((f) => `${called.toUpperCase()}_${f.label}`);
  const entry =
    command.length > 0
      ? { command: command[0], args: command.slice(1) }
      : { type: 'http', url: 'https://mcp.linear.app/mcp' };
  return { ...base, command, secrets, entry: JSON.stringify(entry, null, 2) };
}

async function shareRoute(world, method, second, text, start) {
  const say = world.say;
  if (method === 'GET')
    return {
      body: {
        drawbridge: '0.1.0',
        mcpServers: world.empty
          ? {}
          : {
              filesystem: {
                command: 'npx',
                args: ['-y', say('@modelcontextprotocol/server-filesystem'), '/home/ada/projects'],
              },
              github: {
                command: 'npx',
                env: { GITHUB_TOKEN: '${secret:GITHUB_TOKEN}' },
                requestTimeoutMs: 30000,
              },
            },
        profiles: world.empty ? {} : { office: { servers: { filesystem: {} } } },
        missingSecrets: world.empty ? [] : [say('GITHUB_TOKEN')],
      },
    };
  await world.held;
  const { text: file, diff, storedSecrets = [], secrets = {} } = JSON.parse(text);
  let read;
  try {
    read = JSON.parse(file);
  } catch {
    return refused(400, 'validation', 'cannot read the file: unexpected end of JSON input');
  }
  if (!read.mcpServers)
    return refused(400, 'validation', 'the file contains neither servers nor profiles');
  const servers = Object.entries(read.mcpServers).map(([label, entry]) => ({
    label: say(label),
    state: world.servers.some((s) => s.id === label)
      ? 'exists'
      : entry.command || entry.url
        ? 'new'
        : 'rejected',
    reason: entry.command || entry.url ? '' : say('it has neither a command nor an address'),
    command: entry.command ? [entry.command, ...(entry.args ?? [])].map(say) : [],
    url: say(entry.url ?? ''),
    secrets: [...JSON.stringify(entry).matchAll(/\$\{secret:([^}]+)\}/g)].map((m) => say(m[1])),
    variables: [],
  }));
  const news = servers.filter((s) => s.state === 'new');
  const asked = news.flatMap((s) => s.secrets);
  const plan = {
    servers,
    profiles: Object.keys(read.profiles ?? {}).map((name) => ({
      name: say(name),
      state: 'new',
      reason: '',
    })),
    diff: news.length
      ? `@@ -1,4 +1,7 @@\n   "mcpServers": {\n${news.map((s) => `+    "${s.label}": {…}`).join('\n')}\n`
      : '',
    missingSecrets: asked.filter((name) => name !== 'GITHUB_TOKEN'),
    storedSecrets: asked.filter((name) => name === 'GITHUB_TOKEN'),
    done: false,
    newSecrets: [],
    backup: '',
    etag: '',
  };
  if (second === 'plan') return { body: plan };
  if (diff !== plan.diff || storedSecrets.join() !== plan.storedSecrets.join())
    return refused(
      409,
      'conflict',
      'the configuration has changed since the preview',
      'Nothing was written. Review it again.',
    );
  const stored = Object.keys(secrets).filter((name) => secrets[name]);
  world.taken = { names: news.map((s) => s.label), secrets };
  for (const one of news) start(one.label, false);
  const copy = {
    name: 'config-20261122-080000.000.jsonc',
    at: ago(0),
    bytes: 900,
    current: false,
    text: '{}',
  };
  world.directory.copies.unshift(copy);
  return {
    body: {
      ...plan,
      done: true,
      newSecrets: stored,
      missingSecrets: plan.missingSecrets.filter((n) => !stored.includes(n)),
      backup: copy.name,
      etag: world.config.etag,
    },
  };
}

function copiesRoute(world, method, name, action, text) {
  const { copies } = world.directory;
  if (!name && method === 'GET')
    return { body: { items: copies.map(({ text: _, ...copy }) => copy), next: '' } };
  if (!name) {
    const copy = {
      name: `config-20261122-08${String(copies.length).padStart(2, '0')}00.000.jsonc`,
      at: ago(0),
      bytes: 700,
      current: true,
      text: world.config.text,
    };
    copies.unshift(copy);
    return { body: copy };
  }
  const copy = copies.find((one) => one.name === name);
  if (!copy) return refused(404, 'not_found', 'there is no such backup of the configuration');
  if (action === 'restore') {
    if (JSON.parse(text).etag !== world.config.etag)
      return refused(
        409,
        'conflict',
        'the configuration has changed since the preview',
        'Nothing was written. Review it again.',
      );
    world.restored = name;
    return { body: { backup: copies[0].name, etag: world.config.etag } };
  }
  return {
    body: {
      name,
      text: world.say(copy.text),
      diff: copy.current
        ? ''
        : world.say('@@ -1,5 +1,5 @@\n {\n-  "filesystem": {}\n+  "old": {}\n }\n'),
      etag: world.config.etag,
      problems: [],
    },
  };
}
