// The profiles of the mock daemon.
import { parse } from 'jsonc-parser';

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
          ...(scene === 'full' && { accounts: { github: 'bot' } }),
        },
      },
      {
        name: 'all-but-writing',
        entry: { description: say(''), folders: [say('/home/ada/projects')] },
      },
    ],
    clients: [
      { token: 'cursor', profile: 'office', toolMode: '', maxResultTokens: 0, accounts: {} },
    ],
    suggested: [
      [say('/home/ada/projects/shop'), ['filesystem', 'github'], 'shop'],
      [say('/home/ada/notes'), ['filesystem'], 'notes'],
    ],
    dismissed: [],
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
  const all = tools.reduce((sum, t) => sum + tokens(t), 0);
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

/** A profile of two tools of each server, for a folder. */
function suggested(world, [folder, servers, name]) {
  const used = servers.flatMap((server) =>
    world.tools
      .filter((one) => one.server === server)
      .slice(0, 2)
      .map(({ tool }, i) => ({ server, tool, calls: 40 - i })),
  );
  const entry = { folders: [folder], servers: {} };
  for (const server of servers)
    entry.servers[server] = {
      includeTools: used.filter((one) => one.server === server).map((one) => one.tool),
    };
  const cost = (e) => described(world, { name: '', entry: e }).tokens.all;
  return {
    folder,
    profile: '',
    name,
    entry,
    tools: used,
    allTools: world.tools.length,
    calls: used.reduce((sum, one) => sum + one.calls, 0),
    first: '2026-10-01T08:00:00Z',
    last: '2026-10-30T17:00:00Z',
    tokens: cost(entry),
    saved: cost({}) - cost(entry),
  };
}

/** Returns the response to a request, or undefined. */
export function profilesRoute(world, method, [first, name], text) {
  const { items, clients } = world.profiles;
  if (first === 'profile-suggestions') {
    const { suggested: all = [], dismissed = [] } = world.profiles;
    if (method === 'PUT') {
      const body = JSON.parse(text);
      world.profiles.dismissed = dismissed.filter((one) => one !== body.folder);
      if (body.dismissed) world.profiles.dismissed.push(body.folder);
      return {};
    }
    const has = (folder) => items.some((one) => one.entry.folders?.includes(folder));
    const open = all.filter(([folder]) => !has(folder) && !dismissed.includes(folder));
    return { items: open.map((one) => suggested(world, one)), days: 30 };
  }
  if (first === 'profiles' && method === 'PUT') {
    world.profiles.items = items.filter((one) => one.name !== name);
    world.profiles.items.push({ name, entry: JSON.parse(text).entry });
    return described(world, world.profiles.items.at(-1));
  }
  if (first === 'profiles' && method === 'DELETE') {
    world.profiles.items = items.filter((one) => one.name !== name);
    return {};
  }
  if (first === 'client-views') {
    world.profiles.clients = clients.filter((one) => one.token !== name);
    world.profiles.clients.push({ token: name, ...JSON.parse(text) });
    return {};
  }
  if (first === 'profile-cost')
    return described(world, { name: 'draft', entry: JSON.parse(text).entry });
  if (first !== 'profiles' || method !== 'GET') return undefined;
  const all = [{ name: '', entry: {} }, ...items];
  return {
    items: all.map((one) => described(world, one)),
    next: '',
    clients,
    accounts: accountsOf(world.config.text, items, clients),
  };
}

/** The accounts of the servers in a configuration, and who chooses them. */
function accountsOf(text, items, clients) {
  return Object.entries(parse(text)?.mcpServers ?? {}).flatMap(([label, { accounts }]) => {
    const server = label.toLowerCase();
    return (accounts ? ['default', ...Object.keys(accounts)] : []).map((account) => ({
      server,
      account,
      profiles: items.filter((one) => one.entry.accounts?.[server] === account).map((p) => p.name),
      clients: clients.filter((one) => one.accounts[server] === account).map((one) => one.token),
    }));
  });
}
