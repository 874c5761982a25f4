// Reused tabs: a new tab costs a process, which loads the whole page again.
import { sizes } from './browser.mjs';
import { watched } from './harness.mjs';
import { timeoutMs } from './waiting.mjs';

/** Lends isolated tabs of browser, one to each flow. */
export function pagePool(browser) {
  const free = [];

  async function open() {
    const context = await browser.newContext({
      viewport: sizes.desktop,
      reducedMotion: 'reduce',
    });
    context.setDefaultTimeout(timeoutMs);
    return watched(context);
  }

  /** Passes run a tab of that size in light colours, and reuses it if run succeeds. */
  return async function lend(viewport, run) {
    const page = free.pop() ?? (await open());
    let good = false;
    try {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme: 'light' });
      await run(page);
      good = !page.changed && (await cleared(page));
    } finally {
      if (good) free.push(page);
      else {
        await page.unrouteAll({ behavior: 'ignoreErrors' });
        await page.context().close();
      }
    }
  };
}

/** Resets a tab; false if that fails, for example because the page asks before it is left. */
async function cleared(page) {
  try {
    await page.unrouteAll({ behavior: 'wait' });
    page.removeAllListeners('request');
    await page.mouse.move(0, 0);
    await page.evaluate(() => {
      localStorage.clear();
      sessionStorage.clear();
    });
    await page.goto('about:blank', { timeout: 5000 });
  } catch {
    return false;
  }
  page.troubles.length = 0;
  return page.context().pages().length === 1;
}
