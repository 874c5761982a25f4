import { useQuery } from '@tanstack/react-query';
import { CircleAlert, CircleCheck, Stethoscope, TriangleAlert } from 'lucide-react';
import { Button } from '@/components/button';
import { Failure } from '@/components/failure';
import { classes } from '@/lib/class-names';
import { escapeControlCharacters } from '@/lib/format';
import { ownValue } from '@/lib/own-property';
import { toastError } from '@/lib/toast';
import type { Finding } from '@/types/api';
import { doctorQuery, useRemedy } from './api';

const looks = {
  ok: { icon: CircleCheck, color: 'text-ok' },
  warning: { icon: TriangleAlert, color: 'text-warn' },
  problem: { icon: CircleAlert, color: 'text-bad' },
};
const order = { problem: 0, warning: 1, ok: 2 };

/** Diagnoses this computer and the connections, on request. */
export function DoctorPanel() {
  const found = useQuery({ ...doctorQuery, enabled: false });
  const list = [...(found.data ?? [])].sort((a, b) => order[a.level] - order[b.level]);
  const bad = list.filter((one) => one.level !== 'ok').length;
  return (
    <div className="space-y-3">
      <div className="flex flex-wrap items-center gap-3">
        <Button disabled={found.isFetching} onClick={() => found.refetch()}>
          <Stethoscope className="size-4" aria-hidden />
          {found.isFetching ? 'Running…' : 'Run diagnostics'}
        </Button>
        <span className="text-sm text-ink2" role="status">
          {found.data
            ? bad === 0
              ? `No issues found in ${list.length} checks.`
              : bad === 1
                ? '1 issue found.'
                : `${bad} issues found.`
            : 'Checks programs, ports, clients and access tokens, and suggests fixes.'}
        </span>
      </div>
      <Failure error={found.error} />
      {list.length > 0 && (
        <ul className="overflow-hidden rounded-md border text-sm">
          {list.map((one) => (
            <Row key={one.id} finding={one} />
          ))}
        </ul>
      )}
    </div>
  );
}

function Row({ finding }: { finding: Finding }) {
  const remedy = useRemedy();
  const look = ownValue(looks, finding.level) ?? looks.warning;
  const Icon = look.icon;
  return (
    <li className="flex gap-2.5 border-t px-3 py-2 first:border-t-0">
      <Icon className={classes('mt-0.5 size-4 shrink-0', look.color)} aria-hidden />
      <div className="min-w-0 flex-1 [overflow-wrap:anywhere]">
        <p>
          {finding.subject && (
            <span className="font-medium">{escapeControlCharacters(finding.subject)}: </span>
          )}
          {escapeControlCharacters(finding.message)}
        </p>
        {finding.fix && finding.level !== 'ok' && (
          <p className="text-ink2">{escapeControlCharacters(finding.fix)}</p>
        )}
      </div>
      {finding.action && (
        <Button
          small
          disabled={remedy.isPending}
          onClick={() =>
            remedy.mutate(finding.id, {
              onError: toastError,
            })
          }
        >
          {escapeControlCharacters(finding.action)}
        </Button>
      )}
    </li>
  );
}
