import { type QueryClient, queryOptions } from '@tanstack/react-query';
import type { Schema } from '@/lib/config-completion-and-validation';
import { escapeControlCharacters } from '@/lib/format';
import { readJsonc, valueAt } from '@/lib/jsonc';
import { lazyChunk } from '@/lib/lazy-chunk';
import { request, requestText } from '@/lib/request';
import { texts } from '@/lib/texts';
import { toast, toastError } from '@/lib/toast';
import type { ConfigFile, Edit } from '@/types/api';

/** The configuration file: the one place where servers are defined. */
export const configQuery = queryOptions({
  queryKey: ['config'],
  queryFn: ({ signal }) => request<ConfigFile>('GET', '/api/v1/config', { signal }),
  staleTime: 5000, // a config event invalidates it immediately
});

/** Why nothing in the file can be found or changed here: its format or an error; else undefined. */
export function unusable({ text, path, problems }: ConfigFile): string | undefined {
  if (/\.ya?ml$/.test(path))
    return 'The configuration file is a YAML file, which is only edited as text: under Settings.';
  const { fault } = text.trim() === '' ? {} : readJsonc(text);
  const error = fault
    ? texts.editor.syntax(fault.line, fault.column)
    : problems.find((one) => !one.warning && one.server === '' && one.file === path)?.message;
  return (
    error &&
    `The configuration file has an error: ${escapeControlCharacters(error.replace(/\.$/, ''))}. Correct it under Settings.`
  );
}

const loadSchema = lazyChunk(() => import('../../../config/schema.json'));

/** The schema is a part of the page, in a chunk that only editors load. */
export const configSchemaQuery = queryOptions({
  queryKey: ['config', 'schema'],
  queryFn: async () => (await loadSchema()).default as unknown as Schema,
  staleTime: Number.POSITIVE_INFINITY,
});

const write = async (method: 'PUT' | 'PATCH', etag: string, body: object): Promise<ConfigFile> =>
  JSON.parse(
    await requestText(method, '/api/v1/config', { body, headers: { 'If-Match': etag } }),
  ) as ConfigFile;

/** Writes the file unless it changed since it was read. The daemon refuses an invalid text. */
export const saveConfig = (text: string, etag: string) => write('PUT', etag, { text });

/** Applies edits to the file unless it changed since it was read. */
export const patchConfig = (edits: Edit[], etag: string) => write('PATCH', etag, { edits });

/** The file as edits would leave it; nothing is written. There is no answer for no edits. */
export const editedConfigQuery = (etag: string, edits: Edit[]) =>
  queryOptions({
    queryKey: ['config', 'edited', etag, edits],
    queryFn: () => write('PATCH', '*', { edits, dryRun: true }),
    enabled: edits.length > 0,
    retry: false,
    gcTime: 0,
  });

/** Settings that are read only when Drawbridge starts. */
export const readAtStart = [
  ['bridge', 'listen'],
  ['bridge', 'socket'],
];

/** What to say after a text of the file was saved. */
export function savedText(before: string, after: string): string {
  const read = (text: string) => {
    const { value } = readJsonc(text);
    return JSON.stringify(readAtStart.map((path) => valueAt(value, path) ?? null));
  };
  return read(before) === read(after) ? texts.settings.saved : texts.settings.savedForRestart;
}

/** Restores the previous text of the file unless it changed since. */
export async function restoreConfig(client: QueryClient, text: string, etag: string) {
  try {
    const before = client.getQueryData(configQuery.queryKey)?.text ?? text;
    client.setQueryData(configQuery.queryKey, await saveConfig(text, etag));
    toast('ok', savedText(before, text));
  } catch (error) {
    toastError(error);
  }
}
