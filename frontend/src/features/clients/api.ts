import { keepPreviousData, queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { withoutPrototypes } from '@/lib/own-property';
import { request, requestList } from '@/lib/request';
import type {
  Client,
  ClientFeatures,
  CompletedImport,
  Connection,
  ConnectionPlan,
  ImportableServer,
  ImportPlan,
  List,
  ManualEntry,
  ManualSetup,
  Source,
  TakeoverPlan,
  TakeoverResult,
  TakeoverUndone,
  TokenChange,
  UndoPlan,
} from '@/types/api';

export const connectionStates = withoutPrototypes({
  notConnected: 'Not set up',
  connected: 'Connected',
  vanished: 'Entry missing',
  changed: 'Entry changed',
  unreadable: 'Configuration unreadable',
} as const);

/** There are no events for clients, so the list is polled while it is shown. */
export const clientsQuery = queryOptions({
  queryKey: ['clients'],
  queryFn: ({ signal }) => requestList<Client>('/api/v1/clients', signal),
  select: withoutOwn,
  refetchInterval: 5000,
});

const own = ['drawbridge-ui', 'drawbridge-cli'];

/** Removes the page itself, its apps and the command line: they are not clients of the user. */
function withoutOwn(clients: Client[]): Client[] {
  return clients.filter(({ name }) => !own.includes(name));
}

/** The client applications on this machine; polled while the page is open. */
export const connectionsQuery = queryOptions({
  queryKey: ['connections'],
  queryFn: ({ signal }) => requestList<Connection>('/api/v1/connections', signal),
  refetchInterval: 5000,
});

/** Other gateways and plugins on this machine. */
export const sourcesQuery = queryOptions({
  queryKey: ['connections', 'sources'],
  queryFn: ({ signal }) => requestList<Source>('/api/v1/sources', signal),
});

export interface Choice {
  http: boolean;
  move: boolean;
  /** With move: only these servers; undefined means all. */
  servers?: string[];
  /** With move: one entry for all servers, instead of one for each. */
  singleEntry?: boolean;
}

const path = (key: string, action: string) =>
  `/api/v1/connections/${encodeURIComponent(key)}/${action}`;

/** A dry run: the changes that connecting would write. */
export const planQuery = (connection: Connection, choice: Choice) =>
  queryOptions({
    queryKey: ['connections', connection.key, 'plan', choice],
    queryFn: ({ signal }) =>
      request<ConnectionPlan>('POST', path(connection.key, 'plan'), {
        signal,
        body: { ...choice, ...(connection.project ? { project: connection.project } : {}) },
      }),
    staleTime: 0,
    gcTime: 0,
  });

/** The files outside the home folder that plans would change; each must be confirmed. */
export const outsideHome = (...plans: { outside: string }[]) =>
  plans.flatMap(({ outside }) => outside || []);

/** Writes the displayed diff; the daemon rejects the request if the diff would be different. */
/** onDone is called even if the form is already unmounted, which happens once it is connected. */
export function useConnect(connection: Connection, onDone: (done: ConnectionPlan) => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ choice, plan }: { choice: Choice; plan: ConnectionPlan }) =>
      request<ConnectionPlan>('POST', path(connection.key, 'connect'), {
        body: {
          ...choice,
          diff: plan.diff,
          outside: outsideHome(plan),
          ...(connection.project ? { project: connection.project } : {}),
        },
      }),
    onSuccess: onDone,
    onSettled: () => client.invalidateQueries({ queryKey: ['connections'] }),
  });
}

/** What disconnecting would change; the files may have changed since the dialog was last open. */
export const undoPlanQuery = (key: string) =>
  queryOptions({
    queryKey: ['connections', key, 'undo'],
    queryFn: ({ signal }) => request<UndoPlan>('GET', path(key, 'undo'), { signal }),
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });

/** `keep` is to disconnect and to keep the servers that were moved. */
export type ConnectionAction = 'undo' | 'keep' | 'restore' | 'forget';

export function useConnectionAction(connection: Connection) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (action: ConnectionAction) =>
      request<{ result: string }>(
        'POST',
        path(connection.key, action === 'keep' ? 'undo' : action),
        action === 'keep' ? { body: { keep: true } } : {},
      ),
    onSettled: () => client.invalidateQueries({ queryKey: ['connections'] }),
  });
}

/** The servers of a client, and the result of importing each. */
export const importableQuery = (key: string) =>
  queryOptions({
    queryKey: ['connections', key, 'servers'],
    queryFn: ({ signal }) => requestList<ImportableServer>(path(key, 'servers'), signal),
    staleTime: 5000,
  });

/** The MCP features that work end to end between each known client and each server. */
export const featuresQuery = queryOptions({
  queryKey: ['features'],
  queryFn: ({ signal }) => requestList<ClientFeatures>('/api/v1/features', signal),
  refetchInterval: 15_000,
  retry: false,
});

/** A dry run: the changes that importing would write to our configuration. */
export const importPlanQuery = (key: string, servers: string[] | undefined) =>
  queryOptions({
    queryKey: ['connections', key, 'import', servers],
    queryFn: ({ signal }) =>
      request<ImportPlan>('POST', path(key, 'import/plan'), {
        signal,
        body: servers ? { servers } : {},
      }),
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });

/** Writes the displayed diff. */
export function useImport(key: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ servers, diff }: { servers: string[] | undefined; diff: string }) =>
      request<ImportPlan>('POST', path(key, 'import'), {
        body: { ...(servers ? { servers } : {}), diff },
      }),
    onSettled: () => {
      client.invalidateQueries({ queryKey: ['imports'] });
      client.invalidateQueries({ queryKey: ['connections'] }); // after a refusal, what is reviewed again
    },
  });
}

