// Tabs that are used again: a new one costs a process, which reads the whole page anew.
import { sizes } from './browser.mjs';
import { watched } from './harness.mjs';
import { patience } from './waiting.mjs';

/** The tabs of browser. What one flow does in its tab, no other sees. */
export function tabs(browser) {
  const free = [];

  async function open() {
    const context = await browser.newContext({
      viewport: sizes.desktop,
      reducedMotion: 'reduce', // what moves is not what flows look at
    });
    context.setDefaultTimeout(patience);
    return watched(context);
  }

  /** Lends run a tab of that size in light colours, and takes it back if all went well. */
  return async function lend(viewport, run) {
    const page = free.pop() ?? (await open());
    let good = false;
    try {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme: 'light' });
      await run(page);
      good = await cleared(page);
    } finally {
      if (good) free.push(page);
      else {
        await page.unrouteAll({ behavior: 'ignoreErrors' }); // nobody waits for those any more
        await page.context().close();
      }
    }
  };
}

/** Makes a tab as good as new; false where it cannot, as with a page that asks before it is left. */
async function cleared(page) {
  try {
    await page.unrouteAll({ behavior: 'wait' });
    page.removeAllListeners('request');
    await page.mouse.move(0, 0);
    await page.evaluate(() => localStorage.clear());
    await page.goto('about:blank', { timeout: 5000 });
  } catch {
    return false;
  }
  page.troubles.length = 0;
  return page.context().pages().length === 1;
}
