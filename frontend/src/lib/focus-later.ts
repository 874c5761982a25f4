/**
 * Moves the focus to an element as soon as it exists and no dialog is open, for example after the
 * focused button was removed together with what it deleted. Does nothing if the user has moved the
 * focus in the meantime. `anyway` moves it also from where it is when the last dialog has closed.
 */
export function focusLater(find: () => HTMLElement | null | undefined, anyway = false): void {
  const end = performance.now() + 2000;
  let from: Element | null = document.body;
  let first = anyway;
  const attempt = () => {
    if (document.querySelector('dialog[open]') === null) {
      if (first) from = document.activeElement;
      first = false;
      const moved = () => ![document.body, null, from].includes(document.activeElement);
      if (moved()) return;
      const found = find();
      found?.focus();
      found?.scrollIntoView({ block: 'nearest' });
      if (moved()) return;
    }
    if (performance.now() < end) setTimeout(attempt, 50);
  };
  attempt();
}
