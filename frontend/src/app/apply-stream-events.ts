import type { QueryClient } from '@tanstack/react-query';
import { applyApproval } from '@/features/approvals/events';
import { applyCallSnapshot, applyCalls } from '@/features/calls/events';
import { applyRemoved, applyServer, replaceServers } from '@/features/servers/events';
import { applyCatalogs } from '@/features/tools/events';
import type { ServerSentEvent } from '@/lib/sse-parser';
import type { Approval, Call, ServerStatus, Snapshot } from '@/types/api';

/**
 * Applies the events of the stream to the query cache, in order. Calls are batched: a thousand of
 * them cause one rendering, not a thousand.
 */
export function applyEvents(client: QueryClient, events: ServerSentEvent[]): void {
  let calls: Call[] = [];
  const stale = new Set<'tools' | 'config' | 'status'>();
  for (const event of events) {
    const data = parse(event.data);
    if (data === undefined) continue;
    switch (event.type) {
      case 'snapshot':
        calls = [];
        applySnapshot(client, data as Snapshot);
        break;
      case 'server':
        applyServer(client, data as ServerStatus);
        break;
      case 'removed':
        applyRemoved(client, data as string);
        stale.add('tools');
        break;
      case 'call':
        calls.push(data as Call);
        break;
      case 'catalog':
        stale.add('tools').add('status'); // definitions may be withheld
        break;
      case 'approval':
        applyApproval(client, data as Approval);
        break;
      case 'config':
        stale.add('config').add('status');
        break;
      case 'health':
        stale.add('status');
        break;
    }
  }
  if (calls.length > 0) applyCalls(client, calls);
  if (stale.has('tools')) applyCatalogs(client);
  if (stale.has('config')) client.invalidateQueries({ queryKey: ['config'] });
  if (stale.has('config') || stale.has('tools')) {
    // What clients are offered, and its size; reviews of changes stay as they are.
    client.invalidateQueries({ queryKey: ['profiles'] });
    client.invalidateQueries({ queryKey: ['connections'], exact: true });
  }
  if (stale.has('status')) client.invalidateQueries({ queryKey: ['status'] });
}

function applySnapshot(client: QueryClient, snapshot: Snapshot): void {
  client.cancelQueries({ queryKey: ['status'] });
  client.setQueryData(['status'], snapshot.status);
  replaceServers(client, snapshot.status.servers ?? []);
  applyCallSnapshot(client, snapshot.calls ?? []);
  for (const key of ['tools', 'clients', 'connections', 'config', 'approvals']) {
    client.invalidateQueries({ queryKey: [key] });
  }
}

/** An event that is not valid JSON is ignored: the next event or snapshot corrects the state. */
function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}
