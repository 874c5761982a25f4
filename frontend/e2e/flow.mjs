// User flows on the page, with the mock daemon.
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { startMock } from '../dev/mock.mjs';
import { sizes } from './browser.mjs';
import { randomDelay, shown } from './waiting.mjs';

const list = [];

/** Adds a flow: `run` gets its own page and its own scene. */
export function flow(name, options, run) {
  list.push({ name, options, run });
}

/**
 * A port for a daemon that restarts: outside of the range of ephemeral ports, so that no other
 * program takes it in the meantime.
 */
export async function ownPort() {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const server = createServer();
    const free = await new Promise((done) => {
      server.once('error', () => done(false));
      server.listen(port, '127.0.0.1', () => server.close(() => done(true)));
    });
    if (free) return port;
  }
}

/** Every flow, each with its own daemon. */
export function flows(lend, { check, wants }) {
  return list
    .filter(({ name }) => wants(name))
    .map(({ name, options, run }) => async () => {
      const drive = async () => {
        const port = await options.port?.();
        const mock = await startMock({ delay: randomDelay, ...options, port });
        try {
          await lend(sizes.desktop, async (page) => {
            try {
              await run(page, mock, page.context());
              assert.deepEqual(page.troubles, []);
            } catch (error) {
              if (process.env.E2E_SHOT) await page.screenshot({ path: process.env.E2E_SHOT });
              throw new Error(`${error.message}\n${await shown(page)}`, { cause: error });
            }
          });
        } finally {
          await mock.close();
        }
      };
      await check(name, drive, { repeatable: true });
    });
}
