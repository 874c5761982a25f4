import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Button } from '@/components/button';
import { More } from '@/components/more';
import { Failed, Loading, PageHeader } from '@/components/page';
import { count, escapeControlCharacters, shortVersion } from '@/lib/format';
import { messageOf, RequestError, request } from '@/lib/request';
import { useServerName } from '@/lib/server-lookup';
import { texts } from '@/lib/texts';
import { toast, toastError } from '@/lib/toast';
import type { ComparisonReport, ToolChange, VersionPlan } from '@/types/api';
import { summaryOf } from './change-summary';
import { versionOf, versionPath } from './server-version';
import { changeStates, ToolDiff, Warnings } from './tool-changes';
import { byKind, comparisonSummary, VersionComparison } from './version-comparison';

/** The version that the configuration names, or the one that runs. */
const before = ({ from, package: name, version }: VersionPlan) =>
  from !== name ? versionOf(from) : version ? shortVersion(version) : 'not pinned';

/** How much of the context of a model the tools take before and after the update. */
export function contextChange({ tokens, tokensThen }: Pick<VersionPlan, 'tokens' | 'tokensThen'>) {
  if (tokens === tokensThen) return 'The context stays the same. ';
  const after = texts.tools.tokens(count(tokensThen));
  return `Context: ${tokens > 0 ? `~${count(tokens)} → ` : ''}${after}. `;
}

/** Whether an update may break clients, in one sentence. */
export function verdict(changes: ToolChange[], { calls }: ComparisonReport): string {
  const removed = changes.filter((one) => one.state === 'removed').length;
  const failed = calls.filter((one) => one.result === 'failed').length;
  const inputs = changes.filter((one) => one.parts.includes('schema')).length;
  const breaks = [
    removed > 0 && `${removed === 1 ? '1 tool is' : `${removed} tools are`} removed`,
    failed > 0 && `${failed === 1 ? '1 request' : `${failed} requests`} failed`,
  ].filter(Boolean);
  if (breaks.length > 0) return `May break clients: ${breaks.join(', ')}.`;
  if (inputs > 0)
    return `Nothing is removed, but the arguments of ${inputs === 1 ? '1 tool' : `${inputs} tools`} change.`;
  if (changes.length > 0 || calls.some((one) => one.result === 'different'))
    return 'Probably safe: nothing is removed, and nothing failed.';
  return 'Nothing changes for clients.';
}

/** What the latest version of a server changes: its definitions, and its results for recorded calls. */
export function UpdatePage({ server }: { server: string }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const name = useServerName()(server);
  const [also, setAlso] = useState<string[]>([]);
  const post = (body: object, signal?: AbortSignal) =>
    request<VersionPlan>('POST', versionPath(server), { body, signal });
  // Each visit starts the latest version anew; nothing does so while the page is open.
  const once = { staleTime: Number.POSITIVE_INFINITY, gcTime: 0, retry: false };
  const plan = useQuery({
    queryKey: ['update', server],
    queryFn: ({ signal }) => post({ action: 'plan' }, signal),
    ...once,
  });
  const key = plan.data?.key;
  const compared = useQuery({
    queryKey: ['update', server, key, also],
    queryFn: ({ signal }) => post({ action: 'compare', key, also }, signal),
    enabled: Boolean(key),
    placeholderData: (old) => old,
    ...once,
  });
  const leave = () => navigate({ to: '/servers/$id', params: { id: server } });
  const apply = useMutation({
    mutationFn: () => post({ action: 'apply', key: compared.data?.key || key }),
    onSuccess: (done) => {
      toast('ok', `Saved: ${escapeControlCharacters(done.to)}.`);
      client.invalidateQueries({ queryKey: ['server', server] });
      leave();
    },
    onError: toastError,
  });
  const noSuchServer = plan.error instanceof RequestError && plan.error.status === 404;
  // Its entry runs something else than a package or an image.
  const hasNoVersions = plan.error instanceof RequestError && plan.error.code === 'validation';
  const changes = plan.data?.changes ?? [];
  const report = compared.data?.comparison;
  const requests = report && byKind(report);
  return (
    <>
      <PageHeader title={`Update ${escapeControlCharacters(name.slice(0, 200))}`}>
        <Button onClick={leave}>{key ? 'Not now' : 'Back'}</Button>
        {key && (
          <Button
            look="primary"
            disabled={apply.isPending || compared.isFetching}
            onClick={() => apply.mutate()}
          >
            Update and accept changes
          </Button>
        )}
      </PageHeader>
      <div className="scroll-area min-h-0 flex-1 px-4 pb-8 md:px-6">
        <div className="max-w-page space-y-5">
          {plan.isPending && (
            <>
              <p className="text-ink2">
                Starting the latest version beside the current one. If it must be downloaded, this
                takes a while…
              </p>
              <Loading />
            </>
          )}
          {hasNoVersions && <p>{`No update to preview. ${messageOf(plan.error)}`}</p>}
          {plan.error && !hasNoVersions && (
            <Failed error={plan.error} onRetry={noSuchServer ? undefined : () => plan.refetch()} />
          )}
          {plan.data && !key && <p>This is the latest version.</p>}
          {plan.data && key && (
            <div>
              <div role="status">
                <p className="text-lg font-semibold">
                  {report ? verdict(changes, report) : !compared.error && 'Replaying calls…'}
                </p>
                <p className="text-ink2">
                  {summaryOf(changes) || 'No tools will change'}. {contextChange(plan.data)}
                  {report && comparisonSummary(report)}
                </p>
              </div>
              <p className="text-sm text-ink3 [overflow-wrap:anywhere]">
                {escapeControlCharacters(
                  `Latest version of ${plan.data.package}: ${before(plan.data)} → ${versionOf(plan.data.to)}`,
                )}
              </p>
            </div>
          )}
          {changes.length > 0 && (
            <section aria-label="Changed definitions">
              <h2 className="mb-2 font-semibold">Changed definitions</h2>
              <ul className="rounded-lg border bg-panel px-4 py-2 shadow-card">
                {changes.slice(0, 100).map((one) => (
                  <li key={one.name}>
                    <details className="text-sm">
                      <summary className="cursor-pointer py-0.5 font-medium [overflow-wrap:anywhere]">
                        {escapeControlCharacters(one.name.slice(0, 200))}{' '}
                        <span className="font-normal text-ink3">
                          {[changeStates[one.state], one.parts.join(', ')]
                            .filter(Boolean)
                            .join(': ')}
                        </span>
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
              <More of={changes.length} shown={100} />
            </section>
          )}
          {key && (
            <section aria-label="Replayed calls">
              <h2 className="font-semibold">Replayed calls</h2>
              <p className="text-sm text-ink2">
                Recorded calls of read-only tools, and saved checks, run on both versions.
              </p>
              {compared.error && (
                <Failed error={compared.error} onRetry={() => compared.refetch()} />
              )}
              {report && requests ? (
                <VersionComparison
                  label="Replayed calls"
                  list={requests.calls}
                  enough={report.enough}
                  pending={compared.isFetching}
                  onAlso={(tool) => setAlso([...also, tool])}
                />
              ) : (
                compared.isPending && <Loading />
              )}
            </section>
          )}
          {requests && requests.others.length > 0 && (
            <section aria-label="Other requests">
              <h2 className="font-semibold">Other requests</h2>
              <p className="text-sm text-ink2">
                Instructions, lists, prompts and resources of both versions.
              </p>
              <VersionComparison
                label="Other requests"
                list={requests.others}
                pending={compared.isFetching}
                onAlso={() => {}}
              />
            </section>
          )}
        </div>
      </div>
    </>
  );
}
