import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import {
  ChevronDown,
  Copy,
  Download,
  FileQuestion,
  GitCompare,
  Link2,
  Pencil,
  Terminal,
  TriangleAlert,
} from 'lucide-react';
import { memo, type ReactNode, useMemo, useState } from 'react';
import { Button, buttonClasses } from '@/components/button';
import { CopyButton, writeClipboard } from '@/components/copy-button';
import { Facts, Section } from '@/components/fields';
import { JsonView } from '@/components/json-view';
import { Menu } from '@/components/menu';
import { OutcomeBadge } from '@/components/outcome-badge';
import { Empty, Failed, Loading } from '@/components/page';
import { ResultText } from '@/components/result-text';
import { DetailFrame } from '@/components/split';
import { classes } from '@/lib/classes';
import { bytes, cut, duration, exactTime, plain, wellFormed } from '@/lib/format';
import { RequestError } from '@/lib/request';
import { saveText } from '@/lib/save';
import { statusQuery } from '@/lib/status';
import { texts } from '@/lib/texts';
import { toast } from '@/lib/toast';
import type { Call, Cut, CallDetail as Detail } from '@/types/api';
import { callQueryOptions, useLiveCalls } from './api';
import { CallDuration } from './call-duration';
import { callName } from './call-row';
import { Compare, useCompared } from './compare';
import { asCommand, asCurl, asJson, canRepeat } from './copy-as';
import { Erase } from './erase';
import { isFailure } from './filters';
import { CallNote } from './note';
import { ReplayButton } from './replay';

const t = texts.calls;

/** One call: what was sent and answered, how long it took, and what can be done with it. */
export function CallDetail({
  id,
  labelOf,
  toolOf,
  remedy,
  saveCheck,
  onClose,
}: {
  id: string;
  labelOf: (server: string) => string;
  /** The name of its tool by now, and whether that only reads. */
  toolOf: (call: Call) => { name: string; readOnly: boolean };
  /** What else can be done about a call that failed. */
  remedy?: (call: Call) => ReactNode;
  /** A button that makes a check of a call that can be made again. */
  saveCheck?: (call: Call) => ReactNode;
  onClose: () => void;
}) {
  const live = useLiveCalls();
  const stored = useQuery(callQueryOptions(id));
  const known = live.find((call) => call.id === id);
  // One object for as long as nothing changed: payloads are costly to lay out again.
  const call = useMemo<Detail | undefined>(
    () => (known ? { ...stored.data, ...known } : stored.data),
    [known, stored.data],
  );
  const compared = useCompared(call);

  if (!call) {
    const missing = stored.error instanceof RequestError && stored.error.status === 404;
    return (
      <DetailFrame id={id} title={t.title} onClose={onClose}>
        {stored.isPending ? (
          <Loading />
        ) : missing ? (
          <Empty icon={FileQuestion} title={t.gone}>
            {t.goneBody}
          </Empty>
        ) : (
          <Failed error={stored.error} onRetry={() => stored.refetch()} />
        )}
      </DetailFrame>
    );
  }
  // Known by its event only: what can be done with it, and what it said, comes in one piece.
  const coming = (stored.isPending && call.outcome !== '') || !compared;
  return (
    <DetailFrame
      id={id}
      title={
        <>
          {call.server && (
            <span className="font-normal text-ink3">{plain(cut(labelOf(call.server), 40))} / </span>
          )}
          {plain(callName(call).slice(0, 500))}
        </>
      }
      meta={
        <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <OutcomeBadge outcome={call.outcome} className="font-medium" />
          <span>
            <CallDuration call={call} />
          </span>
          <span className="text-ink3">{exactTime(call.at)}</span>
          {call.outcome === '' && call.progress > 0 && (
            <span role="status">{t.progress(call.progress)}</span>
          )}
        </span>
      }
      actions={
        !coming && (
          <CallActions
            call={call}
            server={labelOf(call.server)}
            tool={toolOf(call)}
            saveCheck={saveCheck}
            onGone={onClose}
          />
        )
      }
      onClose={onClose}
    >
      {coming ? (
        <Loading />
      ) : (
        <Content call={call} labelOf={labelOf} loading={stored.isPending} remedy={remedy} />
      )}
    </DetailFrame>
  );
}

