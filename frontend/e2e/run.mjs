// Drives the built page in chromium against the mock daemon: node e2e/run.mjs [PART OF A NAME]
import { launch } from './browser.mjs';
import { flows } from './flows.mjs';
import { lanes, tally } from './harness.mjs';
import { load } from './load.mjs';
import { pages } from './pages.mjs';

const started = Date.now();
const result = tally(process.argv[2]);
const browser = await launch();
await lanes([...flows(browser, result), ...pages(browser, result)], 2);
await load(browser, result.check); // alone, because it measures
await browser.close();
const seconds = Math.round((Date.now() - started) / 1000);
console.log(`${result.passed} passed, ${result.failed} failed in ${seconds} s`);
process.exit(result.failed > 0 ? 1 : 0);
