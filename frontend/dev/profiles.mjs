// The profiles of the mock daemon.

const tokens = (tool) => Math.ceil((tool.raw?.length || 400) / 4);
const fits = (patterns, name) =>
  (patterns ?? []).some((one) => new RegExp(`^${one.replaceAll('*', '.*')}$`).test(name));

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
    etag: JSON.stringify(entry),
    tokens: { all, search: Math.min(all, 290), deferred: Math.ceil(all / 5) + 60 },
  };
}

/** Returns the response to a request, or undefined. */
export function profilesRoute(world, method, [first], text) {
  const { items, clients } = world.profiles;
  if (first === 'profile-cost')
    return described(world, { name: 'draft', entry: JSON.parse(text).entry });
  if (first !== 'profiles' || method !== 'GET') return undefined;
  const all = [{ name: '', entry: {} }, ...items];
  return { items: all.map((one) => described(world, one)), next: '', clients };
}
