import { useSuspenseQuery } from '@tanstack/react-query';
import { MessageCircleQuestion } from 'lucide-react';
import type { ReactNode } from 'react';
import { Empty, PageHeader } from '@/components/page';
import { approvalsQuery } from '@/lib/approvals-query';
import { texts } from '@/lib/texts';
import { CallCard } from './call-card';
import { CardList } from './card-list';
import { ToolsCard } from './changed-tools-card';
import { CommandCard } from './command-card';
import { Grants } from './grants';
import { PackageCard } from './package-card';
import { QuestionCard } from './question-card';

/** All pending approvals and granted permissions. */
export function ApprovalsPage({
  changesOf,
  aboutTool,
  rules,
}: {
  /** The description of a tool. */
  aboutTool: (tool: string) => string | undefined;
  /** The argument rules, which decide which calls need an approval. */
  rules: ReactNode;
  /** The changes of a server's tools. */
  changesOf: (server: string) => ReactNode;
}) {
  const { data: approvals } = useSuspenseQuery(approvalsQuery);
  return (
    <>
      <PageHeader
        title={texts.approvals.title}
        note={
          approvals.length > 0 &&
          (approvals.length === 1 ? '1 pending' : `${approvals.length} pending`)
        }
      />
      <div className="scroll-area min-h-0 flex-1 px-4 pb-8 md:px-6">
        <CardList
          approvals={approvals}
          none={
            <Empty icon={MessageCircleQuestion} title="No pending approvals">
              This page lists calls that need approval, new commands, changed tools, and questions
              that a client cannot display.
            </Empty>
          }
        >
          {(approval, index) =>
            approval.kind === 'call' ? (
              <CallCard approval={approval} about={aboutTool(approval.tool ?? '')} />
            ) : approval.kind === 'command' ? (
              <CommandCard approval={approval} />
            ) : approval.kind === 'tools' ? (
              <ToolsCard approval={approval} changes={changesOf(approval.server)} />
            ) : approval.kind === 'package' ? (
              <PackageCard approval={approval} />
            ) : (
              <QuestionCard number={index + 1} approval={approval} />
            )
          }
        </CardList>
        <div className="mt-6 empty:hidden">
          <Grants />
        </div>
        <section
          aria-label="Argument rules"
          className="mt-6 max-w-3xl rounded-lg border bg-panel p-4 shadow-card md:p-5"
        >
          <h2 className="mb-3 font-semibold">Argument rules</h2>
          {rules}
        </section>
      </div>
    </>
  );
}
