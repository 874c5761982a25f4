// Drives the built page in chromium against the mock daemon: node e2e/run.mjs [REGULAR EXPRESSION]
// E2E_ROUNDS=3 runs everything three times, E2E_SLOW=4 with a quarter of the processor: both
// find tests that rely on a quick machine.
import { launch } from './browser.mjs';
import { flows } from './flow.mjs';
import { lanes, tally } from './harness.mjs';
import { load } from './load.mjs';
import { pageStates } from './page-states.mjs';
import { pages } from './pages.mjs';
import { stillness } from './shift.mjs';
import { size } from './size.mjs';
import './destructive-flows.mjs';
import './check-flows.mjs';
import './client-flows.mjs';
import './diagnostics-flows.mjs';
import './directory-flows.mjs';
import './flows.mjs';
import './history-flows.mjs';
import './retention-flows.mjs';
import './unsaved-flows.mjs';
import './page-flows.mjs';
import './profile-flows.mjs';
import './sharing-flows.mjs';
import './sign-in-flows.mjs';
import './trouble-flows.mjs';
import './trust-flows.mjs';
import './undo-flows.mjs';
import { hostility } from './hostile.mjs';
import { tabs } from './tabs.mjs';
import { slow } from './waiting.mjs';

const started = Date.now();
const result = tally(process.argv[2]);
await size(result.check);
const browser = await launch();
const lend = tabs(browser);
for (let rounds = Number(process.env.E2E_ROUNDS ?? 1); rounds > 0; rounds--) {
  await lanes(
    [
      ...pages(browser, result), // long ones first, so that all end together
      ...hostility(browser, result),
      ...stillness(browser, result),
      ...flows(lend, result),
      ...pageStates(lend, result),
    ],
    4,
  );
}
// Alone, because it measures.
if (!process.env.E2E_SKIP_LOAD && slow === 1) await load(browser, result.check);
await browser.close();
const seconds = Math.round((Date.now() - started) / 1000);
console.log(`${result.passed} passed, ${result.failed} failed in ${seconds} s`);
process.exit(result.failed > 0 ? 1 : 0);
