import { EditorState, type Range } from '@codemirror/state';
import { Decoration, EditorView } from '@codemirror/view';
import { useMemo } from 'react';
import type { DiffLine } from '@/lib/unified-diff';
import { box, readOnly, shared, useView } from './codemirror';

const looks: Record<DiffLine['kind'], Decoration | undefined> = {
  same: undefined,
  removed: Decoration.line({ class: 'cm-removedLine' }),
  added: Decoration.line({ class: 'cm-addedLine' }),
  hunk: Decoration.line({ class: 'cm-hunkLine' }),
};

const sign = { position: 'absolute', left: '0.5ch' };

const theme = EditorView.theme({
  '& .cm-line': { position: 'relative', paddingLeft: '2ch' },
  '.cm-addedLine': { backgroundColor: 'var(--ok-soft)' },
  '.cm-removedLine': { backgroundColor: 'var(--bad-soft)' },
  '.cm-hunkLine': { color: 'var(--ink3)' },
  '.cm-addedLine:before': { ...sign, content: '"+"', color: 'var(--ok)' },
  '.cm-removedLine:before': { ...sign, content: '"−"', color: 'var(--bad)' },
});

/** The lines of a unified diff with their signs: nothing is compared again. */
export function UnifiedDiff({ lines, label }: { lines: DiffLine[]; label: string }) {
  const state = useMemo(() => {
    const ranges: Range<Decoration>[] = [];
    let at = 0;
    for (const { kind, text } of lines) {
      const look = looks[kind];
      if (look) ranges.push(look.range(at));
      at += text.length + 1;
    }
    return EditorState.create({
      doc: lines.map((line) => line.text).join('\n'),
      extensions: [
        shared,
        theme,
        readOnly(label),
        EditorState.lineSeparator.of('\n'), // a carriage return is part of a line
        EditorView.decorations.of(Decoration.set(ranges)),
      ],
    });
  }, [lines, label]);
  return <div ref={useView(state)} className={`${box} rounded-md border bg-sunken`} />;
}