function Content({
  call,
  labelOf,
  loading,
  remedy,
}: {
  call: Detail;
  labelOf: (server: string) => string;
  loading: boolean;
  remedy: ((call: Call) => ReactNode) | undefined;
}) {
  return (
    <>
      {call.reason && (
        <p
          className={classes(
            'px-4 py-3 text-sm [overflow-wrap:anywhere] md:px-5',
            isFailure(call) ? 'bg-bad-soft text-bad' : 'bg-sunken text-ink2',
          )}
        >
          {plain(call.reason.slice(0, 4000))}
        </p>
      )}
      {call.invalid && (
        <div className="flex gap-2 bg-warn-soft px-4 py-3 text-sm text-warn md:px-5">
          <TriangleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
          <p className="min-w-0 [overflow-wrap:anywhere]">
            <span className="font-medium">{t.invalid}</span> {plain(call.invalid.slice(0, 1000))}
          </p>
        </div>
      )}
      {call.outcome !== '' && remedy?.(call)}
      <Compare call={call} labelOf={labelOf} />
      <Payloads call={call} loading={loading} />
      {call.outcome !== '' && <CallNote key={call.id} call={call} />}
      {call.outcome !== '' && (
        <Section title={t.timing}>
          <Timing call={call} />
        </Section>
      )}
      <Section title={t.facts}>
        <CallFacts call={call} server={labelOf(call.server)} />
      </Section>
    </>
  );
}

function CallActions({
  call,
  server,
  tool,
  saveCheck,
  onGone,
}: {
  call: Detail;
  server: string;
  tool: { name: string; readOnly: boolean };
  saveCheck: ((call: Call) => ReactNode) | undefined;
  onGone: () => void;
}) {
  const { data: status } = useQuery(statusQuery);
  const repeat = canRepeat(call);
  return (
    <div className="-ml-2 flex flex-wrap">
      {repeat && call.outcome !== '' && (
        <>
          <ReplayButton key={call.id} call={call} server={server} readOnly={tool.readOnly} />
          <Link
            to="/tools"
            search={{ tool: tool.name, from: call.id }}
            className={buttonClasses('quiet', true)}
          >
            <Pencil className="size-3.5" aria-hidden />
            {t.replay}
          </Link>
          <Link
            to="/calls/$id"
            params={{ id: call.id }}
            search={(old) => ({ ...old, with: 'pick' })}
            className={buttonClasses('quiet', true)}
          >
            <GitCompare className="size-3.5" aria-hidden />
            {t.compare}
          </Link>
          {saveCheck?.(call)}
        </>
      )}
      <Menu
        items={[
          {
            text: t.copyLink,
            icon: Link2,
            onSelect: () => copy(`${location.origin}${location.pathname}#/calls/${call.id}`),
          },
          ...(repeat
            ? [
                { text: t.copyCli, icon: Terminal, onSelect: () => copy(asCommand(call)) },
                {
                  text: t.copyCurl,
                  icon: Terminal,
                  onSelect: () => copy(asCurl(call, status?.url ?? '')),
                },
              ]
            : []),
          {
            text: t.saveCall,
            icon: Download,
            onSelect: () => saveText(asJson(call), `call-${call.id}.json`),
          },
        ]}
      >
        <Button small look="quiet">
          <Copy className="size-3.5" aria-hidden />
          {t.take}
          <ChevronDown className="size-3.5" aria-hidden />
        </Button>
      </Menu>
      {call.outcome !== '' && (
        <Erase what={{ ids: [call.id] }} title={t.deleteTitle} onGone={onGone} />
      )}
    </div>
  );
}

async function copy(text: string): Promise<void> {
  const done = await writeClipboard(text);
  toast(done ? 'ok' : 'bad', done ? texts.actions.copied : texts.actions.copyFailed);
}

