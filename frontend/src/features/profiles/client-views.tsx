import { useQuery } from '@tanstack/react-query';
import { SelectField } from '@/components/fields';
import { plain } from '@/lib/format';
import { texts } from '@/lib/texts';
import type { ClientView } from '@/types/api';
import { profilesQuery, useClientView } from './api';

const t = texts.profiles;

/** What is said of a token; nothing is everything. */
export const viewOf = (views: ClientView[], token: string): ClientView =>
  views.find((view) => view.token === token) ?? { token, profile: '', toolMode: '' };

/** The profile of each client, and how its tools are listed. */
export function ClientViews({ tokens }: { tokens: string[] }) {
  const { data } = useQuery(profilesQuery);
  const change = useClientView();
  if (!data) return null;
  const all = [...new Set([...tokens, ...data.clients.map((view) => view.token)])].sort();
  if (all.length === 0) return null;
  const profiles = data.items.filter((p) => p.name).map((p) => ({ value: p.name, text: p.name }));
  return (
    <section aria-labelledby="views-title">
      <h2 id="views-title" className="font-semibold">
        {t.views}
      </h2>
      <p className="mt-0.5 mb-2 text-sm text-ink2">{t.viewsBody}</p>
      <ul className="overflow-hidden rounded-lg border bg-panel shadow-card">
        {all.map((token) => {
          const view = viewOf(data.clients, token);
          const name = plain(token.slice(0, 100));
          return (
            <li
              key={token}
              className="@container flex flex-wrap items-center gap-x-3 gap-y-2 border-t px-4 py-2.5 first:border-t-0"
            >
              <span className="min-w-0 flex-1 basis-40 truncate font-medium @max-lg:basis-full">
                {name}
              </span>
              <SelectField
                label={t.profileOf(name)}
                value={view.profile}
                options={[{ value: '', text: t.noProfile }, ...profiles]}
                onChange={(profile) => change.mutate({ ...view, profile })}
              />
              <SelectField
                label={t.modeOf(name)}
                value={view.toolMode}
                options={[
                  { value: '', text: t.modeUnset },
                  ...(['all', 'search', 'deferred'] as const).map((value) => ({
                    value,
                    text: t.modes[value],
                  })),
                ]}
                onChange={(toolMode) =>
                  change.mutate({ ...view, toolMode: toolMode as ClientView['toolMode'] })
                }
              />
            </li>
          );
        })}
      </ul>
    </section>
  );
}
