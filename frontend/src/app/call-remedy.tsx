import { Link } from '@tanstack/react-router';
import { Clock, ShieldQuestion } from 'lucide-react';
import { Button, buttonClasses } from '@/components/button';
import { useToolSetting } from '@/features/servers/tool-settings';
import { escapeControlCharacters } from '@/lib/format';
import { toast } from '@/lib/toast';
import type { Call } from '@/types/api';

const fiveMinutes = 300_000;

/** What the user can do about a call that timed out or was rejected. */
export function CallRemedy({ call, toolName }: { call: Call; toolName: string }) {
  const setting = useToolSetting(call.server);
  if (call.method !== 'tools/call' || !call.server || !call.tool) return null;
  if (call.outcome === 'timeout')
    return (
      <p className="flex flex-wrap items-center gap-3 border-t px-4 py-3 text-sm text-ink2 md:px-5">
        <Button
          small
          disabled={setting.isPending}
          onClick={() =>
            setting.mutate(
              { tools: [call.tool], set: { requestTimeoutMs: fiveMinutes } },
              {
                onSuccess: () =>
                  toast(
                    'ok',
                    `Timeout for ${escapeControlCharacters(call.tool.slice(0, 100))} set to 5 minutes.`,
                  ),
              },
            )
          }
        >
          <Clock className="size-3.5" aria-hidden />
          Set timeout to 5 minutes
        </Button>
        Saved in the configuration; applies from the next call.
      </p>
    );
  if (call.outcome === 'rejected')
    return (
      <p className="flex flex-wrap items-center gap-3 border-t px-4 py-3 text-sm text-ink2 md:px-5">
        <Link to="/tools" search={{ tool: toolName }} className={buttonClasses('secondary', true)}>
          <ShieldQuestion className="size-3.5" aria-hidden />
          Why was this rejected?
        </Link>
      </p>
    );
  return null;
}
