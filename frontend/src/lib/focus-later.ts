/**
 * Moves the focus to an element as soon as it exists and no dialog is open, for example after the
 * focused button was removed together with what it deleted. Does nothing if the user has moved the
 * focus in the meantime.
 */
export function focusLater(find: () => HTMLElement | null | undefined): void {
  const end = performance.now() + 2000;
  const attempt = () => {
    const { activeElement } = document;
    if (document.querySelector('dialog[open]') === null) {
      if (activeElement !== document.body && activeElement !== null) return;
      find()?.focus();
      if (document.activeElement !== document.body) return;
    }
    if (performance.now() < end) setTimeout(attempt, 50);
  };
  attempt();
}
