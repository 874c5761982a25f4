import { useQuery } from '@tanstack/react-query';
import { ArrowDownLeft, ArrowUpRight } from 'lucide-react';
import { useState } from 'react';
import { Button } from '@/components/button';
import { CopyButton, CopyField } from '@/components/copy-button';
import { Facts, Section } from '@/components/fields';
import { JsonView, LongText } from '@/components/json-view';
import { Failed, Loading } from '@/components/page';
import { ScrollArea } from '@/components/scroll-area';
import {
  age,
  bytes,
  clock,
  duration,
  escapeControlCharacters,
  exactTime,
  logText,
} from '@/lib/format';
import { isJson } from '@/lib/json-text';
import { useNow } from '@/lib/now';
import { ownValue, withoutPrototypes } from '@/lib/own-property';
import { texts } from '@/lib/texts';
import type { Debug, Frame } from '@/types/api';
import { debugQuery } from './api';
import { ProcessTree } from './process-tree';

const debugTexts = withoutPrototypes({
  sessions: {
    shared: 'One for all clients',
    perClient: 'One for each client',
    perSession: 'One for each session',
    perRoot: 'One for each folder',
    perCall: 'One for each call',
  } as Record<string, string>,
} as const);

const words = {
  stderr: 'Last output',
  sent: 'Sent to the server',
  received: 'Received from the server',
  capabilities: 'Capabilities',
};

const t = debugTexts;

/** Debug information of a server: its command, environment, timings, output and messages. */
export function ServerDebug({ id }: { id: string }) {
  const debug = useQuery(debugQuery(id));
  const now = useNow();
  if (debug.isPending) return <Loading />;
  if (debug.isError) return <Failed error={debug.error} onRetry={() => debug.refetch()} />;
  const d = debug.data;
  return (
    <>
      <Section
        title="Command"
        aside={
          <CopyButton
            showLabel
            label="Copy all as JSON"
            text={() => JSON.stringify(withoutFrames(d), null, 2)}
          />
        }
      >
        <div className="space-y-2">
          {d.configured && (
            <CopyField text={escapeControlCharacters(d.configured)} label="As configured" />
          )}
          <Facts
            rows={[
              ['Program', d.path && <Mono text={d.path} />],
              ['PATH', d.searchPath && <Mono text={d.searchPath.replaceAll(':', ':\u200b')} />],
              ['Working folder', d.dir && <Mono text={d.dir} />],
              ['Instances', ownValue(t.sessions, d.session) ?? d.session],
              ['Start mode', ownValue(texts.servers.config.starts, d.start) ?? d.start],
              ['Message framing', d.framing === 'auto' ? 'Detected automatically' : d.framing],
            ]}
          />
        </div>
      </Section>
      {(d.environment ?? []).length > 0 && (
        <Section title="Environment">
          <ul className="flex flex-wrap gap-1.5">
            {(d.environment ?? []).map((name) => (
              <li
                key={name}
                className="max-w-full truncate rounded border bg-sunken px-1.5 py-0.5 font-mono text-xs"
              >
                {escapeControlCharacters(name.slice(0, 200))}
              </li>
            ))}
          </ul>
          <p className="mt-2 text-xs text-ink3">Names only. Values are never shown here.</p>
        </Section>
      )}
      {(d.processes ?? []).length > 0 && (
        <Section title="Processes">
          <ProcessTree tree={d.processes ?? []} />
        </Section>
      )}
      <Section title="Connection">
        <Times debug={d} now={now} />
      </Section>
      {(d.stderr ?? []).length > 0 && (
        <Section title={words.stderr}>
          <ScrollArea
            aria-label={words.stderr}
            className="max-h-60 rounded-md border bg-sunken p-3 font-mono text-xs whitespace-pre-wrap [overflow-wrap:anywhere]"
          >
            {(d.stderr ?? []).map((line) => logText(line.slice(0, 4000))).join('\n')}
          </ScrollArea>
        </Section>
      )}
      <Frames frames={d.frames ?? []} now={now} />
      {d.capabilities !== undefined && d.capabilities !== null && (
        <Section title={words.capabilities}>
          <JsonView text={JSON.stringify(d.capabilities)} label={words.capabilities} />
        </Section>
      )}
      {d.instructions && (
        <Section title="Instructions">
          <p className="max-w-prose text-sm whitespace-pre-wrap [overflow-wrap:anywhere]">
            <LongText text={d.instructions} />
          </p>
        </Section>
      )}
    </>
  );
}

function withoutFrames({ frames: _, ...rest }: Debug) {
  return rest;
}

function Mono({ text }: { text: string }) {
  return <span className="font-mono text-xs">{escapeControlCharacters(text.slice(0, 8000))}</span>;
}

function Times({ debug: { timings, status, bothEras }, now }: { debug: Debug; now: number }) {
  const when = (at: string) => {
    const past = age(at, now);
    return past && <span title={exactTime(at)}>{texts.servers.ago(past)}</span>;
  };
  return (
    <Facts
      rows={[
        ['Protocol', texts.mcp(status.protocolVersion, status.era)],
        ['Second connection', bothEras && 'open, with MCP 2026-07-28'],
        ['Last start', when(timings.began)],
        ['Start duration', timings.startTookNs > 0 && duration(timings.startTookNs)],
        ['Tools listed', when(timings.listedAt)],
        ['Last response', when(timings.lastMessage)],
        ['Last call', when(timings.lastCall)],
        ['Ping', timings.pingTookNs > 0 && duration(timings.pingTookNs)],
        ['Next start in', timings.nextLaunchNs > 0 && duration(timings.nextLaunchNs)],
      ]}
    />
  );
}

/** The newest messages, shown only after a click, because they can contain secrets. */
function Frames({ frames, now }: { frames: Frame[]; now: number }) {
  const [open, setOpen] = useState(false);
  if (frames.length === 0) return null;
  return (
    <Section title="Last messages">
      {open ? (
        <ul className="space-y-3">
          {frames.map((frame, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: messages can be equal
            <li key={`${frame.at}/${index}`}>
              <p className="mb-1 flex items-center gap-1.5 text-xs text-ink3">
                {frame.sent ? (
                  <ArrowUpRight className="size-3.5" aria-hidden />
                ) : (
                  <ArrowDownLeft className="size-3.5" aria-hidden />
                )}
                {frame.sent ? words.sent : words.received}
                <span>{clock(frame.at, now)}</span>
                <span className="ml-auto">{bytes(frame.bytes)}</span>
              </p>
              {frame.http && (
                <p className="mb-1 rounded-md border bg-sunken p-2 font-mono text-xs whitespace-pre-wrap [overflow-wrap:anywhere]">
                  {frame.http}
                </p>
              )}
              {frame.http && frame.bytes === 0 ? null : isJson(frame.text) ? (
                <JsonView text={frame.text} label={frame.sent ? words.sent : words.received} />
              ) : (
                <p className="rounded-md border bg-sunken p-2 font-mono text-xs whitespace-pre-wrap [overflow-wrap:anywhere]">
                  <LongText text={frame.text} />
                </p>
              )}
            </li>
          ))}
        </ul>
      ) : (
        <div className="flex flex-wrap items-center gap-3 text-sm text-ink2">
          <Button small onClick={() => setOpen(true)}>
            {frames.length === 1 ? 'Show one message' : `Show ${frames.length} messages`}
          </Button>
          Raw messages. Recognized secrets are redacted; others may remain.
        </div>
      )}
    </Section>
  );
}
