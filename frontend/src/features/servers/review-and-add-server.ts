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

export const definedElsewhere =
  'This server is defined in another file, so it cannot be shown or changed here. Edit that file; Settings lists the files.';

export const addTexts = {
  include: (name: string) => `Add ${name}`,
  added: (names: string[]) => `Added ${names.join(', ')}.`,
};

const maxName = 60;

/** Converts a text to a valid name of a server. */
export function toServerName(name: string): string {
  return (
    name
      .trim()
      .replace(/[^A-Za-z0-9._-]+/g, '-')
      .replace(/_{2,}/g, '_')
      .replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '')
      .slice(0, maxName) || 'server'
  );
}

/** Why no server can be found in a text. */
export function whyUnread(text: string): string {
  const fault = /^\s*[[{]/.test(text) ? readJsonc(text).fault : undefined;
  if (fault)
    return `The JSON ends too early or has an error at ${texts.settings.position(fault.line, fault.column)}. Copy all of it, with its braces.`;
  if (/^\s*["']?[A-Za-z]:[\\/]/.test(text))
    return 'A Windows path cannot be read as a command. Paste JSON instead: {"command": "C:\\\\…", "args": []}.';
  if (/[;&|]/.test(text) && !/^\s*https?:/.test(text))
    return 'Paste only the command that starts the server, without “;”, “&&” or “|”.';
  return 'No server found in this text. Paste a JSON block with all its braces, a YAML block, a command line or a URL.';
}

/** The id that the daemon makes of a name; ids are compared without case. */
export const idOf = (name: string) =>
  name
    .replace(/[^A-Za-z0-9]+/g, (gap) => (gap === '_' ? '_' : '-'))
    .slice(0, 32)
    .replace(/[-_]$/, '')
    .toLowerCase();

/** A name whose id is free: the name, or the name with a number. */
export function freeName(name: string, taken: ReadonlySet<string>): string {
  for (let n = 1; ; n++) {
    const suffix = n === 1 ? '' : `-${n}`;
    const one = name.slice(0, 32 - suffix.length) + suffix;
    if (!taken.has(idOf(one))) return n === 1 ? name : one;
  }
}

/** Why a server cannot have a name. `taken` are the ids of others. */
export function nameFault(name: string, taken: ReadonlySet<string>): string | undefined {
  if (name.length > maxName) return 'Use at most 60 characters.';
  if (/__/.test(name)) return 'Use a single “_”: “__” separates a server from its tools.';
  if (toServerName(name) !== name)
    return 'Use only the letters a to z, digits, “.”, “_” and “-”, without spaces.';
  return taken.has(idOf(name)) ? texts.add.taken : undefined;
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
    refused: definedElsewhere,
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
