// @vitest-environment node
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { generate } from '../../dev/api-types.mjs';

it('the generated types match the daemon; npm run types updates them', async () => {
  const written = readFileSync(join(import.meta.dirname, 'api.gen.ts'), 'utf8');
  expect(await generate()).toBe(written);
});
