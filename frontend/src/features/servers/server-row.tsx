import { Link } from '@tanstack/react-router';
import { StateBadge, stateTone } from '@/components/state-badge';
import { classes } from '@/lib/class-names';
import {
  count,
  escapeControlCharacters,
  sentence,
  shortVersion,
  withoutPosition,
} from '@/lib/format';
import type { ServerStatus, UsageStats } from '@/types/api';
import type { ServerFilters } from './server-page-views';
import { hasRemedy, RemedyButton } from './server-remedy';
import { ServerMenu } from './start-stop-buttons';

export const withheldText = (n: number) =>
  `${n === 1 ? '1 changed definition' : `${n} changed definitions`} withheld from clients`;

/** The classes of the columns that a narrow list leaves out. */
export const wideCell = 'hidden px-3 text-right whitespace-nowrap @xl:table-cell';
export const widestCell = 'hidden px-3 text-right whitespace-nowrap @3xl:table-cell';

/** One server as a row that is a link to its detail; what is wrong with it is in a second row. */
export function ServerRow({
  server,
  selected,
  version,
  visible,
  withheld = 0,
  use,
  filters = {},
}: {
  server: ServerStatus;
  selected: boolean;
  /** The version of its package, if known. */
  version?: string | undefined;
  /** The number of tools that clients see, if some are hidden. */
  visible?: number | undefined;
  /** The number of its changed definitions that wait for a review. */
  withheld?: number | undefined;
  /** Its calls of the last day. */
  use?: UsageStats | undefined;
  /** Those of the list, which its links keep. */
  filters?: ServerFilters;
}) {
  const reason = escapeControlCharacters(sentence(server.reason ?? ''));
  const helped = Boolean(server.reason || hasRemedy(server));
  const hidden = visible !== undefined && visible < server.tools;
  return (
    <tbody className={classes('border-t text-sm', selected ? 'bg-accent-soft' : 'hover:bg-hover')}>
      <tr className="relative">
        <td className="w-full max-w-0 py-1.5 pl-4">
          <div className="flex items-center gap-2">
            <Link
              to="/servers/$id"
              params={{ id: server.id }}
              search={filters}
              aria-current={selected || undefined}
              className="min-w-0 truncate font-semibold outline-offset-[-2px] after:absolute after:inset-0"
            >
              {escapeControlCharacters(server.label || server.id)}
            </Link>
            {/* Tags without space are in further lines, which are hidden. */}
            <span className="flex h-[1.125rem] min-w-0 flex-1 flex-wrap gap-x-1.5 overflow-hidden text-xs before:content-['']">
              {(server.tags ?? []).map((tag) => (
                <span key={tag} className="rounded bg-sunken px-1 whitespace-nowrap text-ink2">
                  {escapeControlCharacters(tag.slice(0, 40))}
                </span>
              ))}
            </span>
          </div>
        </td>
        <td className="px-3">
          <StateBadge state={server.state} />
        </td>
        <td className={classes(widestCell, 'text-ink3')}>
          {version && shortVersion(escapeControlCharacters(version.slice(0, 71))).slice(0, 24)}
        </td>
        <td className={wideCell}>
          {server.tools > 0 &&
            (hidden ? `${visible} of ${count(server.tools)}` : count(server.tools))}
        </td>
        <td className={wideCell}>{use && count(use.calls)}</td>
        <td className={classes(wideCell, 'text-bad')}>
          {use && use.errors > 0 && count(use.errors)}
        </td>
        <td className="relative z-10 pr-2">
          <ServerMenu server={server} />
        </td>
      </tr>
      {(helped || withheld > 0) && (
        <tr>
          <td colSpan={7} className="px-4 pb-2">
            {helped && (
              <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
                <p
                  title={reason}
                  className={classes(
                    'line-clamp-2 min-w-0 flex-1 basis-40 [overflow-wrap:anywhere]',
                    stateTone(server.state) === 'bad' ? 'text-bad' : 'text-ink2',
                  )}
                >
                  {escapeControlCharacters(sentence(withoutPosition(server.reason ?? '')))}
                </p>
                <RemedyButton server={server} />
              </div>
            )}
            {withheld > 0 && (
              <p className="text-ink2">
                {withheldText(withheld)}{' '}
                <Link
                  to="/servers/$id"
                  params={{ id: server.id }}
                  search={{ ...filters, view: 'tools' }}
                  className="text-accent underline underline-offset-2"
                >
                  Review
                </Link>
              </p>
            )}
          </td>
        </tr>
      )}
    </tbody>
  );
}
