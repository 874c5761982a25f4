import { describe, expect, it } from 'vitest';
import { readEffect, showHidden } from './effect-text';

describe('the result of a preview', () => {
  it('is a diff where it contains one, without the fences around it', () => {
    const diff = '--- a\n+++ a\n@@ -1,1 +1,1 @@\n-x\n+y';
    expect(readEffect(`\`\`\`diff\nIndex: a\n=====\n${diff}\n\`\`\`\n\ndone`)).toEqual({
      kind: 'diff',
      diff,
      before: '',
      after: 'done',
    });
  });

  it('is a table where it is a list of objects, with every digit of their numbers', () => {
    expect(readEffect('{"deleted":[{"id":9007199254740993,"n":"a"},{"id":2,"why":null}]}')).toEqual(
      {
        kind: 'table',
        columns: ['id', 'n', 'why'],
        rows: [
          ['9007199254740993', 'a', ''],
          ['2', '', 'null'],
        ],
        more: 0,
      },
    );
  });

  it('is text otherwise, so that nothing beside a list is left out', () => {
    for (const text of ['would delete 3', '[1,2]', '{"note":"x","list":[{"a":1}]}', '[]', '{}'])
      expect(readEffect(text)).toEqual({ kind: 'text' });
  });

  it('shows characters that are not visible', () => {
    expect(showHidden('a\u202eb\u200b\u{e0041}')).toBe('a⟨U+202E⟩b⟨U+200B⟩⟨U+E0041⟩');
  });
});
