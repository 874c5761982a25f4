import { expect, test } from 'vitest';
import { findServer } from './server-lookup';

test('a URL can contain the name of a server instead of its id', () => {
  const servers = [
    ['my-server', 'my server'],
    ['Docs', 'Docs'],
    ['web-a', 'Web'],
    ['web-b', 'WEB'],
  ] as const;
  const found = (text: string) => findServer([...servers], text);
  expect(found('my-server')).toBe('my-server');
  expect(found('my server')).toBe('my-server');
  expect(found('docs')).toBe('Docs');
  expect(found('Web')).toBe('web-a');
  expect(found('web')).toBe('web');
  expect(found('gone')).toBe('gone');
});
