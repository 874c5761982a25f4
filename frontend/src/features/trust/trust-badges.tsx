import { useQuery } from '@tanstack/react-query';
import { ShieldAlert } from 'lucide-react';
import { Section } from '@/components/fields';
import { escapeControlCharacters } from '@/lib/format';
import type { ToolTrust } from '@/types/api';
import { trustQuery } from './api';
import { Warnings } from './tool-changes';

const serious = (one: ToolTrust) =>
  (one.warnings ?? []).filter((warning) => warning.code !== 'same-name');

function useTrust(server: string, tool: string): ToolTrust | undefined {
  const { data } = useQuery(trustQuery);
  return data?.find((one) => one.server === server && one.tool === tool);
}

/** Badges beside the name of a tool that is new or suspicious. */
export function TrustBadges({ server, tool }: { server: string; tool: string }) {
  const one = useTrust(server, tool);
  if (!one) return null;
  const warnings = serious(one);
  return (
    <>
      {one.new && (
        <span className="shrink-0 rounded bg-accent-soft px-1.5 text-xs text-accent">New</span>
      )}
      {warnings.length > 0 && (
        <span
          title={warnings.map((warning) => escapeControlCharacters(warning.reason)).join('\n')}
          className="inline-flex shrink-0 items-baseline gap-1 rounded bg-warn-soft px-1.5 text-xs text-warn"
        >
          <ShieldAlert className="size-3 self-center" aria-hidden />
          Suspicious
        </span>
      )}
    </>
  );
}

/** The warnings on the page of a tool. */
export function TrustSection({ server, tool }: { server: string; tool: string }) {
  const one = useTrust(server, tool);
  if (!one || (serious(one).length === 0 && !one.always)) return null;
  return (
    <Section title="Trust">
      {one.always && <p className="text-sm text-ink2">Changes to this tool are always accepted.</p>}
      <Warnings list={one.warnings ?? []} />
    </Section>
  );
}
