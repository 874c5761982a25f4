import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Button, buttonClasses } from '@/components/button';
import { Facts, Section } from '@/components/fields';
import { escapeControlCharacters, shortVersion } from '@/lib/format';
import { withoutPrototypes } from '@/lib/own-property';
import { request } from '@/lib/request';
import { toast, toastError } from '@/lib/toast';
import type { ServerVersion, VersionPlan } from '@/types/api';

const sourcesTexts = withoutPrototypes({
  '': '',
  configuration: 'Pinned in the configuration',
  process: 'Read from the running process',
  cache: 'Read from the package cache',
  server: 'Reported by the server',
  container: 'Read from the running container',
  image: 'Read from the local image',
} as const);

/** Names of packages can be longer than a narrow screen is wide. */
const wraps =
  'h-auto! min-h-7 max-w-full shrink! py-1 text-left whitespace-normal! [overflow-wrap:anywhere]';

export const versionPath = (server: string) =>
  `/api/v1/servers/${encodeURIComponent(server)}/version`;

/** The version of a package or an image, whose name is shown beside it. */
export const versionOf = (to: string) => shortVersion(/(?:@|==)([^@/=]+)$/.exec(to)?.[1] ?? to);

/** The version is that of the process, so each change of the server's state is another query. */
const versionQuery = (server: string, since: string) =>
  queryOptions({
    queryKey: ['server', server, 'version', since],
    queryFn: ({ signal }) => request<ServerVersion>('GET', versionPath(server), { signal }),
    placeholderData: (old) => old,
    retry: false,
  });

/** The package version of a server: pins it, rolls back, or leads to the preview of an update. */
export function ServerVersionSection({
  server,
  since,
  runs,
}: {
  server: string;
  /** When its state last changed. */
  since: string;
  /** Whether its program exists, so that another version of it can be tried. */
  runs: boolean;
}) {
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: (body: { action: 'pin' | 'rollback' }) =>
      request<VersionPlan>('POST', versionPath(server), { body }),
    onSuccess: (result, { action }) => {
      if (action === 'rollback')
        toast(
          'ok',
          `Rolled back from ${escapeControlCharacters(result.from)} to ${escapeControlCharacters(result.to)}.`,
        );
      else if (result.applied) toast('ok', `Saved: ${escapeControlCharacters(result.to)}.`);
      client.invalidateQueries({ queryKey: ['server', server] });
    },
    onError: toastError,
  });
  const { data: version } = useQuery(versionQuery(server, since));
  if (!version?.known) return null;
  const before = version.earlier?.[0]?.configured;
  return (
    <Section title="Version">
      <Facts
        rows={[
          ['Package', escapeControlCharacters(version.package)],
          [
            'Configured',
            version.configured === version.package
              ? 'No version pinned'
              : escapeControlCharacters(version.configured),
          ],
          ['Version', version.version && shortVersion(escapeControlCharacters(version.version))],
          ['Source', version.source && sourcesTexts[version.source]],
        ]}
      />
      <div className="mt-3 flex flex-wrap gap-2">
        {runs && (
          <Link
            to="/servers/$id/update"
            params={{ id: server }}
            preload={false}
            className={buttonClasses('secondary', true)}
          >
            Preview update
          </Link>
        )}
        {version.pin && (
          <Button
            small
            className={wraps}
            disabled={change.isPending}
            title={`${version.configured} → ${version.pin}`}
            onClick={() => change.mutate({ action: 'pin' })}
          >
            {`Pin to ${versionOf(escapeControlCharacters(version.pin))}`}
          </Button>
        )}
        {before && (
          <Button
            small
            look="quiet"
            className={wraps}
            disabled={change.isPending}
            onClick={() => change.mutate({ action: 'rollback' })}
          >
            {`Roll back to ${versionOf(escapeControlCharacters(before))}`}
          </Button>
        )}
      </div>
    </Section>
  );
}
