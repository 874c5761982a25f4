import { useSuspenseQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Layers, Plus } from 'lucide-react';
import { buttonClasses } from '@/components/button';
import { joined } from '@/components/more';
import { Empty, PageHeader } from '@/components/page';
import { classes } from '@/lib/class-names';
import { count, escapeControlCharacters, wellFormed } from '@/lib/format';
import { profilesQuery } from '@/lib/profiles-query';
import { texts } from '@/lib/texts';
import type { Profile } from '@/types/api';
import { modeNames } from './tool-mode-choice';

/** All profiles with their tools and costs, followed by the totals without a profile for comparison. */
export function ProfilesPage({ selected }: { selected: string | undefined }) {
  const { data } = useSuspenseQuery(profilesQuery);
  const [everything, ...profiles] = data.items;
  return (
    <>
      <PageHeader
        title="Profiles"
        note={
          profiles.length > 0 &&
          (profiles.length === 1 ? '1 profile' : `${profiles.length} profiles`)
        }
        action={profiles.length > 0 && <Make />}
      />
      <div className="scroll-area min-h-0 flex-1 px-4 pb-6 md:px-6">
        {profiles.length === 0 ? (
          <Empty icon={Layers} title="No profiles yet">
            <p>
              A profile is a named set of servers and tools with its own URL. A client that is
              assigned to it cannot list or call anything else.
            </p>
            <p className="mt-4">
              <Make primary />
            </p>
          </Empty>
        ) : (
          <div className="max-w-page space-y-4">
            <ul
              aria-label="Profiles"
              className="overflow-hidden rounded-lg border bg-panel shadow-card"
            >
              {profiles.map((profile) => (
                <li
                  key={profile.name}
                  className={classes(
                    'relative border-t px-4 py-2.5 first:border-t-0',
                    profile.name === selected ? 'bg-accent-soft' : 'hover:bg-hover',
                  )}
                >
                  <Facts profile={profile} selected={profile.name === selected} />
                </li>
              ))}
            </ul>
            {everything && (
              <div className="rounded-lg border border-dashed border-strong px-4 py-2.5">
                <Facts profile={everything} selected={false} />
              </div>
            )}
          </div>
        )}
      </div>
    </>
  );
}

function Make({ primary = false }: { primary?: boolean }) {
  return (
    <Link
      to="/profiles"
      search={{ make: '1' }}
      className={buttonClasses(primary ? 'primary' : 'secondary')}
    >
      <Plus className="size-4" aria-hidden />
      New profile
    </Link>
  );
}

function Facts({ profile, selected }: { profile: Profile; selected: boolean }) {
  const servers = profile.everyServer ? undefined : profile.servers.length;
  const about = profile.name
    ? escapeControlCharacters(profile.description.slice(0, 300))
    : 'A client that has no profile sees everything, or the servers that were moved from it.';
  return (
    <>
      <div className="flex flex-wrap items-baseline gap-x-3">
        {profile.name ? (
          <Link
            to="/profiles/$name"
            params={{ name: wellFormed(profile.name) }}
            search={{}}
            aria-current={selected ? 'true' : undefined}
            className="min-w-0 truncate font-semibold outline-offset-[-2px] after:absolute after:inset-0"
          >
            {escapeControlCharacters(profile.name)}
          </Link>
        ) : (
          <h2 className="text-base font-semibold">No profile</h2>
        )}
        {profile.clients.length === 0 && (
          <span className="ml-auto shrink-0 text-sm text-ink2" title={texts.tools.tokensHint}>
            {texts.tools.tokens(count(profile.tokens[profile.toolMode]))}
          </span>
        )}
      </div>
      {about && <p className="truncate text-sm text-ink2">{about}</p>}
      <p className="truncate text-xs text-ink3">
        {`${texts.servers.tools(profile.tools)} · ${servers === undefined ? 'all servers' : servers === 1 ? '1 server' : `${servers} servers`}`}
        {profile.toolMode !== 'all' && ` · ${`tool listing: ${modeNames[profile.toolMode]}`}`}
        {profile.clients.length > 0 &&
          ` · ${joined(
            profile.clients.map(
              (token) =>
                `${escapeControlCharacters(token.slice(0, 60))} ${texts.tools.tokens(count(profile.pays[token] ?? 0))}`,
            ),
            3,
          )}`}
      </p>
    </>
  );
}
