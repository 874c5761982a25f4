import { useMemo, useState } from 'react';
import { CopyButton } from '@/components/copy-button';
import { CodeView } from '@/components/lazy-code-editor';
import { SegmentedControl } from '@/components/segmented-control';
import { count, escapeControlCharacters } from '@/lib/format';
import { formatJson } from '@/lib/json-text';
import { withoutPrototypes } from '@/lib/own-property';
import { texts } from '@/lib/texts';
import { useWideScreen } from '@/lib/wide-screen';

const jsonTexts = withoutPrototypes({
  pretty: 'Formatted',
  raw: 'Raw',
  cutText: (n: string) => `${n} more characters`,
  view: 'JSON view',
} as const);

const longToken = 4000;
/** CodeMirror needs minutes for a line of several megabytes. */
const longestLine = 100_000;

const views = ['pretty', 'raw'] as const;

/** JSON text as foldable JSON or raw; it is not parsed, so numbers keep their digits. */
export function JsonView({
  text,
  label,
  title = false,
  plain = false,
}: {
  text: string;
  label: string;
  /** Whether the label is shown. */
  title?: boolean;
  /** Formatted only, without the other views. */
  plain?: boolean;
}) {
  const [view, setView] = useState<(typeof views)[number]>('pretty');
  const [most, setMost] = useState(longToken);
  const Heading = useWideScreen() ? 'h4' : 'h3'; // one level below that of its section
  const whole = useMemo(() => (view === 'raw' ? text : formatJson(text)), [view, text]);
  const shown = useMemo(
    () =>
      whole
        .split('\n')
        .map((line) => line.slice(0, most))
        .join('\n'),
    [whole, most],
  );
  const hidden = whole.length - shown.length;
  return (
    <div className="relative rounded-md border bg-sunken">
      <div
        className={
          plain
            ? 'absolute top-0.5 right-0.5 z-10'
            : 'flex flex-wrap items-center gap-x-3 border-b px-1 py-0.5'
        }
      >
        {title && <Heading className="flex-1 pl-2 text-xs text-ink3">{label}</Heading>}
        {!plain && (
          <SegmentedControl
            label={jsonTexts.view}
            value={view}
            onChange={setView}
            options={views.map((value) => ({ value, text: jsonTexts[value] }))}
          />
        )}
        <div className="ml-auto">
          <CopyButton text={whole} label={`${texts.actions.copy}: ${label}`} />
        </div>
      </div>
      <CodeView text={shown} label={label} language="json" />
      {hidden > 0 && (
        <p className="border-t px-3 py-1.5 text-xs text-ink3">
          {most < longestLine ? (
            <More hidden={hidden} onShow={() => setMost(longestLine)} />
          ) : (
            jsonTexts.cutText(count(hidden))
          )}
        </p>
      )}
    </div>
  );
}

function More({ hidden, onShow }: { hidden: number; onShow: () => void }) {
  return (
    <button
      type="button"
      onClick={onShow}
      className="mx-1 rounded bg-accent-soft px-1.5 font-sans text-xs text-accent"
    >
      {jsonTexts.cutText(count(hidden))}
    </button>
  );
}

/** Text that is first shown truncated if it is very long. */
export function LongText({ text }: { text: string }) {
  const [shown, setShown] = useState(longToken);
  if (text.length <= shown) return <>{escapeControlCharacters(text)}</>;
  return (
    <>
      {escapeControlCharacters(text.slice(0, shown))}
      <More
        hidden={text.length - shown}
        onShow={() => setShown((n) => (text.length <= 2_000_000 ? text.length : n * 10))}
      />
    </>
  );
}