export const handoutQuery = (key: string, http: boolean) =>
  queryOptions({
    queryKey: ['connections', key, 'snippet', http],
    queryFn: ({ signal }) =>
      request<ManualSetup>('GET', `${path(key, 'snippet')}${http ? '?http=true' : ''}`, { signal }),
    retry: false,
  });

/** The entry for a client that is not in the list. */
export const manualEntryQuery = queryOptions({
  queryKey: ['manual-entry'],
  queryFn: ({ signal }) => request<ManualEntry>('GET', '/api/v1/manual-entry', { signal }),
  staleTime: Number.POSITIVE_INFINITY,
});

export const bundleUrl = (key: string) => path(key, 'bundle');

export const takenImportsQuery = queryOptions({
  queryKey: ['imports'],
  queryFn: ({ signal }) => requestList<CompletedImport>('/api/v1/imports', signal),
  retry: false,
});

export function useUndoImport() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) =>
      request<{ result: string }>('POST', `/api/v1/imports/${encodeURIComponent(id)}/undo`),
    onSettled: () => {
      client.invalidateQueries({ queryKey: ['imports'] });
      client.invalidateQueries({ queryKey: ['connections'] });
    },
  });
}

/** A dry run: the changes that taking over the servers of all clients, except some, would write. */
export const takeoverQuery = (except: string[] = []) =>
  queryOptions({
    queryKey: ['connections', 'takeover', except],
    queryFn: ({ signal }) =>
      request<TakeoverPlan>(
        'GET',
        `/api/v1/takeover${except.length > 0 ? `?${new URLSearchParams({ except: except.join() })}` : ''}`,
        { signal },
      ),
    retry: false,
    placeholderData: keepPreviousData,
  });

const takenOver = ['taken-over'];

/** How long a move can be undone with one click; each client can be disconnected later, too. */
const undoMs = 30 * 86_400_000;
const movedKey = 'drawbridge.moved';

function keepMoved(moved: TakeoverResult[]): TakeoverResult[] {
  if (moved.length === 0) localStorage.removeItem(movedKey);
  else localStorage.setItem(movedKey, JSON.stringify({ at: Date.now(), moved }));
  return moved;
}

function readMoved(): TakeoverResult[] {
  try {
    const { at, moved } = JSON.parse(localStorage.getItem(movedKey) ?? '') as {
      at: number;
      moved: TakeoverResult[];
    };
    return Date.now() - at < undoMs ? moved.filter(({ key, name }) => key && name) : [];
  } catch {
    return [];
  }
}

/** The result for each client; kept in this browser, so that it can be undone later. */
export const takenOverQuery = queryOptions({
  queryKey: takenOver,
  queryFn: readMoved,
  staleTime: Number.POSITIVE_INFINITY,
  gcTime: Number.POSITIVE_INFINITY,
});

/** Writes the displayed plan; each client has its own result. */
export function useTakeOver() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async ({
      plan: { plan, clients },
      except,
    }: {
      plan: TakeoverPlan;
      except: string[];
    }) => {
      const { items } = await request<List<TakeoverResult>>('POST', '/api/v1/takeover', {
        body: { plan, except, outside: outsideHome(...(clients ?? [])) },
      });
      return items ?? [];
    },
    onSuccess: (results) => {
      const now = new Set(results.map((one) => one.key));
      client.setQueryData(takenOver, (old: TakeoverResult[] | undefined) =>
        keepMoved([...(old ?? []).filter((one) => !now.has(one.key)), ...results]),
      );
    },
    onSettled: () => client.invalidateQueries({ queryKey: ['connections'] }),
  });
}

/**
 * Undoes the takeover of these clients; those that failed stay in the list. onDone is called even
 * if the list is already unmounted.
 */
export function useUndoTakeover(onDone: (failed: TakeoverUndone[]) => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async (keys: string[]) =>
      (await request<List<TakeoverUndone>>('POST', '/api/v1/takeover/undo', { body: { keys } }))
        .items ?? [],
    onSuccess: (undone) => {
      const failed = undone.filter((one) => one.error !== '');
      client.setQueryData(takenOver, (old: TakeoverResult[] | undefined) =>
        keepMoved((old ?? []).filter((one) => failed.some((other) => other.key === one.key))),
      );
      onDone(failed);
    },
    onSettled: () => client.invalidateQueries({ queryKey: ['connections'] }),
  });
}

export const tokensQuery = queryOptions({
  queryKey: ['clients'],
  queryFn: ({ signal }) => requestList<Client>('/api/v1/clients', signal),
});

export function useNewToken() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (name: string) =>
      request<TokenChange>('POST', `/api/v1/tokens/${encodeURIComponent(name)}/create`),
    onSettled: () => client.invalidateQueries({ queryKey: ['clients'] }),
  });
}

/** Rotates or revokes a token; `dryRun` only returns what would be written. */
export function useTokenChange(name: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ action, dryRun }: { action: 'rotate' | 'revoke'; dryRun: boolean }) =>
      request<TokenChange>('POST', `/api/v1/tokens/${encodeURIComponent(name)}/${action}`, {
        body: { dryRun },
      }),
    onSettled: () => {
      client.invalidateQueries({ queryKey: ['clients'] });
      client.invalidateQueries({ queryKey: ['connections'] });
    },
  });
}
