// What the mock daemon answers about signing in to remote servers.
const underWay = new Map(); // by server
const signedIn = (server) => server.login === 'done';

/** Answers one request, or undefined. changed is told of a server's new state. */
export function signInRoute(world, method, path, changed) {
  const [first, id, third, fourth] = path;
  const server = first === 'servers' ? world.servers.find((s) => s.id === id) : undefined;
  if (!server || (third !== 'login' && third !== 'logout')) return undefined;
  if (third === 'logout') {
    Object.assign(server, {
      state: 'needs-login',
      login: 'needed',
      reason: 'you signed out',
      since: new Date().toISOString(),
    });
    changed(server);
    return {};
  }
  switch (`${method} ${fourth ?? ''}`) {
    case 'POST ':
      underWay.set(id, {
        url: 'https://login.example.com/authorize?client_id=drawbridge&scope=channels%3Aread',
        host: 'login.example.com',
        issuer: 'https://login.example.com',
        scopes: ['channels:read'],
        expiresAt: new Date(Date.now() + 600_000).toISOString(),
      });
      return underWay.get(id);
    case 'DELETE ':
      underWay.delete(id);
      return {};
    case 'POST open': // the user signs in at once
      underWay.delete(id);
      Object.assign(server, {
        state: 'running',
        login: 'done',
        reason: '',
        tools: 12,
        since: new Date().toISOString(),
      });
      changed(server);
      return {};
  }
  return {
    state: server.login ?? '',
    reason: server.reason,
    renews: true,
    ...(underWay.has(id) ? { pending: underWay.get(id) } : {}),
    ...(signedIn(server)
      ? {
          issuer: 'https://login.example.com',
          scopes: ['channels:read'],
          since: new Date(Date.now() - 3600_000).toISOString(),
        }
      : {}),
  };
}
