// Responses of the mock daemon about the observed behavior of servers.

const ago = (ms) => new Date(Date.now() - ms).toISOString();

/** Destinations of a server. */
export function destinationsOf(server, say) {
  const one = (host, port, address, first, last, protocol = 'tcp') => ({
    server: server.id,
    protocol,
    host: say(host),
    port,
    address,
    firstAt: ago(first),
    lastAt: ago(last),
  });
  if (server.transport !== 'stdio')
    return {
      available: false,
      reason: say('The server is remote: only Drawbridge itself connects to it.'),
      items: [],
    };
  return {
    available: true,
    reason: '',
    items: server.pid
      ? [
          one('203.0.113.77', 8443, '203.0.113.77', 3_600_000, 40_000),
          one('api.example.com', 443, '192.0.2.10', 86_400_000 * 12, 4000),
          one('registry.npmjs.org', 443, '198.51.100.4', 86_400_000 * 30, 86_400_000),
          one('192.0.2.53', 53, '192.0.2.53', 86_400_000 * 30, 9000, 'udp'),
        ]
      : [],
  };
}

/** What changed in the last days. */
export function recentChanges(say) {
  const one = (hours, server, kind, action, name, detail = '') => ({
    at: ago(hours * 3_600_000),
    server,
    kind,
    action,
    name: say(name),
    detail: say(detail),
  });
  return [
    one(1, 'filesystem', 'destination', 'new', '203.0.113.77:8443'),
    one(5, 'memory', 'version', 'changed', '', 'now runs memory-server 0.7.0'),
    one(5, 'memory', 'tool', 'new', 'forget'),
    one(6, 'memory', 'definition', 'changed', 'remember'),
    one(20, 'github', 'definition', 'accepted', 'create_issue'),
    one(50, 'everything', 'server', 'new', '', 'first seen, with 12 tools'),
    one(60, 'everything', 'destination', 'new', 'registry.npmjs.org:443'),
    one(
      70,
      'filesystem',
      'command',
      'changed',
      '',
      'its command, container, URL or environment variables have changed',
    ),
  ];
}

/** The sandbox of a server; changed is what POST has changed of it. */
export function sandboxOf(server, say, changed) {
  const stdio = server.transport === 'stdio';
  const can = (name, enforced, requires) => ({ name, enforced, requires: say(requires) });
  return {
    server: server.id,
    mode: server.id === 'memory' ? 'on' : 'off',
    applies: stdio,
    reason: stdio ? '' : 'A sandbox confines stdio servers only.',
    enough: stdio,
    protections: [
      can('Reading, writing and running files', true, 'Linux 5.13 with Landlock'),
      can('TCP connections to individual ports', true, 'Linux 6.7'),
      can(
        'Connections to individual hosts',
        false,
        'not possible: the kernel filters by port only',
      ),
    ],
    read: [],
    write: [],
    network: 'any',
    ports: [],
    unixSockets: 'any',
    bestEffort: false,
    ...(server.id === 'memory' && {
      access: {
        write: ['/tmp', '/var/tmp', '~/.cache/uv', '~/.npm', '~/notes'].map(say),
        unreadable: ['/run/user', '~/.config/gh', '~/.local/share/drawbridge', '~/.ssh'].map(say),
      },
    }),
    refusedMore: server.id === 'memory' ? 3 : 0,
    refused:
      server.id === 'memory'
        ? [
            {
              path: say('/srv/notes/today.md'),
              unreadable: false,
              allow: say('/srv/notes'),
            },
            {
              path: say('/home/ada/later/a.db'),
              unreadable: true,
              allow: say('/home/ada/later/a.db'),
            },
            {
              path: say('/home/ada/.config/gh/hosts.yml'),
              unreadable: true,
              allow: '',
              remark: 'is private or contains private files',
            },
          ]
        : [],
    ...changed,
  };
}

/** What a request to change the sandbox changes of its status. */
export function changedSandbox(status, { mode, path }) {
  if (mode === 'read' || mode === 'write') {
    return {
      [mode]: [...status[mode], path],
      refused: status.refused.filter((one) => one.allow !== path),
    };
  }
  return { mode };
}
