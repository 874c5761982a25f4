/** What an install link of a client contains: a name, if any, and the entry as JSON text. */
export interface LinkedEntry {
  name: string;
  json: string;
}

const webHosts = new Set(['cursor.com', 'www.cursor.com', 'vscode.dev', 'insiders.vscode.dev']);

/** A link of an application, or of a web page that opens such a link. */
const link =
  /(?:https:\/\/(?:www\.)?cursor\.com\/|https:\/\/(?:insiders\.)?vscode\.dev\/|(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,30}:(?:\/\/|mcp\/))[^\s"'`<>)]+/gi;

/**
 * Decodes the install links of Cursor (`cursor://anysphere.cursor-deeplink/mcp/install?name=…&config=BASE64`)
 * and of VS Code (`vscode:mcp/install?JSON`), and links of the same form of other applications.
 */
export function findInstallLink(text: string): LinkedEntry | undefined {
  for (const [found] of text.matchAll(link)) {
    const entry = readLink(found);
    if (entry) return entry;
  }
  return undefined;
}

/** Whether the text is only a link that is opened by an application. */
export function isApplicationLink(text: string): boolean {
  return /^(?!https?:)[a-z][a-z0-9+.-]+:(?:\/\/|mcp\/)\S*$/i.test(text.trim());
}

function readLink(text: string): LinkedEntry | undefined {
  try {
    const url = new URL(text);
    if (/^https?:$/.test(url.protocol) && !webHosts.has(url.hostname)) return undefined;
    const inner = url.searchParams.get('url');
    if (inner !== null && isApplicationLink(inner)) return readLink(inner);
    if (!/mcp/i.test(url.host + url.pathname)) return undefined;
    const config = url.searchParams.get('config');
    const json = config === null ? decodeURIComponent(url.search.slice(1)) : decoded(config);
    const value: unknown = JSON.parse(json);
    if (typeof value !== 'object' || value === null) return undefined;
    return { name: url.searchParams.get('name') ?? '', json };
  } catch {
    return undefined;
  }
}

/** JSON text, or JSON text in base64. A "+" in the query of a URL is read as a space. */
function decoded(config: string): string {
  if (config.trimStart().startsWith('{')) return config;
  const base64 = config.replaceAll(' ', '+').replaceAll('-', '+').replaceAll('_', '/');
  return new TextDecoder().decode(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)));
}
