import { ChevronRight } from 'lucide-react';
import { useState } from 'react';
import { Button } from '@/components/button';
import { LongText } from '@/components/json-view';
import { classes } from '@/lib/classes';
import { count, plain } from '@/lib/format';
import { jsonElements, jsonMembers } from '@/lib/json-text';
import { texts } from '@/lib/texts';

const firstChildren = 100;

/** JSON text as a tree to open and close. Only what is open is laid out. */
export function JsonTree({ text }: { text: string }) {
  return (
    <ul className="space-y-0.5 font-mono text-xs leading-[1.6]">
      <Children text={text} depth={0} />
    </ul>
  );
}

type Child = [name: string, raw: string];

function childrenOf(text: string): Child[] | undefined {
  if (text.startsWith('{')) return [...(jsonMembers(text) ?? [])];
  if (text.startsWith('[')) return jsonElements(text)?.map((raw, i) => [String(i), raw]);
  return undefined;
}

function Children({ text, depth }: { text: string; depth: number }) {
  const [shown, setShown] = useState(firstChildren);
  const children = childrenOf(text.trim());
  if (!children) {
    return (
      <li>
        <Value text={text} />
      </li>
    );
  }
  return (
    <>
      {children.slice(0, shown).map(([name, raw]) => (
        <Branch key={name} name={name} raw={raw} depth={depth} />
      ))}
      {children.length > shown && (
        <li>
          <Button small onClick={() => setShown((n) => n * 5)}>
            {texts.json.moreItems(count(children.length - shown))}
          </Button>
        </li>
      )}
    </>
  );
}

function Branch({ name, raw, depth }: { name: string; raw: string; depth: number }) {
  const [open, setOpen] = useState(depth < 2);
  const branch = raw.startsWith('{') || raw.startsWith('[');
  if (!branch) {
    return (
      <li className="pl-5 [overflow-wrap:anywhere]">
        <span className="text-accent">{plain(name.slice(0, 500))}</span>
        <span className="text-ink3">: </span>
        <Value text={raw} />
      </li>
    );
  }
  return (
    <li>
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen((on) => !on)}
        className="inline-flex max-w-full items-center gap-1 rounded text-left hover:bg-hover"
      >
        <ChevronRight
          className={classes('size-4 shrink-0 text-ink3', open && 'rotate-90')}
          aria-hidden
        />
        <span className="text-accent [overflow-wrap:anywhere]">{plain(name.slice(0, 500))}</span>
        <span className="text-ink3">
          {texts.json.size(childrenOf(raw)?.length ?? 0, raw.charAt(0))}
        </span>
      </button>
      {open && (
        <ul className={classes('space-y-0.5 border-l', depth < 8 ? 'ml-2 pl-2' : 'ml-0.5 pl-0.5')}>
          <Children text={raw} depth={depth + 1} />
        </ul>
      )}
    </li>
  );
}

function Value({ text }: { text: string }) {
  const first = text.charAt(0);
  return (
    <span
      className={classes(
        'whitespace-pre-wrap',
        first === '"' ? 'text-ok' : /[tfn]/.test(first) ? 'text-bad' : 'text-warn',
      )}
    >
      <LongText text={text} />
    </span>
  );
}