const Payloads = memo(function Payloads({ call, loading }: { call: Detail; loading: boolean }) {
  const running = call.outcome === '';
  return (
    <>
      <Section title={t.arguments}>
        <Payload text={call.arguments} label={t.arguments} loading={loading}>
          {running ? t.notYet : t.noArguments}
        </Payload>
        <CutNote cut={call.argumentsCut} />
      </Section>
      {call.error ? (
        <Section title={t.error}>
          <JsonView text={call.error} label={t.error} />
          <CutNote cut={call.replyCut} />
        </Section>
      ) : (
        !running && <Result call={call} loading={loading} />
      )}
      {call.stack && (
        <Section
          title={t.stack}
          aside={<CopyButton showLabel label={t.copyStack} text={() => call.stack ?? ''} />}
        >
          <p className="mb-2 text-sm text-ink2">{t.stackBody}</p>
          <pre
            // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
            tabIndex={0}
            className="max-h-80 overflow-auto rounded-md bg-sunken p-3 font-mono text-xs"
          >
            {plain(call.stack)}
          </pre>
        </Section>
      )}
    </>
  );
});

/** A result's own text first, because that is what the model read; the JSON is one click away. */
function Result({ call, loading }: { call: Detail; loading: boolean }) {
  const [json, setJson] = useState(false);
  const readable = call.result !== undefined && ResultText.canShow(call.result);
  return (
    <Section
      title={t.result}
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
        <Payload text={call.result} label={t.result} loading={loading}>
          {t.notRecorded}
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
  return <p className="mt-2 text-xs text-warn">{t.cut(bytes(cut.size))}</p>;
}

/** Waiting and work as one bar, drawn to scale. */
function Timing({ call }: { call: Call }) {
  const queued = Math.min(call.queuedNs, call.tookNs);
  const share = call.tookNs > 0 ? (queued / call.tookNs) * 100 : 0;
  return (
    <>
      <svg
        viewBox="0 0 100 2"
        preserveAspectRatio="none"
        className="mb-2 h-2 w-full rounded-full"
        aria-hidden
      >
        <rect width="100" height="2" className="fill-accent" />
        <rect width={share} height="2" className="fill-warn" />
      </svg>
      <Facts
        rows={[
          [t.total, duration(call.tookNs)],
          [t.queued, queued > 0 && duration(queued)],
          [t.working, duration(call.tookNs - queued)],
        ]}
      />
    </>
  );
}

function CallFacts({ call, server }: { call: Call; server: string }) {
  return (
    <Facts
      rows={[
        [t.time, exactTime(call.at)],
        [t.clientName, plain([call.client, call.clientVersion].filter(Boolean).join(' '))],
        [t.token, plain(call.token)],
        [
          t.server,
          call.server && (
            <Link
              to="/servers/$id"
              params={{ id: call.server }}
              className="text-accent underline-offset-2 hover:underline"
            >
              {plain(server.slice(0, 200))}
            </Link>
          ),
        ],
        [t.method, plain(call.method)],
        [t.publicName, call.publicName !== call.tool && plain(call.publicName)],
        [t.direction, call.fromServer && t.fromServer],
        [t.code, call.code],
        [t.sizes, t.sizesValue(bytes(call.bytesIn), bytes(call.bytesOut))],
        [t.attempts, call.attempts > 1 && call.attempts],
        [t.progressLabel, call.progress > 0 && t.progress(call.progress)],
        [t.era, call.era],
        [
          t.session,
          call.session && (
            <Link
              to="/sessions/$session"
              params={{ session: wellFormed(call.session) }}
              className="text-accent underline-offset-2 hover:underline"
            >
              <Mono text={call.session} />
            </Link>
          ),
        ],
        [
          t.workspace,
          call.workspace && (
            <Link
              to="/calls"
              search={{ workspace: call.workspace }}
              className="text-accent underline-offset-2 hover:underline"
            >
              {plain(call.workspace.slice(0, 500))}
            </Link>
          ),
        ],
        [t.instance, call.instance && <Mono text={call.instance} />],
        [t.trace, call.traceId && <Mono text={call.traceId} />],
        [t.id, <Mono key="id" text={call.id} />],
      ]}
    />
  );
}

function Mono({ text }: { text: string }) {
  return <span className="font-mono text-xs">{plain(text)}</span>;
}
