import { memo, useState } from 'react';
import { Button } from '@/components/button';
import { CopyButton } from '@/components/copy-button';
import { Section } from '@/components/fields';
import { JsonView } from '@/components/json-view';
import { reachedServer } from '@/components/outcome-badge';
import { ResultText } from '@/components/result-text';
import { bytes, escapeControlCharacters } from '@/lib/format';
import { texts } from '@/lib/texts';
import type { Cut, CallDetail as Detail } from '@/types/api';
import { callsTexts } from './texts';

const words = {
  error: 'Error',
};

/** The payloads of the request and the response. */
export const Payloads = memo(function Payloads({
  call,
  loading,
}: {
  call: Detail;
  loading: boolean;
}) {
  const running = call.outcome === '';
  // An error is what is looked for first.
  const failed = call.outcome === 'tool_error';
  return (
    <>
      {failed && <Result call={call} loading={loading} />}
      <Section title={callsTexts.arguments}>
        <Payload text={call.arguments} label={callsTexts.arguments} loading={loading}>
          {running ? 'Available when the call has finished.' : texts.calls.noArguments}
        </Payload>
        <CutNote cut={call.argumentsCut} />
      </Section>
      {call.error ? (
        <Section title={words.error}>
          <JsonView text={call.error} label={words.error} />
          <CutNote cut={call.replyCut} />
        </Section>
      ) : (
        !running && !failed && <Result call={call} loading={loading} />
      )}
      {call.stack && (
        <Section
          title="Stack trace"
          aside={<CopyButton showLabel label="Copy stack trace" text={() => call.stack ?? ''} />}
        >
          <p className="mb-2 text-sm text-ink2">
            This is a bug in Drawbridge. Please report it with this stack trace.
          </p>
          <pre
            // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable
            tabIndex={0}
            className="max-h-80 overflow-auto rounded-md bg-sunken p-3 font-mono text-xs"
          >
            {escapeControlCharacters(call.stack)}
          </pre>
        </Section>
      )}
    </>
  );
});

/** The text of a result first, because that is what the model reads; a button shows the JSON. */
function Result({ call, loading }: { call: Detail; loading: boolean }) {
  const [json, setJson] = useState(false);
  const readable = call.result !== undefined && ResultText.canShow(call.result);
  return (
    <Section
      title={call.outcome === 'tool_error' ? words.error : texts.calls.result}
      aside={
        readable && (
          <Button small look="quiet" aria-pressed={json} onClick={() => setJson((on) => !on)}>
            JSON
          </Button>
        )
      }
    >
      {call.result !== undefined && readable && !json ? (
        <ResultText text={call.result} />
      ) : (
        <Payload text={call.result} label={texts.calls.result} loading={loading}>
          {reachedServer(call) ? 'Not recorded.' : 'No result: the server was not called.'}
        </Payload>
      )}
      <CutNote cut={call.replyCut} />
    </Section>
  );
}

function Payload({
  text,
  label,
  loading,
  children,
}: {
  text: string | undefined;
  label: string;
  loading: boolean;
  children: string;
}) {
  if (text) return <JsonView text={text} label={label} />;
  return <p className="text-sm text-ink3">{loading ? texts.loading : children}</p>;
}

function CutNote({ cut }: { cut: Cut | undefined }) {
  if (!cut) return null;
  return (
    <p className="mt-2 text-xs text-warn">{`Truncated: the original size is ${bytes(cut.size)}.`}</p>
  );
}
