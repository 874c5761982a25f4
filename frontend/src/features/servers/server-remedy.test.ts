import { expect, it } from 'vitest';
import type { Remedy, ServerStatus } from '@/types/api';
import { hasRemedy } from './server-remedy';
import { withSecret } from './server-remedy-dialogs';

const has = (kind: Remedy['kind'], own = false) =>
  hasRemedy({ remedy: { kind } } as ServerStatus, own);

it('every remedy that the page can help with has an action', () => {
  const helped: Remedy['kind'][] = [
    'approve',
    'set-variable',
    'set-secret',
    'unlock-secrets',
    'install-program',
    'install-package',
    'start-docker',
    'allow-docker',
    'start-container',
    'free-port',
    'edit-config',
  ];
  expect(helped.filter((kind) => !has(kind) || !has(kind, true))).toEqual([]);
  expect(has('check-network') || has('allow-access') || has('clear-npx-cache')).toBe(false);
  expect(hasRemedy({} as ServerStatus)).toBe(false);
});

it('the page of a server shows its sign-in and its log itself', () => {
  expect([has('sign-in'), has('see-log')]).toEqual([true, true]);
  expect([has('sign-in', true), has('see-log', true)]).toEqual([false, false]);
});

it('references to the variable are replaced by references to the secret', () => {
  const entry = '{\n  // note\n  "env": { "KEY": "${TOKEN}" },\n}';
  const [replaced] = withSecret(entry, 'TOKEN', 'A_TOKEN');
  expect(replaced?.text).toBe(entry.replace('TOKEN', 'secret:A_TOKEN'));
  for (const other of ['{ "command": "x" }', '{ "env": { "A": "b" } }'])
    expect(withSecret(other, 'KEY', 'A_KEY')).toEqual([
      { op: 'add', path: '/env/KEY', text: '"${secret:A_KEY}"' },
    ]);
});
