import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Section } from '@/components/fields';
import { age, count, duration, escapeControlCharacters } from '@/lib/format';
import { useNow } from '@/lib/now';
import { texts } from '@/lib/texts';
import { usageQuery } from './api';

export const p95Text = (ns: number) => `p95 ${duration(ns)}`;

export const errorsText = (n: string) => (n === '1' ? '1 error' : `${n} errors`);

/** The calls of one tool in 30 days: number, errors, durations and the last call. */
export function ToolUse({ server, tool }: { server: string; tool: string }) {
  const { data, error } = useQuery(usageQuery({ range: '30d', server, tool }, 60_000));
  const now = useNow();
  if (error && !data) return null;
  const use = data?.tools.find((one) => one.server === server && one.tool === tool);
  return (
    <Section
      title="Usage in the last 30 days"
      aside={
        use && (
          <Link
            to="/usage"
            search={{ server, tool, range: '30d' }}
            className="text-sm text-accent underline-offset-2 hover:underline"
          >
            {texts.usage.title}
          </Link>
        )
      }
    >
      {use ? (
        <p className="flex flex-wrap gap-x-5 gap-y-1 text-sm text-ink2">
          <Link
            to="/calls"
            search={{ server, tool }}
            className="font-medium text-ink underline-offset-2 hover:underline"
          >
            {texts.clients.calls(count(use.calls))}
          </Link>
          {use.errors > 0 && <span className="text-bad">{errorsText(count(use.errors))}</span>}
          <span>{`Median ${duration(use.p50Ns)}`}</span>
          <span>{p95Text(use.p95Ns)}</span>
          {use.lastUsed && (
            <span>{`last used ${escapeControlCharacters(age(use.lastUsed, now))} ago`}</span>
          )}
        </p>
      ) : (
        <p className="text-sm text-ink3">{data ? 'Not called.' : texts.loading}</p>
      )}
    </Section>
  );
}
