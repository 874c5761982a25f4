import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isSensitive, maskSecrets } from './mask-secrets';

/** What the daemon recognizes; a Go test keeps the file current. */
const shapes: {
  tokens: { prefix: string; length: number; dots: boolean }[];
  names: string[];
} = JSON.parse(
  readFileSync(
    join(import.meta.dirname, '../../../backend/redact/testdata/secret-shapes.json'),
    'utf8',
  ),
);

describe('maskSecrets', () => {
  it.each([
    '{"env":{"API_KEY":"HIDE"}}',
    '{"env":{"PGPASSWORD":"HIDE"}}',
    '{"env":{"GITHUB_PAT":"HIDE"}}',
    '{"env":{"X":"postgres://me:HIDE@db/x"}}',
    '{"args":["--api-key","HIDE"]}',
    '{"args":["--token=HIDE"]}',
    '{"args":["-y","--api-key","HIDE"]}',
    '{"args":["--verbose","--token","HIDE"]}',
    '{"args":["-i","--token=HIDE"]}',
    '{"args":["-v","-token","HIDE"]}',
    '{"args":["--private","--token","HIDE"]}',
    '{"args":["--header","Authorization: Bearer HIDE"]}',
    '{"args":["--header","X: sk-HIDEHIDE123"]}',
    '{"headers":{"X-Any":"ghp_HIDE1234567"}}',
    '{"env":{"A_TOKEN":"say \\"HIDE"}}',
    '{"env":{"A":"-----BEGIN RSA PRIVATE KEY-----\\nHIDE\\n-----END RSA PRIVATE KEY-----"}}',
  ])('masks the secret in %s', (entry) => {
    expect(maskSecrets(entry)).not.toContain('HIDE');
    expect(maskSecrets(entry)).toContain('••••');
  });
  it.each(shapes.tokens)('masks tokens that begin with $prefix, as the daemon does', (token) => {
    const rest = `${token.dots ? `${'h'.repeat(20)}.` : ''}${'Q7'.repeat(token.length)}`;
    expect(maskSecrets(`{"args":["see ${token.prefix}${rest}"]}`)).not.toContain('Q7');
    expect(isSensitive('X', token.prefix + rest)).toBe(true);
  });
  it.each(shapes.names)('masks the value of %s, as the daemon does', (name) => {
    for (const entry of [
      `{"env":{"${name}":"HIDE"}}`,
      `{"args":["--${name}","HIDE"]}`,
      `{"args":["--${name}=HIDE"]}`,
    ])
      expect(maskSecrets(entry)).not.toContain('HIDE');
    expect(isSensitive(name, 'HIDE')).toBe(true);
  });
  it.each([
    '{"args":["--private","--verbose"]}',
    '{"env":{"API_KEY":"${secret:MINE}"}}',
    '{"headers":{"Authorization":"Bearer ${TOKEN}"}}',
    '{"args":["--api-key","${KEY}"]}',
    '{"env":{"X":"postgres://me:${PW}@db/x"}}',
    '{"command":"npx","args":["-y","keyboard"],"env":{"HOME":"/home/me"}}',
  ])('leaves %s unchanged', (entry) => {
    expect(maskSecrets(entry)).toBe(entry);
  });
});
