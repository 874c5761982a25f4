import { type ReactNode, useState } from 'react';
import { Confirm } from '@/components/confirm';
import { count, escapeControlCharacters, exactTime } from '@/lib/format';
import { messageOf } from '@/lib/request';
import { texts } from '@/lib/texts';
import type { RetentionPreview } from '@/types/api';
import { useConfigRetentionPreview, type Wanted } from './api';

const careLessText = (n: string, all: string) =>
  `${n} of ${all} calls ${n === '1' ? 'exceeds' : 'exceed'} these limits and will be permanently deleted within a minute. To keep them, back up the history first.`;

export const numberOf = ({ estimated, calls }: RetentionPreview) =>
  estimated ? `About ${count(calls)}` : count(calls);

/** The time span of the calls that would be deleted. */
export function Span({ of: { from, to } }: { of: RetentionPreview }) {
  if (!from || !to) return null;
  return <p className="mt-2">{`They started between ${minute(from)} and ${minute(to)}.`}</p>;
}

/** How many calls would be deleted by lower limits, or why that is unknown. */
export function RetentionLoss({ found }: { found: RetentionPreview | Error }) {
  if (found instanceof Error)
    return (
      <p>{`The new limits may permanently delete older calls. Cannot count them: ${escapeControlCharacters(messageOf(found))}`}</p>
    );
  return (
    <>
      <p>{careLessText(numberOf(found), count(found.total))}</p>
      <Span of={found} />
    </>
  );
}

/**
 * Asks for confirmation before a configuration is written whose limits delete calls. `write` is
 * called without a confirmation if nothing is deleted; the caller has to render `dialog`.
 */
export function useRetentionConfirmation(): {
  ask: (wanted: Wanted, write: () => void) => void;
  counting: boolean;
  dialog: ReactNode;
} {
  const less = useConfigRetentionPreview();
  const [asking, setAsking] = useState<{ found: RetentionPreview | Error; write: () => void }>();
  const close = () => setAsking(undefined);
  return {
    counting: less.isPending,
    ask: (wanted, write) =>
      less.mutate(wanted, {
        onSuccess: (found) => (found.calls > 0 ? setAsking({ found, write }) : write()),
        onError: (found) => setAsking({ found, write }),
      }),
    dialog: asking && (
      <Confirm
        title="Delete older calls?"
        action={asking.found instanceof Error ? texts.settings.save : 'Save and delete'}
        onConfirm={() => {
          close();
          asking.write();
        }}
        onClose={close}
      >
        <RetentionLoss found={asking.found} />
      </Confirm>
    ),
  };
}

/** A time to the minute that does not wrap. */
const minute = (at: string | undefined) =>
  exactTime(at).slice(0, 16).replace(' ', '\u00a0').replaceAll('-', '\u2011');
