// User flows on the page, each with its own daemon.
import assert from 'node:assert/strict';
import { sizes } from './browser.mjs';
import { startDaemon } from './daemon.mjs';
import { signIn } from './harness.mjs';
import { shown } from './waiting.mjs';

const list = [];

/** Adds a flow: `run` gets its own page, and its own daemon with the files of a scene. */
export function flow(name, scene, run) {
  list.push({ name, scene, run });
}

/** Every flow. */
export function flows(lend, { check, wants }) {
  return list
    .filter(({ name }) => wants(name))
    .map(({ name, scene, run }) => async () => {
      const drive = async () => {
        const daemon = await startDaemon(scene);
        try {
          await lend(sizes.desktop, async (page) => {
            await signIn(page, daemon);
            try {
              await run(page, daemon, page.context());
              assert.deepEqual(page.troubles, []);
            } catch (error) {
              if (process.env.E2E_SHOT) await page.screenshot({ path: process.env.E2E_SHOT });
              throw new Error(`${error.message}\n${await shown(page)}`, { cause: error });
            }
          });
        } finally {
          await daemon.close();
        }
      };
      await check(name, drive, { repeatable: true });
    });
}
