import { Button } from '@/components/button';
import { Failure } from '@/components/failure';
import { escapeControlCharacters } from '@/lib/format';
import { useServerName } from '@/lib/server-lookup';
import type { Approval } from '@/types/api';
import { AboutServer } from './about-server';
import { useAnswerApproval } from './api';

/** A package in npm's cache whose files were replaced. */
export function PackageCard({ approval }: { approval: Approval }) {
  const labelOf = useServerName();
  const answer = useAnswerApproval(approval);
  return (
    <div className="rounded-lg border border-warn bg-panel p-4 shadow-card md:p-5">
      <h2 className="font-semibold [overflow-wrap:anywhere]">
        {`The package of ${escapeControlCharacters(labelOf(approval.server).slice(0, 200))} was replaced`}
      </h2>
      <p className="mt-2 text-sm text-ink2 [overflow-wrap:anywhere]">
        {escapeControlCharacters(approval.message)}
      </p>
      <Failure error={answer.error} className="mt-3" />
      <div className="mt-4 flex flex-wrap gap-2">
        <Button disabled={answer.isPending} onClick={() => answer.mutate({ action: 'accept' })}>
          Accept and start
        </Button>
        <AboutServer id={approval.server} />
      </div>
    </div>
  );
}
