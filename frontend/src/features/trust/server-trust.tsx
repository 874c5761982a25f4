import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { More } from '@/components/more';
import { Loading } from '@/components/page';
import { useAllQueriesAnswered } from '@/lib/all-queries-answered';
import { escapeControlCharacters, exactTime } from '@/lib/format';
import { texts } from '@/lib/texts';
import type { ToolEvent } from '@/types/api';
import { changesQuery, toolLogQuery, trustQuery } from './api';
import { instructions, isAttackWarning, ToolChanges, Warnings } from './tool-changes';

const words = {
  withheld: 'Hidden from clients',
  suspicious: 'Suspicious descriptions',
};

/**
 * Withheld changes, warnings and the event log of a server's tools. The content below is shown at
 * the same time, so that there is no layout shift.
 */
export function ServerTrust({ server, children }: { server: string; children?: ReactNode }) {
  const known = [
    useQuery(changesQuery(server)),
    useQuery(trustQuery),
    useQuery(toolLogQuery(server)),
  ];
  if (!useAllQueriesAnswered(known)) return <Loading />;
  return (
    <>
      <Known server={server} />
      {children}
    </>
  );
}

function Known({ server }: { server: string }) {
  const { data: changes } = useQuery(changesQuery(server));
  const { data: trust } = useQuery(trustQuery);
  const { data: log } = useQuery(toolLogQuery(server));
  const suspicious = (trust ?? []).filter(
    (one) => one.server === server && !one.withheld && (one.warnings ?? []).some(isAttackWarning),
  );
  const events = (log ?? []).filter((event) => event.action !== 'new' || event.name !== '');
  if (!changes?.length && suspicious.length === 0 && events.length === 0) return null;
  return (
    <div className="space-y-4 border-y px-4 py-4 first:border-t-0 md:px-5 [&+section]:border-t-0">
      {changes && changes.length > 0 && (
        <section aria-label={words.withheld}>
          <Title text={words.withheld} />
          <p className="mb-3 text-sm text-ink2">{texts.trust.changed}</p>
          <ToolChanges server={server} />
        </section>
      )}
      {suspicious.length > 0 && (
        <section aria-label={words.suspicious}>
          <Title text={words.suspicious} />
          <p className="mb-3 text-sm text-ink2">
            Clients can see these tools. Hide one in the tool list if you do not trust it.
          </p>
          <ul className="space-y-2">
            {suspicious.slice(0, 50).map((one) => (
              <li key={one.tool}>
                <p className="text-sm font-medium [overflow-wrap:anywhere]">
                  {one.tool ? escapeControlCharacters(one.tool.slice(0, 200)) : instructions}
                  {acceptedByPerson(log ?? [], one.tool) && (
                    <span className="ml-2 text-xs font-normal text-ink3">Accepted by you</span>
                  )}
                </p>
                <Warnings list={one.warnings ?? []} />
              </li>
            ))}
          </ul>
          <More of={suspicious.length} shown={50} />
        </section>
      )}
      {events.length > 0 && (
        <details>
          <summary className="cursor-pointer text-sm text-ink2">{`Tool history (${events.length})`}</summary>
          <ul className="mt-2 space-y-1 text-xs text-ink2">
            {events.map((event) => (
              <li key={event.id} className="[overflow-wrap:anywhere]">
                <time dateTime={event.at} className="text-ink3">
                  {exactTime(event.at).slice(0, 19)}
                </time>{' '}
                <span className="font-medium">
                  {escapeControlCharacters(event.name.slice(0, 200))}
                </span>{' '}
                {texts.trust.actions[event.action as keyof typeof texts.trust.actions] ??
                  escapeControlCharacters(event.action)}
                <Detail event={event} />
                {event.newHash && (
                  <span className="font-mono text-ink3">
                    {' '}
                    {event.oldHash && `${event.oldHash.slice(0, 8)} → `}
                    {event.newHash.slice(0, 8)}
                  </span>
                )}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

/** Whether the newest event of a tool, or of the instructions, is an approval by the user. */
function acceptedByPerson(log: ToolEvent[], tool: string): boolean {
  const newest = log.find((event) =>
    tool ? event.kind === 'tool' && event.name === tool : event.kind === 'instructions',
  );
  return (
    newest?.action === 'accepted' &&
    ['', 'including all later changes', 'and every later change of it'].includes(newest.detail)
  );
}

/** The detail of an event. A warning ends with a quote of the server, which is marked as such. */
function Detail({ event: { action, detail } }: { event: ToolEvent }) {
  if (!detail) return null;
  const text = escapeControlCharacters(detail.slice(0, 300));
  if (action !== 'warned') return `: ${text}`;
  const end = text.indexOf('. ') + 1;
  return (
    <>
      {end > 0 && `: ${text.slice(0, end)}`}{' '}
      <span className="rounded bg-sunken px-1 font-mono text-ink3">{text.slice(end).trim()}</span>
    </>
  );
}

/** A heading in the style of the other sections of a server's page. */
function Title({ text }: { text: string }) {
  return <p className="mb-2 text-xs font-semibold tracking-wide text-ink3 uppercase">{text}</p>;
}
