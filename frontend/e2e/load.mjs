// The page under load.
import assert from 'node:assert/strict';
import { startMock } from '../dev/mock.mjs';
import { sizes } from './browser.mjs';
import { watched } from './harness.mjs';

export function load(browser, check) {
  return check('a thousand calls a second do not freeze the page', async () => {
    const mock = await startMock({ scene: 'full', rate: 1000 });
    const context = await browser.newContext({ viewport: sizes.desktop });
    const page = await watched(context);
    await page.goto(`${mock.url}/#/calls`);
    await page.getByText('Live').locator('visible=true').first().waitFor();
    await page.waitForTimeout(1000); // the first paint is not what is measured
    const longest = await page.evaluate(
      () =>
        new Promise((resolve) => {
          let last = performance.now();
          let worst = 0;
          const end = last + 3000;
          const tick = () => {
            const now = performance.now();
            worst = Math.max(worst, now - last);
            last = now;
            if (now < end) setTimeout(tick, 0);
            else resolve(worst);
          };
          tick();
        }),
    );
    await context.close();
    await mock.close();
    console.log(`longest pause at 1,000 calls/s: ${Math.round(longest)} ms`);
    assert.ok(longest < 700, `the page stood still for ${longest} ms`);
    assert.deepEqual(page.troubles, []);
  });
}
