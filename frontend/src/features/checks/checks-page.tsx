import { useSuspenseQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ListChecks } from 'lucide-react';
import { buttonClasses } from '@/components/button';
import { Empty, PageHeader } from '@/components/page';
import { count } from '@/lib/format';
import { texts } from '@/lib/texts';
import type { Call } from '@/types/api';
import { checksQuery } from './api';
import { CheckItem } from './check-item';

const t = texts.checks;

/** All saved checks with their last results; checks are created from recorded calls. */
export function ChecksPage({
  isReadOnly,
  calls,
}: {
  /** Whether the server declares the tool as read-only. */
  isReadOnly: (server: string, tool: string) => boolean;
  calls: Call[];
}) {
  const { data: checks } = useSuspenseQuery(checksQuery);
  const failed = checks.filter((check) => check.last && !check.last.ok).length;
  const note = [
    checks.length === 1 ? '1 check' : `${checks.length} checks`,
    failed > 0 && texts.sessions.failed(count(failed)),
  ];
  return (
    <>
      <PageHeader title={t.title} note={checks.length > 0 && note.filter(Boolean).join(' · ')} />
      <div className="scroll-area min-h-0 flex-1 px-4 pb-6 md:px-6">
        {checks.length === 0 ? (
          <Empty icon={ListChecks} title="No saved checks">
            <p>
              A check repeats calls and compares the results with what you expect. Open a call or a
              session and choose “Save as check”. Run it here, or let it run automatically when a
              server’s version or tools change.
            </p>
            <p className="mt-4 flex flex-wrap justify-center gap-2">
              <Link to="/calls" className={buttonClasses('primary')}>
                Open Calls
              </Link>
              <Link to="/sessions" className={buttonClasses()}>
                Open Sessions
              </Link>
            </p>
          </Empty>
        ) : (
          <ul className="max-w-page overflow-hidden rounded-lg border bg-panel shadow-card">
            {checks.map((check) => (
              <CheckItem key={check.name} check={check} isReadOnly={isReadOnly} calls={calls} />
            ))}
          </ul>
        )}
      </div>
    </>
  );
}
