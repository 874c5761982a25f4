import { Link } from '@tanstack/react-router';
import { Clock, ServerOff, ShieldQuestion } from 'lucide-react';
import { useState } from 'react';
import { Button, buttonClasses } from '@/components/button';
import { ExplainDecision } from '@/features/policy/explain-decision';
import { useToolSetting } from '@/features/servers/tool-settings';
import { escapeControlCharacters } from '@/lib/format';
import { toast } from '@/lib/toast';
import type { CallDetail } from '@/types/api';

const timeouts = [
  [10_000, '10 seconds'],
  [30_000, '30 seconds'],
  [60_000, '1 minute'],
  [300_000, '5 minutes'],
  [900_000, '15 minutes'],
] as const;

/** What the user can do about a call that timed out or was rejected. */
export function CallRemedy({ call }: { call: CallDetail }) {
  const setting = useToolSetting(call.server);
  if (call.method !== 'tools/call' || !call.server || !call.tool) return null;
  if (call.outcome === 'timeout') {
    // At least twice as long as the call was given.
    const [ms, name] = timeouts.find(([ms]) => ms >= call.tookNs / 5e5) ?? timeouts[4];
    return (
      <p className="flex flex-wrap items-center gap-3 border-t px-4 py-3 text-sm text-ink2 md:px-5">
        <Button
          small
          disabled={setting.isPending}
          onClick={() =>
            setting.mutate(
              { tools: [call.tool], set: { requestTimeoutMs: ms } },
              {
                onSuccess: () =>
                  toast(
                    'ok',
                    `Timeout for ${escapeControlCharacters(call.tool.slice(0, 100))} set to ${name}.`,
                  ),
              },
            )
          }
        >
          <Clock className="size-3.5" aria-hidden />
          {`Set timeout to ${name}`}
        </Button>
        Saved in the configuration; applies from the next call.
      </p>
    );
  }
  if (call.outcome === 'protocol_error' && call.code === 'unavailable')
    return (
      <p className="border-t px-4 py-3 md:px-5">
        <Link
          to="/servers/$id"
          params={{ id: call.server }}
          className={buttonClasses('secondary', true)}
        >
          <ServerOff className="size-3.5" aria-hidden />
          {`Open ${escapeControlCharacters(call.server.slice(0, 60))}`}
        </Link>
      </p>
    );
  if (call.outcome === 'rejected') return <WhyRejected key={call.id} call={call} />;
  return null;
}

function WhyRejected({ call }: { call: CallDetail }) {
  const [open, setOpen] = useState(call.reason.startsWith('a rule denied '));
  return (
    <>
      <p className="border-t px-4 py-3 md:px-5">
        <Button small aria-expanded={open} onClick={() => setOpen(!open)}>
          <ShieldQuestion className="size-3.5" aria-hidden />
          Why was this rejected?
        </Button>
      </p>
      {open && (
        <ExplainDecision
          server={call.server}
          tool={call.tool}
          made={{
            token: call.token,
            workspace: call.workspace ?? '',
            arguments: call.argumentsCut ? undefined : call.arguments,
          }}
        />
      )}
    </>
  );
}
