import { useMutation, useQuery, useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { CircleAlert, CircleCheck, TriangleAlert } from 'lucide-react';
import { useState } from 'react';
import { Button } from '@/components/button';
import { CopyField } from '@/components/copy-button';
import { Failure } from '@/components/failure';
import { LoadingPage, PageHeader } from '@/components/page';
import { useAllQueriesAnswered } from '@/lib/all-queries-answered';
import { configQuery } from '@/lib/config-file';
import { escapeControlCharacters, sentence } from '@/lib/format';
import { requestText } from '@/lib/request';
import { statusQuery } from '@/lib/status-query';
import { texts } from '@/lib/texts';
import type { Problem, Status } from '@/types/api';
import { ConfigCopies } from './config-copies';
import { copiesQuery } from './config-copies-api';
import { ConfigEditor, noProblems } from './config-editor';
import { Panel } from './panel';

/** The configuration file: its problems, an editor, and its backups. */
export function ConfigPage() {
  const { data: status } = useSuspenseQuery(statusQuery);
  const ready = useAllQueriesAnswered([useQuery(copiesQuery), useQuery(configQuery)]);
  if (!ready) return <LoadingPage title={texts.configCopies.title} />;
  return (
    <>
      <PageHeader title={texts.configCopies.title} />
      <div className="scroll-area scroll-edge min-h-0 flex-1 px-4 pb-8 md:px-6">
        <div className="max-w-3xl space-y-4">
          <Panel title="Configuration">
            <ConfigPanel status={status} />
          </Panel>
          <Panel title={texts.configCopies.copiesTitle}>
            <ConfigCopies />
          </Panel>
        </div>
      </div>
    </>
  );
}

function ConfigPanel({ status }: { status: Status }) {
  const [open, setOpen] = useState(false);
  const problems = status.problems ?? [];
  return (
    <div className="space-y-3">
      {status.configPath && <CopyField text={status.configPath} label="File" />}
      <p className="text-sm text-ink2">
        Changes take effect when you save. If the file has errors, the last valid configuration
        stays in use.
      </p>
      {problems.length === 0 ? (
        // The editor shows the status of its own text.
        open ? null : (
          <p className="flex items-center gap-2 text-sm text-ok">
            <CircleCheck className="size-4 shrink-0" aria-hidden />
            {noProblems}
          </p>
        )
      ) : (
        <ul aria-label="Problems" className="space-y-2">
          {problems.map((problem) => (
            <ProblemItem
              key={`${problem.file}:${problem.line}:${problem.column}:${problem.key}:${problem.message}`}
              problem={problem}
            />
          ))}
        </ul>
      )}
      {open ? (
        <ConfigEditor problems={problems} />
      ) : (
        <Button onClick={() => setOpen(true)}>Edit file</Button>
      )}
    </div>
  );
}

function ProblemItem({ problem }: { problem: Problem }) {
  const Icon = problem.warning ? TriangleAlert : CircleAlert;
  return (
    <li
      className={`flex gap-2 rounded-md px-3 py-2 text-sm ${problem.warning ? 'bg-warn-soft text-warn' : 'bg-bad-soft text-bad'}`}
    >
      <Icon className="mt-0.5 size-4 shrink-0" aria-hidden />
      <div className="min-w-0 flex-1 [overflow-wrap:anywhere]">
        <span className="sr-only">{problem.warning ? 'Warning' : 'Error'}: </span>
        <p className="font-medium">{sentence(escapeControlCharacters(problem.message))}</p>
        {problem.suggestion && <p>{sentence(escapeControlCharacters(problem.suggestion))}</p>}
        <p className="mt-0.5 font-mono text-xs">
          {[
            problem.key,
            problem.line > 0 && texts.settings.position(problem.line, problem.column),
            problem.file,
          ]
            .filter((part): part is string => Boolean(part))
            .map(escapeControlCharacters)
            .join(' · ')}
        </p>
        {problem.held && <ApplyHeld change={problem.held} />}
      </div>
    </li>
  );
}

/** Applies a change of the file that is held back because it stops all servers. */
function ApplyHeld({ change }: { change: string }) {
  const client = useQueryClient();
  const apply = useMutation({
    mutationFn: () => requestText('POST', '/api/v1/config/reload', { body: { confirm: change } }),
    onSettled: () => client.invalidateQueries({ queryKey: ['status'] }),
  });
  return (
    <div className="mt-2 space-y-2">
      <Button onClick={() => apply.mutate()} disabled={apply.isPending}>
        Apply this change
      </Button>
      <Failure error={apply.error} />
    </div>
  );
}
