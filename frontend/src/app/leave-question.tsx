import { useBlocker } from '@tanstack/react-router';
import { Confirm } from '@/components/confirm';
import { texts } from '@/lib/texts';
import { anyUnsaved, useAnyUnsaved } from '@/lib/unsaved';

const t = texts.leave;

/**
 * Asks before a page is left whose edits are not saved; the browser itself asks before the tab
 * is closed. Nothing stands in the way of anything else.
 */
export function LeaveQuestion() {
  const unsaved = useAnyUnsaved();
  const { status, proceed, reset } = useBlocker({
    // Filters and views live in the address, too; they leave nothing.
    shouldBlockFn: ({ current, next }) =>
      anyUnsaved() &&
      (current.pathname !== next.pathname || made(current.search) !== made(next.search)),
    disabled: !unsaved,
    enableBeforeUnload: anyUnsaved,
    withResolver: true,
  });
  if (status !== 'blocked') return null;
  return (
    <Confirm title={t.title} action={t.leave} keep={t.stay} onConfirm={proceed} onClose={reset}>
      <p>{t.body}</p>
    </Confirm>
  );
}

/** The form for something new, which stands over its list at the same path. */
const made = (search: object) => 'make' in search && search.make;
