import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Button } from '@/components/button';
import { clockSpan, moment, plain } from '@/lib/format';
import { useNow } from '@/lib/now';
import { requestText } from '@/lib/request';
import { texts } from '@/lib/texts';
import { grantsQuery } from './api';

const t = texts.questions.grants;

/** What was allowed for some minutes, and a way to take all of it back. */
export function Grants({ labelOf }: { labelOf: (server: string) => string }) {
  const { data } = useQuery(grantsQuery);
  const now = useNow();
  const client = useQueryClient();
  const forget = useMutation({
    mutationFn: () => requestText('DELETE', '/api/v1/approvals/grants'),
    onSettled: () => client.invalidateQueries({ queryKey: ['grants'] }),
  });
  const list = (data ?? []).filter((grant) => (moment(grant.until) ?? 0) > now);
  if (list.length === 0) return null;
  return (
    <section aria-label={t.title} className="max-w-2xl">
      <div className="mb-2 flex items-center">
        <h2 className="text-sm font-semibold">{t.title}</h2>
        <Button
          className="ml-auto"
          small
          disabled={forget.isPending}
          onClick={() => forget.mutate()}
        >
          {t.forget}
        </Button>
      </div>
      <ul className="rounded-lg border bg-panel text-sm">
        {list.map((grant) => (
          <li
            key={`${grant.client}/${grant.server}/${grant.tool}`}
            className="flex gap-3 border-t px-4 py-2 first:border-t-0"
          >
            <span className="min-w-0 flex-1 truncate">
              {plain(
                `${grant.client || texts.calls.unknownClient} → ${labelOf(grant.server)} / ${grant.tool}`.slice(
                  0,
                  300,
                ),
              )}
            </span>
            <span className="shrink-0 text-ink3">
              {clockSpan(Math.round(((moment(grant.until) ?? 0) - now) / 1000))}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
