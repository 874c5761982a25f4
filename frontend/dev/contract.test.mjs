// @vitest-environment node
import { afterAll, beforeAll, expect, test } from 'vitest';
import { operations } from './contract.mjs';
import { startMock } from './mock.mjs';

let mock;
beforeAll(async () => {
  mock = await startMock({ scene: 'trouble', rate: 0 });
});
afterAll(() => mock.close());

const words = {
  '/approvals/{id}': { id: 'call1', body: { action: 'accept' } },
  '/client-views/{token}': { token: 'cursor', body: { profile: '', toolMode: '' } },
  '/profiles/{name}': { name: 'all-but-writing' },
  '/checks/{name}': { name: 'files-basics' },
  '/secrets/{name}': { name: 'GITHUB_TOKEN', body: { value: 'x' } },
  '/servers/{id}': { id: 'archive' },
  '/servers/{id}/login': { id: 'slack' },
  '/servers/{id}/login/open': { id: 'slack' },
  '/servers/{id}/logout': { id: 'slack' },
  '/tool-changes': { body: { server: 'filesystem', tool: 'search_files', action: 'accept' } },
  '/tools/hide': { body: { tools: [], hide: true } },
};

// A page once read an answer that was empty as JSON: the mock had answered {}.
test('the mock answers nothing where the daemon answers nothing', async () => {
  const empty = operations.filter((one) => one.empty);
  expect(empty.length).toBeGreaterThan(15);
  const asked = [];
  for (const { method, path } of empty) {
    const { body = {}, ...names } = words[path.replace('/api/v1', '')] ?? {};
    const at = path.replace(/\{(\w+)\}/g, (_, name) => names[name] ?? 'x');
    const response = await fetch(mock.url + at, {
      method,
      ...(method === 'DELETE' ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (response.status === 404) continue; // what the page does not use, the mock does not know
    asked.push(`${method} ${path}`);
    expect(`${at} ${response.status} ${text}`).toBe(`${at} 204 `);
  }
  expect(asked).toEqual(
    expect.arrayContaining(Object.keys(words).map((path) => expect.stringContaining(path))),
  );
});

test('the mock knows no address that the daemon has not', async () => {
  for (const path of ['/api/v1/nothing', '/api/v1/servers/filesystem/nothing/more'])
    expect((await fetch(mock.url + path)).status).toBe(404);
});
