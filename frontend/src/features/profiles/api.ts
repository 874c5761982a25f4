import {
  keepPreviousData,
  queryOptions,
  useMutation,
  useMutationState,
  useQueryClient,
} from '@tanstack/react-query';
import { profilesQuery } from '@/lib/profiles-query';
import { request, requestList, requestText } from '@/lib/request';
import { toastError } from '@/lib/toast';
import type { ClientCost, ClientSettings, DraftCost, HiddenTool, List, Profile } from '@/types/api';
import { type Entry, readEntry, textOf } from './profile-entry';

/** What an unsaved profile costs, also for the clients that use it, and for the one it is made for. */
export const costQuery = (entry: Entry, name: string | undefined, client: string | undefined) =>
  queryOptions({
    queryKey: ['profiles', 'cost', textOf(entry), name, client],
    queryFn: ({ signal }) =>
      request<DraftCost>('POST', '/api/v1/profile-cost', { body: { entry, name, client }, signal }),
    staleTime: 5000,
    placeholderData: keepPreviousData,
    retry: false,
  });

/** What each profile costs the client with a token. */
export const clientCostsQuery = (token: string) =>
  queryOptions({
    queryKey: ['profiles', 'client', token],
    queryFn: ({ signal }) =>
      requestList<ClientCost>(`/api/v1/client-views/${encodeURIComponent(token)}/costs`, signal),
    staleTime: 5000,
    refetchInterval: 15_000, // the cost changes with the catalogs
    retry: false,
  });

const address = (name: string) => `/api/v1/profiles/${encodeURIComponent(name)}`;

/** `was` is the ETag of the profile that the edit is based on, or "new". */
export function useSaveProfile() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ name, entry, was }: { name: string; entry: Entry; was: string }) =>
      request<Profile>('PUT', address(name), { body: { entry }, headers: { 'If-Match': was } }),
    // Until the list is read again, the editor would take the old profile for a newer one.
    onSuccess: (saved) =>
      client.setQueryData(
        profilesQuery.queryKey,
        (old) =>
          old && { ...old, items: old.items.map((one) => (one.name === saved.name ? saved : one)) },
      ),
    onSettled: () => client.invalidateQueries({ queryKey: ['profiles'] }),
  });
}

const putView = ({ token, ...body }: ClientSettings) =>
  requestText('PUT', `/api/v1/client-views/${encodeURIComponent(token)}`, { body });

/** Deletes a profile, or restores one that was; the clients with these settings use it. */
export function useDeleteProfile(restores = false) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async ({
      profile: { name, etag, entry },
      users,
    }: {
      profile: Profile;
      users: ClientSettings[];
    }) => {
      const headers = { 'If-Match': restores ? 'new' : etag };
      if (restores)
        await requestText('PUT', address(name), { body: { entry: readEntry(entry) }, headers });
      for (const one of users) await putView(restores ? one : { ...one, profile: '' });
      if (!restores) await requestText('DELETE', address(name), { headers });
    },
    onError: restores ? toastError : undefined,
    onSettled: () => {
      client.invalidateQueries({ queryKey: ['profiles'] });
      client.invalidateQueries({ queryKey: ['connections'] });
    },
  });
}

/**
 * Sets the profile and the accounts of a client, and how its tools are listed. The update is optimistic, so that a
 * second change is based on the first.
 */
export function useClientView() {
  const client = useQueryClient();
  const show = async (view: ClientSettings) => {
    client.setQueryData(
      profilesQuery.queryKey,
      (old) =>
        old && {
          ...old,
          clients: [...old.clients.filter((one) => one.token !== view.token), view],
        },
    );
    await client.cancelQueries({ queryKey: profilesQuery.queryKey, exact: true });
  };
  return useMutation({
    mutationKey: ['client-view'],
    scope: { id: 'client-view' }, // one request at a time
    mutationFn: putView,
    onMutate: show,
    // An event about the change before may have replaced what is shown.
    onSuccess: (_, view) => show(view),
    onError: toastError,
    onSettled: () => {
      // A refetch between two changes would overwrite the second one.
      if (client.isMutating({ mutationKey: ['client-view'] }) > 1) return;
      client.invalidateQueries({ queryKey: ['profiles'] });
      client.invalidateQueries({ queryKey: ['connections'] });
    },
  });
}

/** The settings of a client that are being saved, on which the next change is based. */
export const useUnsavedView = (token: string): ClientSettings | undefined =>
  useMutationState({
    filters: { mutationKey: ['client-view'], status: 'pending' },
    select: (mutation) => mutation.state.variables as ClientSettings,
  })
    .filter((view) => view.token === token)
    .at(-1);

/** The tools that the configuration hides from all clients by their name. */
export const hiddenToolsQuery = queryOptions({
  queryKey: ['tools', 'hidden'],
  queryFn: async ({ signal }) =>
    (await request<List<HiddenTool>>('GET', '/api/v1/tools/hidden', { signal })).items ?? [],
  staleTime: Number.POSITIVE_INFINITY, // a catalog event invalidates it
});

/** Hides several tools from all clients, or shows them again. */
export function useHide() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ tools, hide }: { tools: HiddenTool[]; hide: boolean }) =>
      requestText('POST', '/api/v1/tools/hide', { body: { tools, hide } }),
    onSettled: () => {
      client.invalidateQueries({ queryKey: ['tools'] });
      client.invalidateQueries({ queryKey: ['profiles'] });
    },
  });
}
