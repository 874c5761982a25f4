// 200 hostile strings in every field with text from servers and clients, also those that no server
// can fill: no script runs, the security policy reports nothing, no other host is contacted. Long
// strings and many tools are in build/e2e/page_hostile_test.go.
import assert from 'node:assert/strict';
import { changeAnswers } from './answers.mjs';
import { sizes } from './browser.mjs';
import { startDaemon } from './daemon.mjs';
import { inspect, settled, signIn, watched } from './harness.mjs';
import { corpus, mangle } from './hostile-strings.mjs';
import { findInjections, watchForInjection } from './injection.mjs';
import { addresses, naming } from './pages.mjs';
import { timeoutMs } from './waiting.mjs';

// Each round gives every field another string, so that each string is in many fields.
const rounds = [0, 83, 171];

export function hostility(browser, tally) {
  return [
    ...rounds.map((from) => [
      `hostile: 200 strings in every field, from ${from}`,
      { corpus, from },
    ]),
    ['hostile: half of a surrogate pair in every field', { everywhere: '\ud800 lone high' }],
  ].map(
    ([name, strings]) =>
      () =>
        tally.check(name, () => walk(browser, strings)),
  );
}

async function walk(browser, strings) {
  const daemon = await startDaemon('trouble');
  const context = await browser.newContext({ viewport: sizes.desktop, reducedMotion: 'reduce' });
  context.setDefaultTimeout(timeoutMs);
  const page = await watched(context);
  await watchForInjection(page, daemon.url);
  await signIn(page, daemon);
  await changeAnswers(page, mangle, strings);
  const fill = await naming(daemon);
  await page.goto(`${daemon.url}/`);
  for (const address of addresses) {
    const hash = fill(address);
    await page.evaluate((to) => {
      location.hash = to;
    }, hash);
    await settled(page, hash.slice(1).split('?')[0]);
    assert.deepEqual(await findInjections(page), [], address);
    await inspect(page);
  }
  assert.deepEqual(page.strange, []);
  assert.ok((await page.evaluate(() => window.mangled)) > 1000, 'few strings were shown');
  await context.close();
  await daemon.close();
}
