// What the mock daemon answers of profiles, and of tools that are hidden.

const tokens = (tool) => Math.ceil((tool.raw?.length || 400) / 4);
const fits = (patterns, name) =>
  (patterns ?? []).some((p) =>
    new RegExp(
      `^${p
        .replace(/[.+^${}()|[\]\\]/g, '\\$&')
        .replace(/\*/g, '.*')
        .replace(/\?/g, '.')}$`,
    ).test(name),
  );
const refused = (status, code, detail, hint = '', errors = []) => ({
  status,
  body: { status, code, detail, hint, errors },
});

export function makeProfiles(scene, evil) {
  if (scene === 'empty' || scene === 'locked') return { items: [], clients: [] };
  const say = (text) => (scene === 'hostile' ? evil : text);
  return {
    items: [
      {
        name: 'office',
        entry: {
          description: say('What the day job needs'),
          servers: {
            filesystem: { includeTools: ['read_*', 'list_directory'] },
            github: {},
            gone: {},
          },
          toolMode: 'search',
        },
      },
      {
        name: 'all-but-writing',
        entry: { description: say(''), folders: [say('/home/ada/projects')] },
      },
    ],
    clients: [{ token: 'cursor', profile: 'office', toolMode: '' }],
  };
}

const etag = (entry) =>
  JSON.stringify(entry).length.toString(16) + JSON.stringify(entry).slice(-9).replace(/\W/g, '');

function offered(world, { servers }) {
  return world.tools.filter((t) => {
    if (!servers) return true;
    const of = servers[t.server];
    if (!of || fits(of.excludeTools, t.tool)) return false;
    return !of.includeTools?.length || fits(of.includeTools, t.tool);
  });
}

function described(world, { name, entry }) {
  const tools = offered(world, entry);
  const all = tools.reduce((sum, t) => sum + tokens(t), 12);
  return {
    name,
    description: entry.description ?? '',
    address: name ? `/p/${name}/mcp` : '/mcp',
    toolMode: entry.toolMode ?? 'all',
    folders: entry.folders ?? [],
    clients: world.profiles.clients.filter((c) => name && c.profile === name).map((c) => c.token),
    servers: Object.keys(entry.servers ?? {}),
    everyServer: !entry.servers,
    tools: tools.length,
    entry,
    etag: etag(entry),
    tokens: { all, search: Math.min(all, 290), deferred: Math.ceil(all / 5) + 60 },
  };
}

/** Answers one request as {body, status}, or undefined. */
export function profilesRoute(world, method, [first, name], text, headers, send) {
  const { items, clients } = world.profiles;
  const at = items.findIndex((p) => p.name === name);
  const was = headers['if-match'];
  const told = () => send('config', { applied: true });
  if (first === 'profiles' && method === 'GET')
    return {
      body: {
        items: [{ name: '', entry: {} }, ...items].map((p) => described(world, p)),
        next: '',
        clients,
      },
    };
  if (first === 'profile-cost')
    return { body: described(world, { name: 'draft', entry: JSON.parse(text).entry }) };
  if (first === 'profiles' && method === 'PUT') {
    const { entry } = JSON.parse(text);
    const wrong = (entry.folders ?? []).findIndex((f) => !f.startsWith('/'));
    if (wrong >= 0)
      return refused(422, 'validation', 'the profile would not be valid', '', [
        { field: `folders[${wrong}]`, error: "'folders' must hold absolute paths" },
      ]);
    if (was && was !== (at < 0 ? 'new' : etag(items[at].entry)))
      return refused(
        409,
        'conflict',
        'the profile was changed in the file in the meantime',
        'Reload it and repeat the edit.',
      );
    if (at < 0) items.push({ name, entry });
    else items[at].entry = entry;
    told();
    return { body: described(world, { name, entry }) };
  }
  if (first === 'profiles' && method === 'DELETE') {
    const bound = clients.find((c) => c.profile === name);
    if (bound)
      return refused(
        409,
        'conflict',
        `the client "${bound.token}" is assigned to the profile: assign another one first`,
      );
    items.splice(at, 1);
    told();
    return { body: {} };
  }
  if (first === 'client-views') {
    const view = { token: name, ...JSON.parse(text) };
    world.profiles.clients = [...clients.filter((c) => c.token !== name), view].filter(
      (c) => c.profile || c.toolMode,
    );
    told();
    return { body: {} };
  }
  if (first === 'tools' && name === 'hide' && method === 'POST') {
    const { tools, hide } = JSON.parse(text);
    world.hidden ??= [];
    const keys = new Set(tools.map((t) => `${t.server}/${t.tool}`));
    const key = (t) => `${t.server}/${t.tool}`;
    if (hide) {
      world.hidden.push(...world.tools.filter((t) => keys.has(key(t))));
      world.tools.splice(0, world.tools.length, ...world.tools.filter((t) => !keys.has(key(t))));
    } else {
      world.tools.push(...world.hidden.filter((t) => keys.has(key(t))));
      world.hidden = world.hidden.filter((t) => !keys.has(key(t)));
    }
    send('catalog', '');
    return { body: {} };
  }
  return undefined;
}
