import { useBlocker } from '@tanstack/react-router';
import { Confirm } from '@/components/confirm';
import { anyUnsaved, useAnyUnsaved } from '@/lib/unsaved-changes';

/**
 * Asks for confirmation before the user leaves a page with unsaved changes. The browser itself asks
 * before the tab is closed.
 */
export function UnsavedChangesDialog() {
  const unsaved = useAnyUnsaved();
  const { status, proceed, reset } = useBlocker({
    // The URL also contains filters and views. Changing them does not leave the page.
    shouldBlockFn: ({ current, next }) =>
      anyUnsaved() &&
      (current.pathname !== next.pathname || made(current.search) !== made(next.search)),
    disabled: !unsaved,
    enableBeforeUnload: anyUnsaved,
    withResolver: true,
  });
  if (status !== 'blocked') return null;
  return (
    <Confirm
      title="Leave without saving?"
      action="Leave"
      keep="Keep editing"
      onConfirm={proceed}
      onClose={reset}
    >
      <p>Your changes have not been saved. If you leave, they will be lost.</p>
    </Confirm>
  );
}

/** The form for a new item, which is shown over its list at the same path. */
const made = (search: object) => 'make' in search && search.make;
