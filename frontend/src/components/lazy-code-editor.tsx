import { type ComponentProps, lazy, Suspense, useState } from 'react';
import { escapeControlCharacters } from '@/lib/format';
import { lazyChunk } from '@/lib/lazy-chunk';

export type { Completion, Mark } from './codemirror';

let loaded: typeof import('./codemirror') | undefined;

export const loadCode = lazyChunk(async () => {
  loaded = await import('./codemirror');
  return loaded;
});
const View = lazy(async () => ({ default: (await loadCode()).CodeView }));
const Merge = lazy(async () => ({ default: (await loadCode()).MergeDiff }));
const loadUnified = lazyChunk(() => import('./codemirror-unified-diff'));
const Unified = lazy(async () => ({ default: (await loadUnified()).UnifiedDiff }));
const Edit = lazy(async () => ({ default: (await loadCode()).Editor }));

// Each has its own Suspense: otherwise the page or dialog around it would be hidden until
// CodeMirror is loaded, and lose the focus.

/** Read-only text with highlighting. */
export function CodeView(props: ComponentProps<typeof View>) {
  return (
    <Suspense fallback={<Space text={props.text} />}>
      <View {...props} />
    </Suspense>
  );
}

/** The height of a diff is only known to CodeMirror: if that is loaded, nothing is shown instead. */
export function MergeDiff(props: ComponentProps<typeof Merge>) {
  const [Now] = useState(() => loaded?.MergeDiff);
  if (Now) return <Now {...props} />;
  return (
    <Suspense fallback={<Space text={props.after} />}>
      <Merge {...props} />
    </Suspense>
  );
}

export function UnifiedDiff(props: ComponentProps<typeof Unified>) {
  return (
    <Suspense fallback={<Space text={props.lines.map((line) => line.text).join('\n')} />}>
      <Unified {...props} />
    </Suspense>
  );
}

export function CodeEditor(props: ComponentProps<typeof Edit>) {
  return (
    <Suspense fallback={<Space text={props.value} className={props.className} />}>
      <Edit {...props} />
    </Suspense>
  );
}

/**
 * The beginning of the text, laid out as CodeMirror will do it: it can be read while CodeMirror
 * loads, and nothing moves when it is replaced.
 */
function Space({ text, className = '' }: { text: string; className?: string | undefined }) {
  return (
    <pre
      aria-hidden
      data-loading
      className={`max-h-[28rem] overflow-hidden px-3 py-2 font-mono text-xs leading-[1.6] whitespace-break-spaces [overflow-wrap:anywhere] ${className}`}
    >
      {escapeControlCharacters(text.split('\n', 30).join('\n').slice(0, 10_000))}
    </pre>
  );
}
