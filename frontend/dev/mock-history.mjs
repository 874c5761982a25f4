// Responses of the mock daemon about its history: counts, usage, sessions, notes.

const failed = new Set(['tool_error', 'protocol_error', 'timeout', 'rejected']);

export function matching(calls, query, skip, payloads) {
  const wants = (name) => name !== skip && query.get(name);
  const from = Date.parse(query.get('from') ?? '') || 0;
  const to = Date.parse(query.get('to') ?? '') || Number.POSITIVE_INFINITY;
  const q = query.get('q');
  return calls.filter((call) => {
    const at = Date.parse(call.at);
    return (
      at >= from &&
      at < to &&
      ['server', 'client', 'tool', 'outcome', 'session', 'workspace', 'account'].every(
        (name) => !wants(name) || call[name] === query.get(name),
      ) &&
      (!query.get('version') || call.servedBy?.version === query.get('version')) &&
      (!query.get('tag') || call.note?.tags.includes(query.get('tag'))) &&
      (!query.get('minTookNs') || call.tookNs >= Number(query.get('minTookNs'))) &&
      (!q ||
        JSON.stringify(call).includes(q) ||
        payloads?.(call).toLowerCase().includes(q.toLowerCase()))
    );
  });
}

export function facets(calls, query) {
  const tally = (name) => {
    const counts = new Map();
    for (const call of matching(calls, query, name)) {
      if (call.outcome === '') continue;
      const key = name === 'tool' ? `${call.server}\n${call.tool}` : call[name];
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return [...counts]
      .sort((a, b) => b[1] - a[1])
      .slice(0, 200)
      .map(([key, n]) => {
        const [server, tool] = String(key).split('\n');
        return name === 'tool' ? { value: tool, server, calls: n } : { value: key, calls: n };
      });
  };
  return {
    total: matching(calls, query).length,
    servers: tally('server'),
    tools: tally('tool'),
    clients: tally('client'),
    outcomes: tally('outcome'),
    ...(query.get('q') ? { newest: 10_000 } : {}),
  };
}

function use(calls, more) {
  const took = calls.map((call) => call.tookNs).sort((a, b) => a - b);
  const at = (p) => took[Math.min(took.length - 1, Math.floor(took.length * p))] ?? 0;
  return {
    ...more,
    calls: calls.length,
    errors: calls.filter((call) => failed.has(call.outcome)).length,
    p50Ns: at(0.5),
    p95Ns: at(0.95),
    p99Ns: at(0.99),
    meanNs: at(0.5),
    resultBytes: calls.length * 4800,
    resultTokens: calls.length * 1200,
    repeatedBytes: calls.length * 1900,
    blankBytes: calls.length * 310,
    lastUsed: calls[0]?.at,
  };
}

export function usage(calls, query) {
  const to = Date.now();
  const from = Date.parse(query.get('from') ?? '') || to - 86_400_000;
  const range = new URLSearchParams(query);
  range.set('from', new Date(from).toISOString());
  const found = matching(calls, range).filter((call) => call.outcome !== '');
  const hours = (to - from) / 3_600_000;
  const stepMs = hours <= 3 ? 60_000 : hours <= 96 ? 3_600_000 : 86_400_000;
  const by = (key, more) => {
    const groups = new Map();
    for (const call of found) {
      const name = key(call);
      const group = groups.get(name);
      if (group) group.push(call);
      else groups.set(name, [call]);
    }
    return [...groups.values()]
      .map((group) => use(group, more(group[0])))
      .sort((a, b) => b.calls - a.calls);
  };
  const slot = (call) => Math.floor(Date.parse(call.at) / stepMs) * stepMs;
  return {
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    total: use(found, {}),
    servers: by(
      (c) => c.server,
      (c) => ({ server: c.server }),
    ),
    tools: by(
      (c) => `${c.server}/${c.tool}`,
      (c) => ({ server: c.server, tool: c.tool }),
    ),
    clients: by(
      (c) => c.client,
      (c) => ({ client: c.client, token: c.token }),
    ),
    series: by(slot, (c) => ({ at: new Date(slot(c)).toISOString() })).sort((a, b) =>
      a.at < b.at ? -1 : 1,
    ),
    seriesNs: stepMs * 1e6,
    versions: found
      .filter((c) => c.servedBy?.version === '2026.7.4')
      .slice(-1)
      .map((c) => ({ at: c.at, server: c.server, ...c.servedBy })),
  };
}

export function sessions(calls) {
  const found = new Map();
  for (const call of calls) {
    const known = found.get(call.session);
    if (known) {
      known.first = call.at;
      known.calls++;
      known.errors += failed.has(call.outcome) ? 1 : 0;
      if (!known.servers.includes(call.server)) known.servers.push(call.server);
    } else {
      found.set(call.session, {
        session: call.session,
        client: call.client,
        clientVersion: call.clientVersion,
        token: call.token,
        workspace: call.workspace,
        first: call.at,
        last: call.at,
        calls: 1,
        errors: failed.has(call.outcome) ? 1 : 0,
        servers: [call.server],
      });
    }
  }
  return [...found.values()].sort((a, b) => b.first.localeCompare(a.first));
}

/** What limits would delete; the newest call is always kept. */
function retentionPreview({ calls }, { keepDays, maxBytes }) {
  const old = calls.filter(
    (c) => keepDays > 0 && Date.parse(c.at) < Date.now() - keepDays * 86_400_000,
  );
  const about = maxBytes > 0 && maxBytes < 4_000_000;
  const gone = about ? calls.slice(1) : old;
  return {
    calls: gone.length,
    total: calls.length,
    estimated: about,
    ...(gone.length > 0 ? { from: gone.at(-1).at, to: gone[0].at } : {}),
  };
}

/** What is deleted because the edited configuration keeps less than the saved one. */
function keepingLess(world, { text }) {
  const bounds = (of) => ({
    keepDays: Number(/"keepDays":\s*(\d+)/.exec(of)?.[1] ?? 30),
    maxBytes: Number(/"maxBytes":\s*(\d+)/.exec(of)?.[1] ?? 1 << 30),
  });
  const [now, next] = [bounds(world.config.text), bounds(text)];
  const less = (key) => next[key] > 0 && (now[key] === 0 || next[key] < now[key]);
  if (less('keepDays') || less('maxBytes')) return retentionPreview(world, next);
  return { calls: 0, total: 0, estimated: false };
}

/** The arguments on one line, and an excerpt of the result around the search. */
function previews(world, query) {
  const q = query.get('q') ?? '';
  return query
    .get('ids')
    .split(',')
    .flatMap((id) => {
      const call = world.call(id);
      if (!call) return [];
      // Numbers become marked texts, so that they are kept as they are written.
      const marked = call.arguments.replace(
        /("(?:[^"\\]|\\.)*")|-?\d[\d.eE+-]*/g,
        (number, text) => text ?? `"⟦${number}⟧"`,
      );
      const line = Object.entries(JSON.parse(marked))
        .map(
          ([name, value]) =>
            `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
        )
        .join(', ')
        .replace(/"?⟦|⟧"?/g, '')
        .replace(/\s+/g, ' ');
      const at = q === '' ? -1 : (call.result ?? '').toLowerCase().indexOf(q.toLowerCase());
      const match = call.result?.slice(Math.max(0, at - 60), at + 140);
      return {
        id,
        arguments: line.slice(0, 200),
        ...(at >= 0 && !line.includes(q) ? { match, matchIn: 'reply' } : {}),
      };
    });
}

/** Responses of the history routes; undefined for all others. */
export function historyRoute(world, method, path, query, body) {
  switch (`${method} ${path[0]}`) {
    case 'GET facets':
      return facets(world.calls, query);
    case 'GET previews':
      return { items: previews(world, query), next: '' };
    case 'GET usage':
      return usage(world.calls, query);
    case 'GET sessions':
      return { items: sessions(world.calls), next: '' };
    case 'POST config':
      return path[1] === 'retention-preview' ? keepingLess(world, JSON.parse(body)) : undefined;
    case 'GET history':
      return world.history;
    case 'PUT history':
      if (path[1] !== 'recording') return undefined;
      world.history.recording = JSON.parse(body);
      return world.history;
    case 'POST history':
      return path[1] === 'retention-preview'
        ? retentionPreview(world, JSON.parse(body))
        : undefined;
  }
  return undefined;
}
