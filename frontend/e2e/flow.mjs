// What a person does with the page, against the mock daemon.
import assert from 'node:assert/strict';
import { startMock } from '../dev/mock.mjs';
import { patience, sizes } from './browser.mjs';
import { watched } from './harness.mjs';

const list = [];

/** Adds a flow: `run` has a page of its own, in a scene of its own. */
export function flow(name, options, run) {
  list.push({ name, options, run });
}

/** Every flow, each with a daemon and a browser context of its own. */
export function flows(browser, { check, wants }) {
  return list
    .filter(({ name }) => wants(name))
    .map(({ name, options, run }) => async () => {
      await check(name, async () => {
        const mock = await startMock(options);
        const context = await browser.newContext({ viewport: sizes.desktop });
        context.setDefaultTimeout(patience);
        const page = await watched(context);
        try {
          await run(page, mock, context);
          assert.deepEqual(page.troubles, []);
        } catch (error) {
          if (process.env.E2E_SHOT) await page.screenshot({ path: process.env.E2E_SHOT });
          throw error;
        } finally {
          await context.close();
          await mock.close();
        }
      });
    });
}
