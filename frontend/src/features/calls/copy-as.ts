import { quoted } from '@/lib/shell-words';
import type { Call, CallDetail } from '@/types/api';

/** Only tool calls can be repeated; other methods belong to a session. */
export function canRepeat(call: Call): boolean {
  return call.method === 'tools/call' && !call.fromServer && call.server !== '' && call.tool !== '';
}

/** A curl command against the API. It does not contain the token: the shell reads the file. */
export function asCurl(call: CallDetail, url: string): string {
  const body = `{"server":${JSON.stringify(call.server)},"tool":${JSON.stringify(call.tool)},"arguments":${call.arguments || '{}'}}`;
  return [
    `curl -sS ${quoted(`${url}/api/v1/call`)}`,
    `-H "Authorization: Bearer $(cat "$DRAWBRIDGE_DATA/admin.token")"`,
    `-H 'Content-Type: application/json'`,
    `--data ${quoted(body)}`,
  ].join(' \\\n  ');
}

/** The call as a drawbridge command. */
export function asCommand(call: CallDetail): string {
  return ['drawbridge', 'call', call.server, call.tool, call.arguments || '{}']
    .map(quoted)
    .join(' ');
}

/** All recorded data; payloads are JSON values, not strings. */
export function asJson(call: CallDetail): string {
  const { arguments: args, result, error, ...rest } = call;
  const payloads = [
    ['arguments', args],
    ['result', result],
    ['error', error],
  ] as const;
  const parts = [...payloads].flatMap(([name, raw]) => (raw ? [`"${name}":${raw}`] : []));
  return `${JSON.stringify(rest).slice(0, -1)}${parts.map((part) => `,${part}`).join('')}}\n`;
}
