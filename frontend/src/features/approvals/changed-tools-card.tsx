import type { ReactNode } from 'react';
import { escapeControlCharacters } from '@/lib/format';
import { useServerName } from '@/lib/server-lookup';
import { texts } from '@/lib/texts';
import type { Approval } from '@/types/api';
import { AboutServer } from './about-server';

/** Changed tools of a server, with the differences of each. */
export function ToolsCard({ approval, changes }: { approval: Approval; changes: ReactNode }) {
  const labelOf = useServerName();
  return (
    <div className="rounded-lg border border-warn bg-panel p-4 shadow-card md:p-5">
      <h2 className="font-semibold [overflow-wrap:anywhere]">
        {`${escapeControlCharacters(labelOf(approval.server).slice(0, 200))} changed its definitions`}
      </h2>
      <p className="mt-0.5 mb-3 text-sm text-ink2">{texts.trust.changed}</p>
      {changes}
      <p className="mt-3 text-right">
        <AboutServer id={approval.server} />
      </p>
    </div>
  );
}
