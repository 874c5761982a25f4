import { useMemo, useState } from 'react';
import { Button } from '@/components/button';
import { CopyButton } from '@/components/copy-button';
import { ScrollArea } from '@/components/scroll-area';
import { classes } from '@/lib/classes';
import { count, plain } from '@/lib/format';
import { formatJson, prettyJson, type Token, type TokenKind } from '@/lib/json-text';
import { texts } from '@/lib/texts';

const colors: Record<TokenKind, string> = {
  key: 'text-accent',
  string: 'text-ok',
  number: 'text-warn',
  word: 'text-bad',
  mark: 'text-ink3',
  junk: 'text-ink',
};

const firstLines = 400;
const longToken = 4000;

/** JSON text, formatted token by token; never parsed, so every number is the one that was sent. */
export function JsonView({ text, label }: { text: string; label: string }) {
  const [raw, setRaw] = useState(false);
  const [limit, setLimit] = useState(firstLines);
  const { lines, cut } = useMemo(() => prettyJson(text, limit), [text, limit]);
  return (
    <div className="rounded-md border bg-sunken">
      <div className="flex items-center gap-1 border-b px-1 py-0.5">
        <fieldset aria-label={texts.json.view} className="flex">
          {[false, true].map((choice) => (
            <button
              key={String(choice)}
              type="button"
              aria-pressed={raw === choice}
              onClick={() => setRaw(choice)}
              className={classes(
                'rounded px-2 py-1 text-xs',
                raw === choice ? 'font-medium text-ink' : 'text-ink3 hover:text-ink',
              )}
            >
              {choice ? texts.json.raw : texts.json.pretty}
            </button>
          ))}
        </fieldset>
        <div className="ml-auto">
          <CopyButton
            text={() => (raw ? text : formatJson(text))}
            label={`${texts.actions.copy}: ${label}`}
          />
        </div>
      </div>
      <ScrollArea aria-label={label} className="max-h-[28rem] p-3">
        <div className="font-mono text-xs leading-[1.6] [overflow-wrap:anywhere] whitespace-pre-wrap">
          {raw ? (
            <LongText text={text} />
          ) : (
            lines.map((line, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other identity
              <Line key={index} depth={line.depth} tokens={line.tokens} />
            ))
          )}
        </div>
        {cut && !raw && (
          <div className="mt-2 flex items-center gap-2 text-xs text-ink3">
            {texts.json.cut(count(limit))}
            <Button small onClick={() => setLimit((n) => n * 5)}>
              {texts.actions.showMore}
            </Button>
          </div>
        )}
      </ScrollArea>
    </div>
  );
}

// Indentation by class, because deep levels of a stranger's JSON must not push the text out of view.
const indents = ['pl-0', 'pl-4', 'pl-8', 'pl-12', 'pl-16', 'pl-20', 'pl-24', 'pl-28', 'pl-32'];

/** One line of laid-out text, each token in its colour. */
export function Line({ depth, tokens }: { depth: number; tokens: Token[] }) {
  return (
    <div className={indents[Math.min(depth, indents.length - 1)]}>
      {tokens.map((token, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no other identity
        <span key={index} className={colors[token.kind]}>
          <LongText text={token.text} />
        </span>
      ))}
    </div>
  );
}

/** Text that shows its beginning first when it is very long. */
export function LongText({ text }: { text: string }) {
  const [shown, setShown] = useState(longToken);
  if (text.length <= shown) return <>{plain(text)}</>;
  return (
    <>
      {plain(text.slice(0, shown))}
      <button
        type="button"
        onClick={() => setShown((n) => n * 10)}
        className="mx-1 rounded bg-accent-soft px-1.5 font-sans text-xs text-accent"
      >
        {texts.json.cutText(count(text.length - shown))}
      </button>
    </>
  );
}
