// Waiting for what is to come. Nothing in these tests is read at once after an action: on a
// busy machine the page needs seconds for what it shows elsewhere in the next frame.
import assert from 'node:assert/strict';

/** E2E_SLOW=4 gives the page a quarter of the processor, and lets answers come late. */
export const slow = Number(process.env.E2E_SLOW ?? 1);

/** How long the page may take for anything; only a busy machine needs much of it. */
export const patience = 60_000 * slow;

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** On a slow machine answers come late, and not in the order of their questions. */
export function late() {
  return slow > 1 ? Math.random() * 40 * slow : 0;
}

/** Asks until the answer is true, and returns it; the last error is the failure. */
export async function until(ask, what) {
  for (const end = Date.now() + patience; ; await pause(25)) {
    let wrong;
    try {
      const answer = await ask();
      if (answer) return answer;
    } catch (error) {
      wrong = error;
    }
    if (Date.now() >= end) throw wrong ?? new Error(`${what} did not come`);
  }
}

/** Asks until the answer equals `wanted`, or matches it. */
export function becomes(ask, wanted) {
  return until(async () => {
    const got = await ask();
    if (wanted instanceof RegExp) assert.match(got, wanted);
    else assert.deepEqual(got, wanted);
    return true;
  });
}

/** Waits until the page hears of everything that happens in the daemon. */
export function live(page) {
  return page.getByText('Live').locator('visible=true').first().waitFor();
}

/** Presses letters that lead to a page until it is there: too slow after another they count for nothing. */
export function leadsTo(page, letters, address) {
  return until(async () => {
    for (const letter of letters) await page.keyboard.press(letter);
    return page.waitForURL(address, { timeout: 2000 }).then(
      () => true,
      () => false,
    );
  }, `the page behind ${letters}`);
}

/** Waits until the keyboard is at `target`. */
export function focused(target) {
  return becomes(() => target.evaluate((element) => element === document.activeElement), true);
}

/** Answers a question with Enter: the safe answer has the focus, and nothing happens. */
export async function keep(page) {
  const dialog = page.getByRole('dialog');
  await focused(dialog.locator('[data-first]'));
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
}

/** Closes a dialog with Escape. */
export async function leave(page) {
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
}

/**
 * Runs in the page before anything else: what is said for a while stays longer, so that a busy
 * machine sees it too, and comes to its button.
 */
export function lasting() {
  const { setTimeout } = window;
  const longer = { 4000: 12_000, 9000: 30_000, 12000: 30_000 };
  window.setTimeout = (run, ms, ...rest) => setTimeout(run, longer[ms] ?? ms, ...rest);
}

/** Waits until the page at `path` has its heading, nothing of it failed or loads any more, and it stays so. */
export async function settled(page, path) {
  // Not an async function: its promise would count as true, and nothing would be waited for.
  await page.waitForFunction(
    ({ path, since }) => {
      const quiet =
        (path === undefined ||
          document.querySelector(`main[aria-busy=false][data-at="${path}"]`)) &&
        [...document.querySelectorAll('h1')].some((h) => h.checkVisibility()) &&
        !document.querySelector('[data-loading], [data-failed]');
      const now = performance.now();
      if (!quiet || window.quietFor !== since) {
        window.quietFor = quiet ? since : undefined;
        window.quietAt = now;
        return false;
      }
      return now - window.quietAt >= 60;
    },
    { path, since: Math.random() },
  );
}

/** The whole text of a code editor, which draws only what is in view; of a field, its value. */
export function textOf(box) {
  return box.evaluate((element) =>
    'value' in element ? element.value : element.cmTile.root.view.state.doc.toString(),
  );
}

const asking = [
  ...['check', 'clear', 'click', 'dblclick', 'dispatchEvent', 'elementHandle', 'evaluate'],
  ...['fill', 'focus', 'getAttribute', 'hover', 'innerText', 'inputValue', 'isChecked'],
  ...['isEnabled', 'isVisible', 'press', 'pressSequentially', 'selectOption', 'setChecked'],
  ...['setInputFiles', 'textContent', 'uncheck', 'waitFor'],
];

/**
 * Makes every locator wait for the one element that it means. While a dialog closes or a
 * list is replaced, what it names is there twice for a moment, and that is not yet a fault.
 * The refusal comes before anything is done, so nothing is done twice.
 */
export function patiently(page) {
  const locators = Object.getPrototypeOf(page.locator('html'));
  if (locators.patient) return;
  locators.patient = true;
  for (const name of asking) {
    const once = locators[name];
    locators[name] = async function (...rest) {
      for (const end = Date.now() + patience; ; await pause(50)) {
        try {
          return await once.apply(this, rest);
        } catch (error) {
          if (!/strict mode violation/.test(error.message) || Date.now() >= end) throw error;
        }
      }
    };
  }
}
