import { objectText } from '@/lib/json-edit';
import { formatJson, jsonElements, jsonMembers, jsonString } from '@/lib/json-text';
import { plainJson } from '@/lib/jsonc';
import {
  commandLines,
  isCommand,
  isInstallation,
  looksLikeProse,
  shellWords,
} from '@/lib/shell-words';
import { findInstallLink, isApplicationLink } from './install-link';
import { looksLikeYaml, yamlToJson } from './yaml-snippet';

/** A server from a snippet, to be added to the configuration. */
export interface Draft {
  name: string;
  /** Its entry as JSON text. */
  entry: string;
}

/**
 * Parses a snippet of a README: a JSON or YAML block, JSON with text around it, a client's "add"
 * command, an install link, plain command lines, or a URL. Nothing is executed and no request is
 * sent. Returns [] if the text does not contain a server.
 */
export function readSnippet(text: string): Draft[] {
  const trimmed = unfenced(text).trim();
  if (trimmed === '') return [];
  if (/^\S+$/.test(trimmed)) {
    const linked = fromLink(trimmed);
    if (linked.length > 0) return linked;
    if (/^https?:\/\//.test(trimmed)) return [fromUrl(trimmed)];
  }
  const json = /--add-mcp\b/.test(trimmed) ? jsonWord(trimmed) : trimmed;
  const found = fromJson(json);
  if (found.length > 0) return found;
  if (/^[\s]*["{[]/.test(json)) return fromLink(trimmed);
  if (looksLikeYaml(trimmed)) return fromYaml(trimmed);
  const linked = fromLink(trimmed);
  return linked.length > 0 ? linked : fromCommandLines(trimmed);
}

/** Whether no server was found because the text is a link that cannot be read. */
export function isUnreadableLink(text: string): boolean {
  return isApplicationLink(text) && readSnippet(text).length === 0;
}

function fromLink(text: string): Draft[] {
  const linked = findInstallLink(text);
  const members = linked && jsonMembers(linked.json);
  if (!members) return [];
  // Cursor's links may contain the whole command line as the command.
  const words = shellWords(jsonString(members.get('command')) ?? '');
  if (words.length > 1 && !members.has('args') && !/^([A-Za-z]:)?[\\/]/.test(words[0] ?? '')) {
    const [command, ...args] = words.map((word) => JSON.stringify(word));
    if (command) members.set('command', command);
    members.set(...list('args', args));
  }
  const drafts = draftsOf(members, 0);
  const [only] = drafts;
  return linked.name !== '' && drafts.length === 1 && only
    ? [{ ...only, name: toServerName(linked.name) }]
    : drafts;
}

function fromYaml(text: string): Draft[] {
  const members = jsonMembers(yamlToJson(text) ?? '');
  return members ? draftsOf(members, 0) : [];
}

function unfenced(text: string): string {
  const fence = /```[a-z0-9]*\s*\n([\s\S]*?)```/i.exec(text);
  return fence?.[1] ?? text;
}

function jsonWord(line: string): string {
  return shellWords(line).find((word) => word.startsWith('{')) ?? '';
}

function fromUrl(url: string): Draft {
  return { name: nameOfUrl(url), entry: objectText([['url', JSON.stringify(url)]]) };
}

function nameOfUrl(url: string): string {
  try {
    const { hostname } = new URL(url);
    const words = hostname.split('.').filter((w) => !['mcp', 'api', 'www', 'com'].includes(w));
    return toServerName(words[0] ?? hostname);
  } catch {
    return 'server';
  }
}

/* JSON */

function fromJson(text: string): Draft[] {
  const json = plainJson(text);
  const open = json.indexOf('{');
  if (open < 0) return [];
  // A block with or without text around it, or members that were copied without their braces.
  const candidates = [json.slice(open, json.lastIndexOf('}') + 1)];
  if (/^\s*"/.test(json)) candidates.unshift(`{${json.trim().replace(/,$/, '')}}`);
  for (const candidate of candidates) {
    const members = sound(candidate) ? jsonMembers(candidate) : undefined;
    if (!members) continue;
    const found = draftsOf(members, 0);
    if (found.length > 0) return found;
  }
  return [];
}

function sound(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const lists = ['mcpServers', 'servers', 'context_servers', 'mcp_servers', 'mcp', 'amp.mcpServers'];

function draftsOf(members: Map<string, string>, depth: number): Draft[] {
  if (depth > 3) return [];
  if (isEntry(members)) {
    const name = jsonString(members.get('name'));
    return [{ name: toServerName(name ?? nameOfEntry(members)), entry: entryOf(members) }];
  }
  for (const list of lists) {
    const value = members.get(list) ?? '';
    const inner = jsonMembers(value);
    if (inner) return draftsOf(inner, depth + 1);
    const listed = (jsonElements(value) ?? []).flatMap((element) =>
      draftsOf(jsonMembers(element) ?? new Map(), depth + 1),
    );
    if (listed.length > 0) return listed;
  }
  return [...members].flatMap(([name, value]) => {
    const entry = jsonMembers(value);
    return entry && isEntry(entry) ? [{ name: toServerName(name), entry: entryOf(entry) }] : [];
  });
}

function isEntry(members: Map<string, string>): boolean {
  return ['command', 'url', 'httpUrl', 'serverUrl', 'container'].some((key) => {
    const value = members.get(key);
    return jsonString(value) !== undefined || (key === 'command' && /^[[{]/.test(value ?? ''));
  });
}

/** Translates the keys of other clients. */
function entryOf(members: Map<string, string>): string {
  const out = new Map<string, string>();
  for (const [key, value] of members) {
    switch (key) {
      case 'name':
      case 'alwaysAllow':
      case 'autoApprove':
      case 'gallery':
      case 'version':
      case 'source':
        break;
      case 'disabled':
        if (value === 'true') out.set(key, value);
        break;
      case 'serverUrl':
        out.set('url', value);
        break;
      case 'environment':
        out.set('env', value);
        break;
      case 'command':
        for (const [k, v] of commandOf(value)) out.set(k, v);
        break;
      case 'type': {
        const type = typeNames[jsonString(value) ?? ''];
        if (type) out.set('type', JSON.stringify(type));
        break;
      }
      default:
        out.set(key, value);
    }
  }
  return objectText(out);
}

const typeNames: Record<string, string> = {
  stdio: 'stdio',
  http: 'http',
  sse: 'sse',
  docker: 'docker',
  'streamable-http': 'http',
  streamableHttp: 'http',
};

/** A command can be a string, a whole command line as an array, or an object with a path. */
function commandOf(value: string): [string, string][] {
  const [command, ...args] = jsonElements(value) ?? [];
  if (command) return [['command', command], ...(args.length ? [list('args', args)] : [])];
  const inner = jsonMembers(value);
  if (!inner) return [['command', value]];
  return [...inner].map(([key, v]) => [key === 'path' ? 'command' : key, v]);
}

function list(key: string, raw: string[]): [string, string] {
  return [key, `[${raw.join(',')}]`];
}

function nameOfEntry(members: Map<string, string>): string {
  const url = jsonString(members.get('url') ?? members.get('httpUrl') ?? members.get('serverUrl'));
  if (url) return nameOfUrl(url);
  const args = (jsonElements(members.get('args') ?? '') ?? []).map((arg) => jsonString(arg) ?? '');
  return nameOfWords([jsonString(members.get('command')) ?? '', ...args]);
}

/* Command lines */

const adders = new Set(['claude', 'codex', 'gemini', 'qwen', 'cursor-agent', 'amp']);

/**
 * Several lines are several commands. Those that only install a package are omitted; if any other
 * line is not a command, the text is not one that can be added.
 */
function fromCommandLines(text: string): Draft[] {
  const lines = commandLines(text);
  const servers = lines.filter((line) => !isInstallation(shellWords(line)));
  const drafts = servers.map(fromCommandLine);
  return drafts.every((one) => one.length > 0) ? drafts.flat() : [];
}

function fromCommandLine(text: string): Draft[] {
  const words = shellWords(text);
  if (adders.has(words[0] ?? '') && words[1] === 'mcp' && words[2] === 'add')
    return fromAdder(words.slice(3));
  const env: [string, string][] = [];
  while (/^[A-Za-z_][A-Za-z0-9_]*=/.test(words[0] ?? '')) env.push(assignment(words.shift() ?? ''));
  if (words[0] === 'env') return fromCommandLine(text.replace(/^\s*env\s+/, ''));
  if (!isCommand(words[0]) || looksLikeProse(words)) return [];
  return [{ name: nameOfWords(words), entry: commandEntry(words, env) }];
}

/** `claude mcp add [options] NAME [options] -- COMMAND…` and its variants. */
function fromAdder(words: string[]): Draft[] {
  const env: [string, string][] = [];
  const headers: [string, string][] = [];
  const rest: string[] = [];
  let transport = 'stdio';
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? '';
    const [flag, inline] = word.startsWith('--') && word.includes('=') ? halves(word, '=') : [word];
    const value = () => inline ?? words[++i] ?? '';
    if (word === '--') {
      rest.push(...words.slice(i + 1));
      break;
    }
    if (rest.length > 1 && !/^https?:/.test(rest[1] ?? '')) rest.push(word);
    else if (flag === '-e' || flag === '--env') env.push(assignment(value()));
    else if (flag === '-H' || flag === '--header') headers.push(halves(value(), ':'));
    else if (flag === '-t' || flag === '--transport') transport = value();
    else if (flag === '--url') rest.push(value());
    else if (flag === '-s' || flag === '--scope' || flag === '--timeout') value();
    else if (!word.startsWith('-')) rest.push(word);
  }
  const [name, ...command] = rest;
  if (!name || command.length === 0) return [];
  if (/^https?:\/\//.test(command[0] ?? '')) {
    const entry: [string, string][] = [['url', JSON.stringify(command[0])]];
    if (transport === 'sse') entry.unshift(['type', '"sse"']);
    if (headers.length > 0) entry.push(['headers', strings(headers)]);
    return [{ name: toServerName(name), entry: objectText(entry) }];
  }
  return [{ name: toServerName(name), entry: commandEntry(command, env) }];
}

function halves(word: string, mark: string): [string, string] {
  const at = word.indexOf(mark);
  return at < 0 ? [word, ''] : [word.slice(0, at), word.slice(at + 1).trim()];
}

function assignment(word: string): [string, string] {
  return halves(word, '=');
}

function strings(pairs: [string, string][]): string {
  return formatJson(JSON.stringify(Object.fromEntries(pairs)));
}

function commandEntry([command = '', ...args]: string[], env: [string, string][]): string {
  const entry: [string, string][] = [['command', JSON.stringify(command)]];
  if (args.length > 0)
    entry.push(
      list(
        'args',
        args.map((arg) => JSON.stringify(arg)),
      ),
    );
  if (env.length > 0) entry.push(['env', strings(env)]);
  return objectText(entry);
}

const runners = new Set([
  'npx',
  'uvx',
  'bunx',
  'pnpm',
  'node',
  'python',
  'python3',
  'uv',
  'docker',
  'bun',
  'deno',
]);
const steps = new Set(['run', 'exec', 'dlx', 'tool', 'x']);

/** The name of the package without its scope, version and common affixes. */
function nameOfWords(words: string[]): string {
  const telling = words.filter(
    (word) => !word.startsWith('-') && !steps.has(word) && !word.includes('='),
  );
  const first = telling[0] ?? '';
  const base = first.split(/[/\\]/).at(-1) ?? '';
  const pick = runners.has(base.replace(/\.(exe|cmd)$/, ''))
    ? base === 'docker'
      ? telling.at(-1)
      : telling[1]
    : first;
  const last =
    (pick ?? first)
      .replace(/(.)@[^/@]+$/, '$1')
      .split(/[/\\]/)
      .at(-1) ?? '';
  const bare = last.replace(/:.*$/, '').replace(/\.(js|mjs|ts|py|exe|cmd|sh)$/, '');
  return toServerName(
    bare.replace(/^(mcp-server-|server-|mcp-)|(-mcp-server|-mcp|-server)$/g, '') || bare,
  );
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
