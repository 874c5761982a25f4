import { useQuery } from '@tanstack/react-query';
import { ScrollArea } from '@/components/scroll-area';
import { classes } from '@/lib/class-names';
import { bytes, count, escapeControlCharacters, share } from '@/lib/format';
import { texts } from '@/lib/texts';
import type { ModeCost, UsageStats } from '@/types/api';
import { sessionCostsQuery, usageQuery } from './api';
import { costsByClient } from './costs-by-client';

const modes = { all: 'All', search: 'Search', deferred: 'Deferred' } as const;

const short = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });

const once = (tokens: string) =>
  `${tokens} tokens if each part is read once, as with a prompt cache`;

/** What the recorded sessions of each client cost in each tool mode. */
export function SessionCosts({ client }: { client: string | undefined }) {
  const { data } = useQuery(sessionCostsQuery(client));
  const { data: month } = useQuery(usageQuery({ range: '30d', client }, 60_000));
  const sessions = data?.items ?? [];
  const clients = costsByClient(sessions);
  if (clients.length === 0) return null;
  return (
    <section aria-label="Tokens by tool listing">
      <h2 className="font-semibold">Tokens by tool listing</h2>
      <p className="mt-1 mb-2 text-sm text-ink2">
        What the newest {sessions.length === 1 ? 'session' : `${count(sessions.length)} sessions`}{' '}
        would have cost with each listing of the tools, estimated. The list is sent again in each
        turn; results are the same in all listings. The current listing is bold. Calls without a
        session are not included.
      </p>
      <ScrollArea
        aria-label="Tokens by tool listing and client"
        className="overflow-x-auto rounded-lg border bg-panel shadow-card"
      >
        <table className="w-full min-w-[44rem] text-sm">
          <thead>
            <tr className="text-left text-xs text-ink3">
              <th scope="col" className="px-4 py-2 font-normal">
                Client
              </th>
              {['Sessions', 'Calls', ...Object.values(modes), 'Results'].map((title) => (
                <th key={title} scope="col" className="px-3 py-2 text-right font-normal">
                  {title}
                </th>
              ))}
              <th
                scope="col"
                className="px-3 py-2 text-right font-normal"
                title="Share of result bytes that repeat structuredContent as text. To send them once: drawbridge profiles use CLIENT --single-copy"
              >
                Repeated results
              </th>
              <th scope="col" className="px-3 py-2 font-normal">
                Listing now
              </th>
            </tr>
          </thead>
          <tbody>
            {clients.map((one) => (
              <tr key={`${one.client}/${one.token}`} className="border-t hover:bg-hover">
                <th scope="row" className="max-w-48 truncate px-4 py-1.5 text-left font-medium">
                  {escapeControlCharacters(
                    (one.client || one.token || texts.calls.unknownClient).slice(0, 100),
                  )}
                </th>
                <td className="px-3 text-right">{count(one.sessions)}</td>
                <td className="px-3 text-right">{count(one.calls)}</td>
                {one.modes.map((mode) => (
                  <Cost key={mode.mode} mode={mode} now={mode.mode === one.mode} />
                ))}
                <td className="px-3 text-right">~{short.format(one.resultTokens)}</td>
                <SentTwice
                  use={month?.clients.find(
                    (use) => (use.client ?? '') === one.client && (use.token ?? '') === one.token,
                  )}
                />
                <td className="px-3 text-ink2">
                  {modes[one.mode]}
                  {one.searches && '; the client searches'}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollArea>
    </section>
  );
}

/** The part of the results of a client that it got twice. */
function SentTwice({ use }: { use: UsageStats | undefined }) {
  return (
    <td className="px-3 text-right" title={use && bytes(use.repeatedBytes)}>
      {use ? share(use.repeatedBytes, use.resultBytes) : '–'}
    </td>
  );
}

function Cost({ mode, now }: { mode: ModeCost; now: boolean }) {
  return (
    <td
      className={classes('px-3 text-right whitespace-nowrap', now && 'font-semibold')}
      title={`${count(mode.total)}; ${once(count(mode.once))}`}
    >
      ~{short.format(mode.total)}
    </td>
  );
}
