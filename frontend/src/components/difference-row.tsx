import { LongText } from '@/components/json-view';
import { plain } from '@/lib/format';
import type { Difference } from '@/lib/json-diff';
import { texts } from '@/lib/texts';

/** One place that differs: how it was, and how it is. */
export function DifferenceRow({ difference: { path, before, after } }: { difference: Difference }) {
  return (
    <li className="border-t font-mono text-xs leading-[1.6] first:border-t-0">
      {path && (
        <p className="bg-sunken px-3 py-1 font-semibold [overflow-wrap:anywhere]">
          {plain(path.slice(0, 500))}
        </p>
      )}
      <div className="grid sm:grid-cols-2">
        <Side sign="−" text={before} className="bg-bad-soft text-bad" />
        <Side sign="+" text={after} className="bg-ok-soft text-ok" />
      </div>
    </li>
  );
}

function Side({
  sign,
  text,
  className,
}: {
  sign: string;
  text: string | undefined;
  className: string;
}) {
  if (text === undefined) {
    // Nothing was added or removed here, so no sign and no colour.
    return <em className="bg-sunken px-3 py-1 text-ink3">{texts.calls.compareMissing}</em>;
  }
  return (
    <div className={`flex min-w-0 gap-2 px-3 py-1 ${className}`}>
      <span aria-hidden>{sign}</span>
      <span className="min-w-0 whitespace-pre-wrap [overflow-wrap:anywhere]">
        <LongText text={text} />
      </span>
    </div>
  );
}
