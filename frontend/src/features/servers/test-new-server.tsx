import { useMutation } from '@tanstack/react-query';
import {
  CircleAlert,
  CircleCheck,
  FlaskConical,
  KeyRound,
  LoaderCircle,
  Square,
} from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { Button } from '@/components/button';
import { Failure } from '@/components/failure';
import { ScrollArea } from '@/components/scroll-area';
import { duration, escapeControlCharacters, logText } from '@/lib/format';
import { useNow } from '@/lib/now';
import { withoutPrototypes } from '@/lib/own-property';
import { request } from '@/lib/request';
import { texts } from '@/lib/texts';
import type { TestResult } from '@/types/api';

const testTexts = withoutPrototypes({
  stages: {
    configuration: 'Invalid configuration:',
    start: 'Failed to start:',
    connect: 'Failed to connect:',
    done: '',
  },
} as const);

const t = testTexts;
const shownTools = 12;

/** Starts a server briefly to test whether it works; nothing is saved. */
export function TestNewServer({
  name,
  entry,
  onAdd,
  onFill,
  mayStart,
}: {
  name: string;
  entry: string;
  /** Whether nothing is left to fill in; otherwise it shows what. */
  mayStart: () => boolean;
  /** Adds the server: only a configured server can be signed in to. */
  onAdd?: (() => void) | undefined;
  /** Asks for the value of a variable or secret. */
  onFill: (name: string) => void;
}) {
  const abort = useRef<AbortController | null>(null);
  useEffect(() => () => abort.current?.abort(), []);
  const [since, setSince] = useState(0);
  const test = useMutation({
    mutationFn: () => {
      abort.current = new AbortController();
      setSince(Date.now());
      return request<TestResult>('POST', '/api/v1/test', {
        bodyText: `{"name":${JSON.stringify(name)},"entry":${entry}}`,
        signal: abort.current.signal,
      });
    },
  });
  const stop = () => {
    abort.current?.abort();
    test.reset();
  };
  return (
    <div className="space-y-3 border-t pt-3">
      <div className="flex flex-wrap items-center gap-3">
        {test.isPending ? (
          <>
            <Button onClick={stop}>
              <Square className="size-3.5" aria-hidden />
              Stop
            </Button>
            <span role="status" className="flex items-center gap-2 text-sm text-ink2">
              <LoaderCircle className="size-4 animate-spin" aria-hidden />
              <Running since={since} />
            </span>
          </>
        ) : (
          <>
            <Button onClick={() => mayStart() && test.mutate()}>
              <FlaskConical className="size-4" aria-hidden />
              {test.data || test.isError ? 'Test again' : 'Test'}
            </Button>
            {!test.data && !test.isError && (
              <span className="text-sm text-ink3">
                Starts the server briefly. Nothing is saved.
              </span>
            )}
          </>
        )}
      </div>
      <Failure error={test.error} />
      {test.data?.login === 'needed' ? (
        <WantsLogin onAdd={onAdd} />
      ) : (
        test.data && <Result result={test.data} onFill={onFill} />
      )}
    </div>
  );
}

/** The result for a server that requires a sign-in: the rest cannot be tested yet. */
function WantsLogin({ onAdd }: { onAdd: (() => void) | undefined }) {
  return (
    <div className="space-y-2 text-sm" role="status">
      <p className="flex gap-2 font-medium text-warn">
        <KeyRound className="mt-0.5 size-4 shrink-0" aria-hidden />
        The server responds and requires sign-in.
      </p>
      <p className="text-ink2">You can sign in after the server is added.</p>
      {onAdd && (
        <Button onClick={onAdd}>
          <KeyRound className="size-4" aria-hidden />
          Add, then sign in
        </Button>
      )}
    </div>
  );
}

function Running({ since }: { since: number }) {
  const seconds = Math.max(0, Math.round((useNow() - since) / 1000));
  return `Starting and listing tools… ${seconds} s`;
}

function Result({ result, onFill }: { result: TestResult; onFill: (name: string) => void }) {
  const tools = result.tools ?? [];
  const { kind, name } = result.remedy ?? {};
  return (
    <div className="space-y-2 text-sm" role="status">
      <p
        className={`flex gap-2 font-medium ${result.ok ? 'text-ok' : 'text-bad'} [overflow-wrap:anywhere]`}
      >
        {result.ok ? (
          <CircleCheck className="mt-0.5 size-4 shrink-0" aria-hidden />
        ) : (
          <CircleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
        )}
        {result.ok
          ? `Works: found ${tools.length === 1 ? '1 tool' : `${tools.length} tools`} in ${duration(result.tookNs)}.`
          : `${t.stages[result.stage] ?? ''} ${escapeControlCharacters(result.error)}`.trim()}
      </p>
      {name && kind?.startsWith('set-') ? (
        <Button small onClick={() => onFill(name)}>
          <KeyRound className="size-3.5" aria-hidden />
          {texts.servers.remedy.setKey(escapeControlCharacters(name))}
        </Button>
      ) : (
        result.hint && (
          <p className="text-ink2 [overflow-wrap:anywhere]">
            {escapeControlCharacters(result.hint)}
          </p>
        )
      )}
      {[...(result.problems ?? []).map((p) => p.message), ...(result.warnings ?? [])].map(
        (text) => (
          <p key={text} className="text-warn [overflow-wrap:anywhere]">
            {escapeControlCharacters(text.slice(0, 500))}
          </p>
        ),
      )}
      {tools.length > 0 && (
        <ul className="flex flex-wrap gap-1.5">
          {tools.slice(0, shownTools).map((tool) => (
            <li
              key={tool.name}
              title={escapeControlCharacters(tool.description.slice(0, 300))}
              className="max-w-60 truncate rounded bg-sunken px-1.5 py-0.5 font-mono text-xs"
            >
              {escapeControlCharacters(tool.name)}
            </li>
          ))}
          {tools.length > shownTools && (
            <li className="px-1 text-xs text-ink3">{texts.more(tools.length - shownTools)}</li>
          )}
        </ul>
      )}
      {!result.ok && (result.log ?? []).length > 0 && (
        <ScrollArea
          aria-label="Log"
          className="max-h-48 rounded-md border bg-sunken p-2.5 font-mono text-xs whitespace-pre-wrap [overflow-wrap:anywhere]"
        >
          {(result.log ?? []).map((line) => logText(line.slice(0, 4000))).join('\n')}
        </ScrollArea>
      )}
    </div>
  );
}
