import { type ComponentProps, lazy, Suspense } from 'react';
import { ScrollArea } from '@/components/scroll-area';
import { plain } from '@/lib/format';

export type { Completion, Mark } from './codemirror';

export const loadCode = () => import('./codemirror');
const View = lazy(async () => ({ default: (await loadCode()).CodeView }));
const Merge = lazy(async () => ({ default: (await loadCode()).MergeDiff }));
const Edit = lazy(async () => ({ default: (await loadCode()).Editor }));

/** What is shown of a text until the editor has been loaded. */
const beginning = 4000;

function Waiting({ text, label }: { text: string; label: string }) {
  return (
    <ScrollArea
      aria-label={label}
      className="max-h-[28rem] px-3 py-2 font-mono text-xs leading-[1.6] whitespace-pre-wrap [overflow-wrap:anywhere]"
    >
      {plain(text.slice(0, beginning))}
    </ScrollArea>
  );
}

/** Text with highlighting, to read. */
export function CodeView(props: ComponentProps<typeof View>) {
  return (
    <Suspense fallback={<Waiting text={props.text} label={props.label} />}>
      <View {...props} />
    </Suspense>
  );
}

export function MergeDiff(props: ComponentProps<typeof Merge>) {
  return (
    <Suspense fallback={<Waiting text={props.after} label={props.label} />}>
      <Merge {...props} />
    </Suspense>
  );
}

export function CodeEditor(props: ComponentProps<typeof Edit>) {
  return (
    <Suspense
      fallback={
        <div className={`rounded-md border border-strong bg-sunken ${props.className ?? ''}`} />
      }
    >
      <Edit {...props} />
    </Suspense>
  );
}
