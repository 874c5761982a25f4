import { textEdit, within } from '@/lib/config-edits';
import { jsonElements, jsonMembers, jsonString } from '@/lib/json-text';
import { blockAt, readJsonc, valueAt } from '@/lib/jsonc';
import { isRecord } from '@/lib/own-property';
import { texts } from '@/lib/texts';
import { type ToastAction, toast } from '@/lib/toast';
import { useConfigEdit } from '@/lib/use-config-edit';
import type { Edit } from '@/types/api';

/** A server to be added to the configuration. */
export interface Draft {
  name: string;
  /** Its entry as JSON text. */
  entry: string;
}

/** Converts a text to a valid name of a server. */
export function toServerName(name: string): string {
  return (
    name
      .trim()
      .replace(/[^A-Za-z0-9._-]+/g, '-')
      .replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '')
      .slice(0, 60) || 'server'
  );
}

/** The parts of an entry that the user has to review before it runs. */
export interface Review {
  argv: string[];
  url: string | undefined;
  container: string | undefined;
  cwd: string | undefined;
  /** Whether the server does not start when it is added. */
  disabled: boolean;
}

export function review(entry: string): Review {
  const members = jsonMembers(entry);
  const text = (name: string) => jsonString(members?.get(name));
  const args = (jsonElements(members?.get('args') ?? '') ?? []).map(
    (arg) => jsonString(arg) ?? arg,
  );
  const command = text('command');
  return {
    argv: command === undefined ? [] : [command, ...args],
    url: text('url') ?? text('httpUrl'),
    container: text('container'),
    cwd: text('cwd'),
    disabled: members?.get('disabled') === 'true' || members?.get('enabled') === 'false',
  };
}

/** The places where a configuration file can contain servers; the first existing one is used. */
const places = [['mcpServers'], ['servers'], ['mcp', 'servers']];

/** A server's entry in the file with its comments; undefined if it is defined elsewhere. */
export function entryOf(text: string, name: string): string | undefined {
  const path = entryPath(text, name);
  return path && blockAt(text, path);
}

/** Edits the current file. The toast offers to undo the change. */
export function useSaveEdits(saved: string) {
  return useConfigEdit({
    edit: (text, change: (text: string) => Edit[] | undefined) => change(text),
    refused: texts.servers.elsewhere,
    onSuccess: (undo) => toast('ok', saved, undo),
  });
}

/** Edits of the entry of a server in a file; undefined if it is defined elsewhere. */
export const inEntry =
  (name: string, change: (entry: string) => Edit[]) =>
  (text: string): Edit[] | undefined => {
    const path = entryPath(text, name);
    return path && within(path, change(blockAt(text, path) ?? ''));
  };

/** The path of a server's entry in the file. */
export function entryPath(text: string, name: string): string[] | undefined {
  const { value, fault } = readJsonc(text);
  return fault
    ? undefined
    : places.map((at) => [...at, name]).find((path) => valueAt(value, path) !== undefined);
}

/** The edits that add servers, or undefined if the file has no place for them. */
export function withServers(text: string, drafts: Draft[]): Edit[] | undefined {
  const { value } = readJsonc(text);
  if (text.trim() !== '' && !isRecord(value)) return undefined;
  const place = places.find((path) => isRecord(valueAt(value, path))) ?? ['mcpServers'];
  return drafts.map(({ name, entry }) => textEdit([...place, name], entry));
}

/** Adds the servers to the current file. `undo` restores the previous text. */
export function useAddServers(onDone: (names: string[], undo: ToastAction) => void) {
  return useConfigEdit({
    edit: withServers,
    refused:
      'The configuration file has no “mcpServers” block that can be edited here. Copy the entry into the file yourself.',
    onSuccess: (undo, drafts) =>
      onDone(
        drafts.map((draft) => draft.name),
        undo,
      ),
  });
}
