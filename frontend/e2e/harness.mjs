import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { repeatLostInput, watchClicks } from './reliable-input.mjs';
import {
  becomes,
  lengthenToasts,
  pause,
  randomDelay,
  retryAmbiguousLocators,
  slow,
} from './waiting.mjs';

export { settled } from './waiting.mjs';

const axe = readFileSync(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');

/** A page that records errors and policy violations. */
export async function watched(context) {
  const page = await context.newPage();
  retryAmbiguousLocators(page);
  repeatLostInput(page);
  await page.addInitScript(lengthenToasts);
  await page.addInitScript(watchClicks);
  if (slow > 1) {
    const debug = await context.newCDPSession(page);
    await debug.send('Emulation.setCPUThrottlingRate', { rate: slow });
  }
  page.troubles = [];
  page.on('pageerror', (error) => page.troubles.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => {
    page.troubles.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on('console', (message) => {
    // The browser logs refused and failed requests itself; some flows cause them.
    if (message.type() === 'error' && !/Failed to load resource|net::ERR/.test(message.text())) {
      page.troubles.push(`console: ${message.text()}`);
    }
  });
  return page;
}

/** Makes a page the one of this daemon, signed in; `delay` returns the delay of a response by its path. */
export async function signIn(page, daemon, delay = slow > 1 ? randomDelay : undefined) {
  await page.setExtraHTTPHeaders({ Authorization: `Bearer ${daemon.token}` });
  if (!delay) return;
  await page.route('**/api/**', async (route) => {
    await pause(delay(new URL(route.request().url()).pathname));
    await route.continue().catch(() => {}); // the page has ended
  });
}

/** Switches to light or dark colours, and waits until they are painted. */
export async function recolour(page, colorScheme) {
  await page.emulateMedia({ colorScheme });
  // The new colours are painted in the next frame and final in the one after.
  await page.evaluate(
    () =>
      new Promise((drawn) => {
        requestAnimationFrame(() => requestAnimationFrame(drawn));
      }),
  );
  await page.waitForFunction(() =>
    document.getAnimations().every((one) => !(one instanceof CSSTransition)),
  );
}

/**
 * Checks that no errors were recorded and nothing is wider than the window. With `rules`, also runs
 * axe: `all` rules, or only those about `colours`.
 */
export async function inspect(page, rules) {
  // A page that is being replaced has no heading, or is wider for one frame; a real fault stays.
  await becomes(() => page.evaluate(tooWide), 'nothing');
  if (rules) await becomes(() => axeViolations(page, rules), []);
  assert.deepEqual(page.troubles, []);
}

function tooWide() {
  const { scrollWidth, clientWidth } = document.documentElement;
  return scrollWidth <= clientWidth ? 'nothing' : `${scrollWidth - clientWidth} px too wide`;
}

export async function axeViolations(page, rules) {
  // By the debugger, which the page's security policy does not restrict.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe);
  return page.evaluate(
    async (runOnly) => {
      // axe must not load anything, and elements cannot be returned from the page.
      const options = { resultTypes: ['violations'], preload: false, elementRef: false, runOnly };
      const { violations } = await window.axe.run(document, options);
      return violations.map(
        (v) => `${v.id}: ${v.nodes[0]?.html.slice(0, 200)} (${v.nodes.length})`,
      );
    },
    rules === 'colours' ? ['color-contrast', 'link-in-text-block'] : undefined,
  );
}

/** A run with more failed flows than this is not unlucky, so none of them runs again. */
const maxRepeats = 3;

/**
 * Counts passed jobs and prints failed ones; `only` is a regular expression of the names to run.
 * A job that stands for itself may be `repeatable`: repeatFailed runs it again.
 */
export function tally(only) {
  const pattern = new RegExp(only ?? '');
  const wants = (name) => pattern.test(name);
  const failedOnce = [];
  const tally = { passed: 0, failed: 0, check, repeatFailed, wants };
  async function check(name, run, { repeatable = false } = {}) {
    if (!wants(name)) return;
    try {
      await run();
      tally.passed++;
    } catch (error) {
      tally.failed++;
      if (repeatable) failedOnce.push({ name, run });
      const text = String(error.message).split('\n').slice(0, 40).join('\n  ');
      console.error(`FAIL ${name}\n  ${text}`);
    }
  }
  /** Runs the failed jobs again, one at a time: one that passes now is flaky, and is said to be. */
  async function repeatFailed() {
    if (failedOnce.length > maxRepeats) return;
    for (const { name, run } of failedOnce.splice(0)) {
      const { passed } = tally;
      tally.failed -= 1;
      await check(name, run);
      if (tally.passed > passed) console.error(`flaky: ${name}`);
    }
  }
  return tally;
}

/** Runs jobs in order, a few of them at a time. */
export async function lanes(jobs, width) {
  const waiting = [...jobs];
  const lane = async () => {
    for (let job = waiting.shift(); job; job = waiting.shift()) await job();
  };
  await Promise.all(Array.from({ length: width }, lane));
}
