import { useMemo, useState } from 'react';
import { CodeView } from '@/components/code';
import { CopyButton } from '@/components/copy-button';
import { Segments } from '@/components/segments';
import { count, plain } from '@/lib/format';
import { formatJson } from '@/lib/json-text';
import { texts } from '@/lib/texts';

const longToken = 4000;

/** JSON text, formatted without being parsed: every number is the one that was sent. */
export function JsonView({ text, label }: { text: string; label: string }) {
  const [view, setView] = useState<'pretty' | 'raw'>('pretty');
  const raw = view === 'raw';
  const pretty = useMemo(() => formatJson(text), [text]);
  return (
    <div className="rounded-md border bg-sunken">
      <div className="flex items-center gap-1 border-b px-1 py-0.5">
        <Segments
          label={texts.json.view}
          value={view}
          onChange={setView}
          options={[
            { value: 'pretty', text: texts.json.pretty },
            { value: 'raw', text: texts.json.raw },
          ]}
        />
        <div className="ml-auto">
          <CopyButton
            text={() => (raw ? text : pretty)}
            label={`${texts.actions.copy}: ${label}`}
          />
        </div>
      </div>
      <CodeView text={raw ? text : pretty} label={label} language="json" />
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
