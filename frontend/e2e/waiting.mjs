// Waiting for the page. No test reads a result right after an action: what takes one frame on a
// fast machine takes seconds on a busy one.
import assert from 'node:assert/strict';

/** E2E_SLOW=4 slows down the page's processor by four and delays responses. */
export const slow = Number(process.env.E2E_SLOW ?? 1);

/** The time limit of every wait. Only a busy machine needs much of it. */
export const timeoutMs = 180_000 * slow;

export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** A random delay for a response, so that responses arrive out of order; 0 without E2E_SLOW. */
export function randomDelay() {
  return slow > 1 ? Math.random() * 40 * slow : 0;
}

/** Calls `ask` until it returns a truthy value, and returns that. Fails with its last error. */
export async function until(ask, what) {
  for (const end = Date.now() + timeoutMs; ; await pause(25)) {
    let wrong;
    try {
      const answer = await ask();
      if (answer) return answer;
    } catch (error) {
      wrong = error;
    }
    if (Date.now() >= end) throw wrong ?? new Error(`${what} did not happen in time`);
  }
}

/** Calls `ask` until its result equals or matches `wanted`. */
export function becomes(ask, wanted) {
  return until(async () => {
    const got = await ask();
    if (wanted instanceof RegExp) assert.match(got, wanted);
    else assert.deepEqual(got, wanted);
    return true;
  });
}

/** Waits until the page receives the events of the daemon. */
export function live(page) {
  return page.getByText('Live', { exact: true }).locator('visible=true').first().waitFor();
}

/** Presses the shortcut of a page until the page is open: letters that follow too slowly are ignored. */
export function pressShortcut(page, letters, address) {
  return until(async () => {
    for (const letter of letters) await page.keyboard.press(letter);
    return page.waitForURL(address, { timeout: 2000 }).then(
      () => true,
      () => false,
    );
  }, `the page behind ${letters}`);
}

/** Waits until `target` has the focus. */
export function focused(target) {
  return becomes(() => target.evaluate((element) => element === document.activeElement), true);
}

/** Presses Enter in a confirmation. The safe answer has the focus, so nothing is changed. */
export async function pressDefault(page) {
  const dialog = page.getByRole('dialog');
  const first = dialog.locator('[data-first]');
  await focused(first);
  await first.press('Enter');
  await dialog.waitFor({ state: 'detached' });
}

/** Closes a dialog with Escape. */
export async function closeDialog(page) {
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
}

/**
 * Runs in the page before its scripts: shows toasts for longer, so that a slow machine can still
 * press their buttons.
 */
export function lengthenToasts() {
  const { setTimeout } = window;
  const longer = { 4000: 12_000, 9000: 30_000, 12000: 30_000 };
  window.setTimeout = (run, ms, ...rest) => setTimeout(run, longer[ms] ?? ms, ...rest);
}

/** Waits until the page at `path` shows its heading, and nothing has failed or loads, for 60 ms. */
export async function settled(page, path) {
  // Not an async function: its promise is truthy, and would end the wait at once.
  const quiet = page.waitForFunction(
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
  await quiet.catch(async (error) => {
    throw new Error(`${error.message}\n${await shown(page)}`);
  });
}

/** What a page shows, for the message of a failure: its path, what loads or failed, its first text. */
export function shown(page) {
  const look = page.evaluate(() => {
    const main = document.querySelector('main');
    const waiting = [...document.querySelectorAll('[data-loading], [data-failed]')];
    return [
      `${location.hash}, shown: ${main?.dataset.at}, busy: ${main?.ariaBusy}`,
      ...waiting.map((one) => one.outerHTML.slice(0, 300)),
      (main ?? document.body).innerText.slice(0, 600),
    ].join('\n');
  });
  const late = pause(5000).then(() => 'the page does not respond');
  return Promise.race([look, late]).catch((error) => `the page is gone: ${error.message}`);
}

/** The whole text of a code editor, which renders only the visible lines; or the value of a field. */
export function textOf(box) {
  return box.evaluate((element) =>
    'value' in element ? element.value : element.cmTile.root.view.state.doc.toString(),
  );
}

const transient = /strict mode violation|did not change its state/;

const locatorMethods = [
  ...['check', 'clear', 'click', 'dblclick', 'dispatchEvent', 'elementHandle', 'evaluate'],
  ...['fill', 'focus', 'getAttribute', 'hover', 'innerText', 'inputValue', 'isChecked'],
  ...['isEnabled', 'isVisible', 'press', 'pressSequentially', 'selectOption', 'setChecked'],
  ...['setInputFiles', 'textContent', 'uncheck', 'waitFor'],
];

/**
 * Makes every locator method retry while its locator matches several elements: while a dialog
 * closes or a list is replaced, an element exists twice for a moment. Playwright reports this
 * before it acts, so no action is repeated. A check box is clicked again if a click was lost.
 */
export function retryAmbiguousLocators(page) {
  const locators = Object.getPrototypeOf(page.locator('html'));
  if (locators.retrying) return;
  locators.retrying = true;
  for (const name of locatorMethods) {
    const once = locators[name];
    locators[name] = async function (...rest) {
      for (const end = Date.now() + timeoutMs; ; await pause(50)) {
        try {
          return await once.apply(this, rest);
        } catch (error) {
          if (!transient.test(error.message) || Date.now() >= end) throw error;
        }
      }
    };
  }
}
