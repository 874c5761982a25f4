import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ChevronDown, Copy, Download, GitCompare, Link2, Pencil, Terminal } from 'lucide-react';
import type { ReactNode } from 'react';
import { Button, buttonClasses } from '@/components/button';
import { writeClipboard } from '@/components/copy-button';
import { Menu } from '@/components/menu';
import { downloadText } from '@/lib/download';
import { hasMarks } from '@/lib/redaction-marks';
import { statusQuery } from '@/lib/status-query';
import { texts } from '@/lib/texts';
import { toast } from '@/lib/toast';
import type { Call, CallDetail as Detail } from '@/types/api';
import { asCommand, asCurl, asJson, canRepeat } from './copy-as';
import { DeleteCallsButton } from './delete-calls-button';
import { ReplayButton } from './replay-call-button';

/** The actions for a call: repeat, compare, copy, delete. */
export function CallActions({
  call,
  server,
  tool,
  makeRule,
  onGone,
}: {
  call: Detail;
  server: string;
  tool: { name: string; readOnly: boolean };
  makeRule: ((call: Call) => ReactNode) | undefined;
  onGone: () => void;
}) {
  const { data: status } = useQuery(statusQuery);
  const repeat = canRepeat(call);
  return (
    <div className="-ml-[9px] flex flex-wrap">
      {repeat && call.outcome !== '' && (
        <>
          {!hasMarks(call.arguments ?? '') && (
            <ReplayButton key={call.id} call={call} server={server} readOnly={tool.readOnly} />
          )}
          <Link
            to="/tools"
            search={{ tool: tool.name, from: call.id }}
            className={buttonClasses('quiet', true)}
          >
            <Pencil className="size-3.5" aria-hidden />
            Edit and send
          </Link>
          <Link
            to="/calls/$id"
            params={{ id: call.id }}
            search={(old) => ({ ...old, with: 'pick' })}
            className={buttonClasses('quiet', true)}
          >
            <GitCompare className="size-3.5" aria-hidden />
            Compare…
          </Link>
          {makeRule?.(call)}
        </>
      )}
      <Menu
        align="start"
        items={[
          {
            text: 'Copy link',
            icon: Link2,
            onSelect: () => copy(`${location.origin}${location.pathname}#/calls/${call.id}`),
          },
          ...(repeat
            ? [
                {
                  text: 'Copy as drawbridge command',
                  icon: Terminal,
                  onSelect: () => copy(asCommand(call)),
                },
                {
                  text: 'Copy as curl',
                  icon: Terminal,
                  onSelect: () => copy(asCurl(call, status?.url ?? '')),
                },
              ]
            : []),
          {
            text: 'Save as JSON',
            icon: Download,
            onSelect: () => downloadText(asJson(call), `call-${call.id}.json`),
          },
        ]}
      >
        <Button small look="quiet">
          <Copy className="size-3.5" aria-hidden />
          Copy or save
          <ChevronDown className="size-3.5" aria-hidden />
        </Button>
      </Menu>
      {call.outcome !== '' && (
        <DeleteCallsButton what={{ ids: [call.id] }} title="Delete this call?" onGone={onGone} />
      )}
    </div>
  );
}

async function copy(text: string): Promise<void> {
  const done = await writeClipboard(text);
  toast(done ? 'ok' : 'bad', done ? 'Copied' : texts.actions.copyFailed);
}
