import { useSuspenseQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Layers, Plus } from 'lucide-react';
import { buttonClasses } from '@/components/button';
import { Empty, PageHeader } from '@/components/page';
import { classes } from '@/lib/classes';
import { count, plain } from '@/lib/format';
import { texts } from '@/lib/texts';
import type { Profile } from '@/types/profiles';
import { profilesQuery } from './api';

const t = texts.profiles;

/** Every profile with what it offers and costs; everything stands first, to compare with. */
export function ProfilesPage({ selected }: { selected: string | undefined }) {
  const { data } = useSuspenseQuery(profilesQuery);
  const [everything, ...profiles] = data.items;
  return (
    <>
      <PageHeader
        title={t.title}
        note={profiles.length > 0 && t.count(profiles.length)}
        action={profiles.length > 0 && <Make />}
      />
      <div className="scroll-area min-h-0 flex-1 px-4 pb-6 md:px-6">
        {profiles.length === 0 ? (
          <Empty icon={Layers} title={t.emptyTitle}>
            <p>{t.emptyBody}</p>
            <p className="mt-4">
              <Make primary />
            </p>
          </Empty>
        ) : (
          <ul
            aria-label={t.title}
            className="max-w-page overflow-hidden rounded-lg border bg-panel shadow-card"
          >
            {everything && <Row profile={everything} selected={false} />}
            {profiles.map((profile) => (
              <Row key={profile.name} profile={profile} selected={profile.name === selected} />
            ))}
          </ul>
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
      {t.make}
    </Link>
  );
}

function Row({ profile, selected }: { profile: Profile; selected: boolean }) {
  const servers = profile.everyServer ? undefined : profile.servers.length;
  return (
    <li
      className={classes(
        'relative border-t px-4 py-2.5 first:border-t-0',
        selected ? 'bg-accent-soft' : profile.name && 'hover:bg-hover',
      )}
    >
      <div className="flex flex-wrap items-baseline gap-x-3">
        {profile.name ? (
          <Link
            to="/profiles/$name"
            params={{ name: profile.name }}
            search={{}}
            aria-current={selected ? 'true' : undefined}
            className="min-w-0 truncate font-semibold outline-offset-[-2px] after:absolute after:inset-0"
          >
            {plain(profile.name)}
          </Link>
        ) : (
          <span className="font-semibold">{t.everything}</span>
        )}
        <span className="ml-auto shrink-0 text-sm text-ink2" title={texts.tools.tokensHint}>
          {texts.tools.tokens(count(profile.tokens[profile.toolMode]))}
        </span>
      </div>
      <p className="truncate text-sm text-ink2">
        {profile.name ? plain(profile.description.slice(0, 300)) : t.everythingNote}
      </p>
      <p className="truncate text-xs text-ink3">
        {t.of(profile.tools, servers)}
        {profile.toolMode !== 'all' && ` · ${t.modes[profile.toolMode]}`}
        {profile.clients.length > 0 && ` · ${t.usedBy(profile.clients.length)}`}
      </p>
    </li>
  );
}
