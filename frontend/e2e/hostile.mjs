// Hostile servers: 200 strings in every field with text from servers and clients, strings of 1 MB,
// 2,000 tools. No script runs, the security policy reports nothing, no other host is contacted, and
// the page still works.
import assert from 'node:assert/strict';
import { startMock } from '../dev/mock.mjs';
import { sizes } from './browser.mjs';
import { inspect, settled, watched } from './harness.mjs';
import { corpus, everywhere, hostile } from './hostile-strings.mjs';
import { findInjections, watchForInjection } from './injection.mjs';
import { addresses, filled } from './pages.mjs';
import { timeoutMs } from './waiting.mjs';

// Each round gives every field another string, so that each string is in many fields.
const rounds = [0, 83, 171];

async function watchedPage(context, origin) {
  const page = await watched(context);
  await watchForInjection(page, origin);
  return page;
}

export function hostility(browser, tally) {
  return [
    ...rounds.map(
      (offset) => () =>
        walk(
          browser,
          tally,
          `hostile: 200 strings in every field, from ${offset}`,
          hostile(offset),
        ),
    ),
    () =>
      walk(
        browser,
        tally,
        'hostile: half of a surrogate pair in every field',
        everywhere('\ud800 lone high'),
      ),
    () => tally.check('hostile: 2,000 tools, and words of 1 MB', () => large(browser)),
  ];
}

async function walk(browser, tally, name, mangle) {
  await tally.check(name, async () => {
    const mock = await startMock({ scene: 'trouble', rate: 0, mangle });
    const context = await browser.newContext({ viewport: sizes.desktop, reducedMotion: 'reduce' });
    context.setDefaultTimeout(timeoutMs);
    const page = await watchedPage(context, mock.url);
    await page.goto(`${mock.url}/`);
    for (const address of addresses) {
      const hash = filled(address, mock.world);
      await page.evaluate((to) => {
        location.hash = to;
      }, hash);
      await settled(page, hash.slice(1).split('?')[0]);
      assert.deepEqual(await findInjections(page), [], address);
      await inspect(page);
    }
    assert.deepEqual(page.strange, []);
    await context.close();
    await mock.close();
  });
}

async function large(browser) {
  const mock = await startMock({ scene: 'hostile', rate: 0 });
  const { tools } = mock.world;
  assert.equal(tools.length, 2000);
  for (const [i, tool] of tools.entries()) {
    tool.description = i === 7 ? 'A'.repeat(1_000_000) : corpus[i % corpus.length];
    tool.title = corpus[(i + 50) % corpus.length];
  }
  const context = await browser.newContext({ viewport: sizes.desktop });
  context.setDefaultTimeout(timeoutMs);
  const page = await watchedPage(context, mock.url);
  await page.goto(`${mock.url}/#/tools`);
  await page.getByRole('searchbox').fill('tool_1999');
  await page.getByRole('link', { name: /tool_1999/ }).click();
  await page.getByRole('heading', { name: /tool_1999/ }).waitFor();
  await page.getByRole('searchbox').fill('tool_7 ');
  await page.evaluate(() => {
    location.hash = '/tools?tool=hostile__tool_7';
  });
  await page.getByRole('heading', { name: /tool_7/ }).waitFor();
  const shown = await page.evaluate(() => document.body.innerText.length);
  assert.ok(shown < 400_000, `${shown} characters are laid out at once`);
  const { calls } = mock.world;
  await page.evaluate(
    (id) => {
      location.hash = `/calls/${id}`;
    },
    calls.find((call) => call.outcome === 'ok').id,
  );
  await page.getByRole('region', { name: 'Arguments' }).first().waitFor(); // 1 MB of them
  const drawn = await page.evaluate(() => document.body.innerText.length);
  assert.ok(drawn < 400_000, `${drawn} characters are laid out at once`);
  assert.deepEqual(await findInjections(page), []);
  assert.deepEqual(page.strange, []);
  assert.deepEqual(page.troubles, []);
  await context.close();
  await mock.close();
}
