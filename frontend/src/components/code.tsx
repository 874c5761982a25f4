import { type ComponentProps, lazy, Suspense } from 'react';
import { part } from '@/lib/page-part';

export type { Completion, Mark } from './codemirror';

export const loadCode = part(() => import('./codemirror'));
const View = lazy(async () => ({ default: (await loadCode()).CodeView }));
const Merge = lazy(async () => ({ default: (await loadCode()).MergeDiff }));
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

export function MergeDiff(props: ComponentProps<typeof Merge>) {
  return (
    <Suspense fallback={<Space text={props.after} />}>
      <Merge {...props} />
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

/** The approximate height of the text, to limit layout shifts when it is shown. */
function Space({ text, className = '' }: { text: string; className?: string | undefined }) {
  const lines = text.split('\n', 30).length;
  return (
    <div
      aria-hidden
      data-loading
      className={`max-h-[28rem] text-xs ${className}`}
      style={{ height: `calc(${lines * 1.6}em + 1rem)` }}
    />
  );
}
