import { EyeOff, LoaderCircle, Undo2 } from 'lucide-react';
import { useState } from 'react';
import { Button } from '@/components/button';
import { count } from '@/lib/format';
import { texts } from '@/lib/texts';
import type { HiddenTool } from '@/types/api';
import { useHide } from './api';
import type { PickTool } from './tool-picker';

const t = texts.profiles;

/** Hides the tools without calls in 30 days from all clients with one click, and can undo that. */
export function HideUnusedTools({ tools, days }: { tools: PickTool[]; days: number | undefined }) {
  const hide = useHide();
  const [done, setDone] = useState<{ tools: HiddenTool[]; tokens: number } | undefined>(undefined);
  const unused = tools.filter((tool) => tool.unused);
  const tokens = unused.reduce((sum, tool) => sum + tool.tokens, 0);
  if (!done && (unused.length === 0 || days === undefined)) return null;
  const known = days ?? 0;
  const body =
    'flex flex-wrap items-center gap-x-3 gap-y-2 rounded-lg border bg-panel px-4 py-2.5 text-sm shadow-card';
  if (done)
    return (
      <div className={body} role="status">
        <span className="min-w-0 flex-1 basis-60 text-ink2">
          {t.hidden(done.tools.length, count(done.tokens))}
        </span>
        <Button
          small
          disabled={hide.isPending}
          onClick={() =>
            hide.mutate({ tools: done.tools, hide: false }, { onSuccess: () => setDone(undefined) })
          }
        >
          <Undo2 className="size-3.5" aria-hidden />
          {t.undo}
        </Button>
      </div>
    );
  return (
    <div className={body}>
      <span className="min-w-0 flex-1 basis-60 text-ink2">
        {known < 29
          ? `${t.unusedYet(unused.length, count(tokens))} ${t.recordedFor(known)}`
          : t.unused(unused.length, count(tokens))}
      </span>
      {/* The button is less prominent while only a few days are recorded. */}
      <Button
        small
        look={known < 7 ? 'quiet' : 'secondary'}
        disabled={hide.isPending}
        onClick={() => {
          const list = unused.slice(0, 5000).map(({ server, tool }) => ({ server, tool }));
          hide.mutate(
            { tools: list, hide: true },
            { onSuccess: () => setDone({ tools: list, tokens }) },
          );
        }}
      >
        {hide.isPending ? (
          <LoaderCircle className="size-3.5 animate-spin" aria-hidden />
        ) : (
          <EyeOff className="size-3.5" aria-hidden />
        )}
        {t.hide(unused.length, count(tokens))}
      </Button>
    </div>
  );
}
