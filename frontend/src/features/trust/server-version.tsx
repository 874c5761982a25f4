import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from '@/components/button';
import { Facts, Section } from '@/components/fields';
import { More } from '@/components/more';
import { escapeControlCharacters } from '@/lib/format';
import { withoutPrototypes } from '@/lib/own-property';
import { request } from '@/lib/request';
import { texts } from '@/lib/texts';
import { toast, toastError } from '@/lib/toast';
import type { ServerVersion, VersionPlan } from '@/types/api';
import { summaryOf } from './change-summary';
import { ToolDiff, Warnings } from './tool-changes';
import { VersionComparison } from './version-comparison';

const sourcesTexts = withoutPrototypes({
  '': '',
  configuration: 'Pinned in the configuration',
  process: 'Read from the running process',
  cache: 'Read from the package cache',
  server: 'Reported by the server',
  container: 'Read from the running container',
  image: 'Read from the local image',
} as const);

const t = texts.versions;
/** Names of packages can be longer than a narrow screen is wide. */
const wraps =
  'h-auto! min-h-7 max-w-full shrink! py-1 text-left whitespace-normal! [overflow-wrap:anywhere]';

const path = (server: string) => `/api/v1/servers/${encodeURIComponent(server)}/version`;

const versionQuery = (server: string) =>
  queryOptions({
    queryKey: ['server', server, 'version'],
    queryFn: ({ signal }) => request<ServerVersion>('GET', path(server), { signal }),
    retry: false,
  });

/** The package version of a server: pins it, updates it after a review of its tools, or rolls back. */
export function ServerVersionSection({
  server,
  runs,
}: {
  server: string;
  /** Whether its program exists, so that another version of it can be tried. */
  runs: boolean;
}) {
  const client = useQueryClient();
  const [plan, setPlan] = useState<VersionPlan>();
  const [also, setAlso] = useState<string[]>([]);
  const change = useMutation({
    mutationFn: (body: { action: string; key?: string; also?: string[] }) =>
      request<VersionPlan>('POST', path(server), { body }),
    onSuccess: (result, { action }) => {
      setPlan(action === 'plan' || action === 'compare' ? result : undefined);
      if (action === 'plan') setAlso([]);
      if (action === 'plan' && !result.key) toast('ok', 'This is the latest version.');
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
  const comparing = change.isPending && change.variables.action === 'compare';
  const { data: version } = useQuery(versionQuery(server));
  if (!version?.known) return null;
  const compare = (tools: string[]) => {
    setAlso(tools);
    change.mutate({ action: 'compare', key: plan?.key, also: tools });
  };
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
          ['Version', version.version && t.short(escapeControlCharacters(version.version))],
          ['Source', version.source && sourcesTexts[version.source]],
        ]}
      />
      <div className="mt-3 flex flex-wrap gap-2">
        {runs && (
          <Button
            small
            disabled={change.isPending}
            onClick={() => change.mutate({ action: 'plan' })}
          >
            {change.isPending && !comparing ? 'Testing…' : 'Preview update'}
          </Button>
        )}
        {version.pin && (
          <Button
            small
            className={wraps}
            disabled={change.isPending}
            title={`${version.configured} → ${version.pin}`}
            onClick={() => change.mutate({ action: 'pin' })}
          >
            {t.pin(escapeControlCharacters(version.pin))}
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
            {t.back(escapeControlCharacters(before))}
          </Button>
        )}
      </div>
      {plan?.key && (
        <div className="mt-4 rounded-md border bg-panel p-3">
          <h4 className="font-semibold">
            {summaryOf(plan.changes ?? []) || 'No tools will change.'}
          </h4>
          <ToolDiff
            label="Changes in this update"
            lines={[
              { op: 'old', text: plan.from },
              { op: 'new', text: plan.to },
            ]}
          />
          <ul className="mt-2">
            {(plan.changes ?? []).slice(0, 100).map((one) => (
              <li key={one.name}>
                <details className="text-sm">
                  <summary className="cursor-pointer py-0.5 font-medium [overflow-wrap:anywhere]">
                    {escapeControlCharacters(one.name.slice(0, 200))}{' '}
                    <span className="font-normal text-ink3">{texts.trust.states[one.state]}</span>
                  </summary>
                  <ToolDiff
                    lines={one.diff ?? []}
                    label={`Changes to ${escapeControlCharacters(one.name.slice(0, 200))}`}
                  />
                </details>
                <Warnings list={one.warnings ?? []} />
              </li>
            ))}
          </ul>
          <More of={plan.changes?.length ?? 0} shown={100} />
          {plan.comparison && (
            <VersionComparison
              report={plan.comparison}
              pending={change.isPending}
              onAlso={(tool) => compare([...also, tool])}
            />
          )}
          <div className="mt-3 flex flex-wrap gap-2">
            <Button
              small
              disabled={change.isPending}
              title="Run recorded calls (read-only tools, prompts and resources) and saved checks on both versions, and compare the results"
              onClick={() => compare(also)}
            >
              {comparing ? 'Comparing…' : 'Replay calls'}
            </Button>
            <Button
              small
              look="primary"
              disabled={change.isPending}
              onClick={() => change.mutate({ action: 'apply', key: plan.key })}
            >
              Update and accept changes
            </Button>
            <Button small look="quiet" onClick={() => setPlan(undefined)}>
              Not now
            </Button>
          </div>
        </div>
      )}
    </Section>
  );
}
