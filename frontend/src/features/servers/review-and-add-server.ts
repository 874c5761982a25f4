import { type QueryClient, useMutation, useQueryClient } from '@tanstack/react-query';
import { configQuery, restoreConfig, saveConfig } from '@/lib/config-file';
import { jsonElements, jsonMembers, jsonString } from '@/lib/json-text';
import { addMembers, blockAt, editBlock, sourceAt } from '@/lib/jsonc';
import { RequestError } from '@/lib/request';
import { texts } from '@/lib/texts';
import { type ToastAction, toast } from '@/lib/toast';
import type { Draft } from './parse-server-snippet';

/** The parts of an entry that the user has to review before it runs. */
export interface Review {
  argv: string[];
  url: string | undefined;
  container: string | undefined;
  cwd: string | undefined;
  env: [name: string, value: string][];
  headers: [name: string, value: string][];
  /** Placeholders that are not replaced yet. */
  placeholders: string[];
}

export function review(entry: string): Review {
  const members = jsonMembers(entry);
  const text = (name: string) => jsonString(members?.get(name));
  const pairs = (name: string): [string, string][] =>
    [...(jsonMembers(members?.get(name) ?? '') ?? [])].map(([k, v]) => [k, jsonString(v) ?? v]);
  const args = (jsonElements(members?.get('args') ?? '') ?? []).map(
    (arg) => jsonString(arg) ?? arg,
  );
  const command = text('command');
  const all = {
    argv: command === undefined ? [] : [command, ...args],
    url: text('url') ?? text('httpUrl'),
    container: text('container'),
    cwd: text('cwd'),
    env: pairs('env'),
    headers: pairs('headers'),
  };
  const values = [...all.argv, all.url ?? '', ...[...all.env, ...all.headers].map(([, v]) => v)];
  return { ...all, placeholders: values.flatMap(placeholder) };
}

/** Finds a placeholder as used in READMEs. */
function placeholder(value: string): string[] {
  const found =
    /<[A-Za-z][^<>]*>|\b(YOUR|MY)[-_ ][A-Z0-9_-]+|\byour[-_][a-z0-9_-]+|\/?path\/to\/[^\s"']*|\bx{4,}\b/.exec(
      value,
    );
  return found ? [found[0].slice(0, 80)] : [];
}

/** The entry with a placeholder replaced by a path; the rest of the JSON text is unchanged. */
export function replacePlaceholder(entry: string, placeholder: string, path: string): string {
  return entry.replace(JSON.stringify(placeholder).slice(1, -1), () =>
    JSON.stringify(path).slice(1, -1),
  );
}

/** The places where a configuration file can contain servers; the first existing one is used. */
const places = [['mcpServers'], ['servers'], ['mcp', 'servers']];

/** A server's entry in the file with its comments; undefined if it is defined elsewhere. */
export function entryOf(text: string, name: string): string | undefined {
  const path = entryPath(text, name);
  return path && blockAt(text, path);
}

/** Changes a server's entry in the current file. The toast offers to undo the change. */
export function useSaveEntry(name: string, saved: string) {
  return useSaveBlock((text) => entryPath(text, name), saved);
}

/** Changes the value at a path of the current file, which is all of it for []. */
export function useSaveBlock(pathOf: (text: string) => string[] | undefined, saved: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async (change: (entry: string) => string | undefined) => {
      const now = await client.fetchQuery({ ...configQuery, staleTime: 0 });
      const path = pathOf(now.text);
      const next = path && editBlock(now.text, path, change);
      if (next === undefined) throw new RequestError(texts.servers.more.elsewhere, 0, 'validation');
      const { etag } = await saveEntries(client, next, now.etag);
      return { was: now.text, etag };
    },
    onSuccess: ({ was, etag }) =>
      toast('ok', saved, {
        text: texts.care.undo,
        run: () => restoreConfig(client, was, etag),
      }),
  });
}

async function saveEntries(client: QueryClient, text: string, etag: string) {
  try {
    const saved = await saveConfig(text, etag);
    client.setQueryData(configQuery.queryKey, saved);
    return saved;
  } catch (error) {
    if (error instanceof RequestError && error.status === 412)
      throw new RequestError(texts.add.conflict, 412, 'conflict');
    throw error;
  }
}

/** The path of a server's entry in the file. */
export function entryPath(text: string, name: string): string[] | undefined {
  return places.map((place) => [...place, name]).find((path) => sourceAt(text, path) !== undefined);
}

/** The file with the servers added, or undefined if it has no place for them. */
export function withServers(text: string, drafts: Draft[]): string | undefined {
  const members = drafts.map(({ name, entry }): [string, string] => [name, entry]);
  if (text.trim() === '') return withServers('{\n  "mcpServers": {}\n}\n', drafts);
  for (const place of places) {
    const added = addMembers(text, place, members);
    if (added !== undefined) return added;
  }
  const block = addMembers('{}', [], members);
  return block && addMembers(text, [], [['mcpServers', block]]);
}

/** Adds the servers to the current file. `undo` restores the previous text. */
export function useAddServers(onDone: (names: string[], undo: ToastAction) => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async (drafts: Draft[]) => {
      const config = await client.fetchQuery({ ...configQuery, staleTime: 0 });
      const text = withServers(config.text, drafts);
      if (text === undefined) throw new RequestError(texts.add.noPlace, 0, 'validation');
      const { etag } = await saveEntries(client, text, config.etag);
      return { names: drafts.map((draft) => draft.name), was: config.text, etag };
    },
    onSuccess: ({ names, was, etag }) =>
      onDone(names, { text: texts.care.undo, run: () => restoreConfig(client, was, etag) }),
  });
}
