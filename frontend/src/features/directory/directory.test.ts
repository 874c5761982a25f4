import { expect, it } from 'vitest';
import type { Field, InstallOption } from '@/types/api';
import { base64, bundleFileError } from './bundle-upload';
import { enteredValues, initialValues, missingFields } from './install-values';
import { accessOf, publisher } from './server-labels';

const field = (key: string, more: Partial<Field> = {}): Field => ({
  key,
  label: key,
  required: false,
  secret: false,
  ...more,
});

it('derives the publisher from the name', () => {
  expect(publisher('io.github.ada/notes')).toBe('ada on GitHub');
  expect(publisher('com.linear/mcp')).toBe('linear.com');
  expect(publisher('com.figma.mcp/mcp')).toBe('mcp.figma.com');
  expect(publisher('nonsense')).toBe('nonsense');
});

it('describes what a server can access', () => {
  const way = (more: Partial<InstallOption>): InstallOption => ({
    title: 'x',
    pinned: true,
    command: [],
    fields: [],
    ...more,
  });
  expect(accessOf(way({ launcher: 'npx' })).join(' ')).toMatch(/Runs with your permissions.*npx/);
  expect(accessOf(way({ launcher: 'docker', pinned: false })).join(' ')).toMatch(
    /container.*newer one/,
  );
  const remote = accessOf(
    way({ title: 'https://x.example/mcp?a', fields: [field('k', { secret: true })] }),
  ).join(' ');
  expect(remote).toMatch(/at x\.example .*leave this computer.*enter for k/);
});

it('requires the missing values and sends the entered ones', () => {
  const fields = [
    field('a', { required: true }),
    field('b', { required: true, default: 'x' }),
    field('c', { default: 'y' }),
    field('s', { required: true, secret: true, default: 'never shown' }),
  ];
  const first = initialValues(fields);
  expect(first).toEqual({ b: 'x', c: 'y' });
  expect(missingFields(fields, first).map((one) => one.key)).toEqual(['a']);
  expect(missingFields(fields, { ...first, a: '  ' }).map((one) => one.key)).toEqual(['a']);
  expect(enteredValues(fields, { a: '1', b: '', c: ' ', other: 'x' })).toEqual({ a: '1' });
});

it('accepts files that can be bundles, and sends their bytes unchanged', () => {
  expect(bundleFileError({ name: 'a.mcpb', size: 1 })).toBeUndefined();
  expect(bundleFileError({ name: 'A.DXT', size: 1 })).toBeUndefined();
  for (const bad of [
    { name: 'a.zip', size: 1 },
    { name: 'a.mcpb', size: 0 },
    { name: 'a.mcpb', size: 2 ** 28 + 1 },
  ])
    expect(bundleFileError(bad)).toBeTruthy();
  const bytes = Uint8Array.from({ length: 100_000 }, (_, i) => i % 251);
  expect(Uint8Array.from(atob(base64(bytes)), (c) => c.charCodeAt(0))).toEqual(bytes);
});
