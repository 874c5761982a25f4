import { expect, it } from 'vitest';
import { setEdit } from '@/lib/config-edits';
import { isKept } from '@/lib/drafts';
import { entryEdit } from './server-entry-editor';

it('a draft whose variable is a secret by its name is not stored', () => {
  const kept = (name: string) => isKept(entryEdit('{}', [setEdit(['env', name], 'correct-horse')]));
  expect([kept('API_KEY'), kept('REGION')]).toEqual([false, true]);
});
