import { describe, expect, it } from 'vitest';
import { maskSecrets } from './mask-secrets';

describe('maskSecrets', () => {
  it.each([
    '{"env":{"API_KEY":"HIDE"}}',
    '{"env":{"PGPASSWORD":"HIDE"}}',
    '{"env":{"GITHUB_PAT":"HIDE"}}',
    '{"env":{"X":"postgres://me:HIDE@db/x"}}',
    '{"args":["--api-key","HIDE"]}',
    '{"args":["--token=HIDE"]}',
    '{"args":["--header","Authorization: Bearer HIDE"]}',
    '{"args":["--header","X: sk-HIDEHIDE123"]}',
    '{"headers":{"X-Any":"ghp_HIDE1234567"}}',
    '{"env":{"A_TOKEN":"say \\"HIDE"}}',
  ])('masks the secret in %s', (entry) => {
    expect(maskSecrets(entry)).not.toContain('HIDE');
    expect(maskSecrets(entry)).toContain('••••');
  });
  it.each([
    '{"env":{"API_KEY":"${secret:MINE}"}}',
    '{"headers":{"Authorization":"Bearer ${TOKEN}"}}',
    '{"args":["--api-key","${KEY}"]}',
    '{"env":{"X":"postgres://me:${PW}@db/x"}}',
    '{"command":"npx","args":["-y","keyboard"],"env":{"HOME":"/home/me"}}',
  ])('leaves %s unchanged', (entry) => {
    expect(maskSecrets(entry)).toBe(entry);
  });
});
