import { Server } from 'lucide-react';
import { expect, it } from 'vitest';
import { type PaletteCommand, rankCommands } from './palette-ranking';

const named = (...names: string[]): PaletteCommand[] =>
  names.map((text) => ({ id: text, text, kind: '', icon: Server, run: () => undefined }));
const texts = (typed: string) =>
  rankCommands(named('Restart GitHub', 'GitHub', 'github__get_hub', 'Settings'), typed, 9).map(
    (c) => c.text,
  );

it('the best match comes first, and every word must match', () => {
  expect(texts('github')[0]).toBe('GitHub');
  expect(texts('git rest')).toEqual(['Restart GitHub']);
  expect(texts('nothing')).toEqual([]);
  expect(texts('setings')).toEqual(['Settings']);
  expect(texts('')).toHaveLength(4);
});
