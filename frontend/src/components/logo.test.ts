import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

it('the page has the same mark as the window, the package and the browser tab', () => {
  const read = (path: string) =>
    readFileSync(join(import.meta.dirname, '../..', path), 'utf8').replaceAll('\r\n', '\n');
  expect(read('public/icon.svg')).toBe(read('../build/icons/app.svg'));
});
