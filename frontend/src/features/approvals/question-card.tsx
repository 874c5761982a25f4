import { useMemo, useState } from 'react';
import { Button } from '@/components/button';
import { CopyField } from '@/components/copy-button';
import { Failure } from '@/components/failure';
import { LongText } from '@/components/json-view';
import { ObjectForm } from '@/components/schema-form';
import { ScrollArea } from '@/components/scroll-area';
import { initialText, readSchema } from '@/lib/form-schema';
import { escapeControlCharacters } from '@/lib/format';
import { useServerName } from '@/lib/server-lookup';
import type { Approval } from '@/types/api';
import { AboutServer } from './about-server';
import { useAnswerApproval } from './api';
import { TimeLeft } from './time-left';

const approvalsLeftText = (time: string) => `Will be declined automatically in ${time}`;

/** A question of a server, which a client cannot display. */
export function QuestionCard({ number, approval }: { number: number; approval: Approval }) {
  const labelOf = useServerName();
  const schema = useMemo(() => readSchema(approval.schema ?? '{}'), [approval.schema]);
  const [content, setContent] = useState(() => initialText({ ...schema, kind: 'object' }));
  const answer = useAnswerApproval(approval);
  const isForm = approval.kind === 'form';
  return (
    <div className="rounded-lg border bg-panel p-4 shadow-card md:p-5">
      <h2 className="font-semibold [overflow-wrap:anywhere]">
        {escapeControlCharacters(`${labelOf(approval.server).slice(0, 200)} asks`)}
      </h2>
      <p className="mt-0.5 flex flex-wrap gap-x-3 text-xs text-ink3">
        <span className="[overflow-wrap:anywhere] empty:hidden">
          {escapeControlCharacters(origin(approval).slice(0, 300))}
        </span>
        <TimeLeft expires={approval.expires} text={approvalsLeftText} />
      </p>
      <ScrollArea
        aria-label={`Question ${number}`}
        className="mt-3 max-h-72 max-w-prose border-l-2 border-strong pl-3 whitespace-pre-wrap [overflow-wrap:anywhere]"
      >
        <LongText text={approval.message} />
      </ScrollArea>
      {approval.kind === 'url' && approval.url && (
        <div className="mt-3 space-y-1">
          <p className="text-sm text-warn">
            The server asks you to open this URL. Check it, then copy it into your browser.
          </p>
          <CopyField text={escapeControlCharacters(approval.url)} label="URL" />
        </div>
      )}
      {isForm && schema.members.length > 0 && (
        <div className="mt-4">
          <ObjectForm field={schema} text={content} onChange={setContent} />
        </div>
      )}
      <p className="mt-4 text-xs text-ink3">
        This question comes from the server. Never enter a password or a key.
      </p>
      <Failure error={answer.error} className="mt-2" />
      <div className="mt-3 flex flex-wrap gap-2">
        <Button
          look="primary"
          disabled={answer.isPending}
          onClick={() => answer.mutate({ action: 'accept', ...(isForm ? { content } : {}) })}
        >
          {isForm ? 'Send answer' : 'Done'}
        </Button>
        <Button disabled={answer.isPending} onClick={() => answer.mutate({ action: 'decline' })}>
          Decline
        </Button>
        <Button
          look="quiet"
          disabled={answer.isPending}
          onClick={() => answer.mutate({ action: 'cancel' })}
        >
          Cancel call
        </Button>
        <AboutServer id={approval.server} />
      </div>
    </div>
  );
}

function origin(approval: Approval): string {
  return [approval.client?.name && `Called by “${approval.client.name}”`, approval.tool]
    .filter(Boolean)
    .join(' · ');
}
