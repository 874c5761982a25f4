// Drives the built page in chromium against real daemons: node e2e/run.mjs [REGULAR EXPRESSION]
// E2E_ROUNDS=3 runs everything three times, E2E_SLOW=4 with a quarter of the processor time: both
// find tests that depend on a fast machine.
import { launch } from './browser.mjs';
import { size } from './bundle-size.mjs';
import { dialogs } from './dialogs.mjs';
import { flows } from './flow.mjs';
import { lanes, tally } from './harness.mjs';
import { stillness } from './layout-shift.mjs';
import { load } from './load-test.mjs';
import { pagePool } from './page-pool.mjs';
import { pages } from './pages.mjs';
import { slow } from './waiting.mjs';
import './approval-flows.mjs';
import './call-flows.mjs';
import './add-and-review-flows.mjs';
import './failure-flows.mjs';
import './navigation-flows.mjs';
import './one-server-per-click.mjs';
import './server-flows.mjs';
import './settings-flows.mjs';
import './tool-flows.mjs';
import './first-steps-profiles-and-drafts-flows.mjs';

const started = Date.now();
const result = tally(process.argv[2]);
const browser = await launch();
console.log(`Chromium ${browser.version()}`);
const lend = pagePool(browser);
for (let rounds = Number(process.env.E2E_ROUNDS ?? 1); rounds > 0; rounds--) {
  await lanes(
    [
      ...pages(browser, result), // the longest first, so that all end at the same time
      () => size(result.check),
      ...stillness(browser, result),
      ...flows(lend, result),
      ...dialogs(lend, result),
    ],
    6,
  );
  await result.repeatFailed();
}
// Alone, because it measures times.
if (!process.env.E2E_SKIP_LOAD && slow === 1) await load(browser, result.check);
await browser.close();
const seconds = Math.round((Date.now() - started) / 1000);
console.log(`${result.passed} passed, ${result.failed} failed in ${seconds} s`);
process.exit(result.failed > 0 ? 1 : 0);
