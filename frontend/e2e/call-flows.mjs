// The history of calls and its statistics in states that a real daemon cannot create quickly.
import assert from 'node:assert/strict';
import { flow } from './flow.mjs';
import { inspect } from './harness.mjs';
import { becomes, until } from './waiting.mjs';

const quiet = { scene: 'full', rate: 0 };

flow('numbers beyond 2^53 are shown and sent digit by digit', quiet, async (page, mock) => {
  const call = mock.world.calls.find((c) => c.outcome === 'ok' && c.tool === 'list_commits');
  await page.goto(`${mock.url}/#/calls/${call.id}`);
  await page.getByText('9007199254740993').first().waitFor();
  await page.getByText('1.0', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Edit and send' }).click();
  await becomes(() => page.getByLabel(/^limit/).inputValue(), '9007199254740993');
  await page.goto(`${mock.url}/#/tools?tool=postgres__query`);
  await page.getByRole('tab', { name: 'JSON', exact: true }).click();
  await page.getByLabel('Arguments (JSON)').fill('{"sql": "select 1", "n": 9007199254740993}');
  const [request] = await Promise.all([
    page.waitForRequest((r) => r.url().endsWith('/api/v1/call')),
    page.getByRole('button', { name: 'Run tool' }).click(),
  ]);
  assert.match(request.postData(), /"n": 9007199254740993/);
  await page.getByText('Succeeded').waitFor();
});

flow(
  'each call shows its arguments, its error, and what a search found',
  quiet,
  async (page, mock) => {
    await page.goto(`${mock.url}/#/calls?tool=move_file`);
    const rows = page.getByRole('list', { name: 'Calls' }).getByRole('listitem');
    const bad = rows.filter({ hasText: 'Tool error' }).first();
    await bad.getByText('ENOENT: no such file or directory').waitFor();
    await bad.getByText('source: /home/ada/notes/gate.md').waitFor();
    const requests = [];
    page.on('request', (r) => r.url().includes('/previews') && requests.push(r.url()));
    await page.getByRole('searchbox').fill('moved');
    const row = rows.filter({ hasText: 'In the result:' }).first();
    await row.locator('mark', { hasText: 'moved' }).waitFor();
    assert.ok(requests.length < 4, `${requests.length} requests for one screen of rows`);
    const heights = await rows.evaluateAll((all) => all.map((li) => li.offsetHeight));
    await rows.first().getByRole('link').click();
    await page.getByRole('heading', { name: /move_file/ }).waitFor();
    assert.deepEqual([...new Set(heights)], [await rows.first().evaluate((li) => li.offsetHeight)]);
    await inspect(page, 'all');
  },
);

flow('filters can be typed into the search', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/calls`);
  const box = page.getByRole('searchbox');
  await box.fill('server:filesystem outcome:error gate');
  await box.press('Enter');
  await page.waitForURL(/outcome=tool_error/);
  const chips = page.getByRole('list', { name: 'Active filters' });
  await chips.getByText('Server: filesystem').waitFor();
  await chips.getByText('Tool error').waitFor();
  await becomes(() => box.inputValue(), 'gate');
  await box.press('Enter'); // changes nothing: the filters were taken out before
  await chips.getByText('Server: filesystem').click();
  await page.waitForURL((url) => !url.hash.includes('server='));
  assert.match(page.url(), /[?&]q=gate(&|$)/);
  await becomes(() => box.inputValue(), 'gate');
  await inspect(page);
});

flow('the history is read to its end while scrolling', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/calls`);
  const rows = page.getByRole('list', { name: 'Calls' }).getByRole('listitem');
  await rows.first().waitFor();
  const scroller = page.locator('.scroll-area:has([aria-label=Calls])');
  const last = mock.world.calls.at(-1).id;
  await until(async () => {
    await scroller.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    const end = await page.getByText('End of history').count();
    return end > 0 && (await page.locator(`[data-call="${last}"]`).count()) > 0;
  }, 'the end of the list');
  assert.ok((await rows.count()) < 80, 'only what is in view exists');
});

flow(
  'the search states which calls are not indexed yet',
  { scene: 'trouble', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/#/calls`);
    await page.getByRole('searchbox').fill('bridge');
    await page.getByText(/Calls up to .*; 1,204 newer calls/).waitFor();
    assert.equal(await page.getByText(/^\d+ new calls?$/).count(), 0); // none came since
  },
);

flow('usage offers a longer time only if it contains calls', quiet, async (page, mock) => {
  const { calls } = mock.world;
  const old = calls.filter((c) => Date.parse(c.at) < Date.now() - 2 * 3_600_000);
  assert.ok(old.length > 0);
  calls.splice(0, calls.length, ...old);
  await page.goto(`${mock.url}/#/usage?range=1h`);
  await page.getByRole('button', { name: 'Show 30 days' }).click();
  await page.waitForURL(/range=30d/);
  await page.getByRole('img', { name: /Calls and errors/ }).waitFor();
  calls.splice(0, calls.length);
  await page.goto(`${mock.url}/#/usage?range=7d`);
  await page.reload(); // a recent response is not requested again
  await page.getByText('Calls are counted here as soon as a client makes them.').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Show 30 days' }).count(), 0);
});

flow('a call that failed inside Drawbridge shows its stack trace', quiet, async (page, mock) => {
  const call = mock.world.calls.find((c) => c.outcome === 'ok');
  Object.assign(call, {
    outcome: 'protocol_error',
    code: 'internal',
    reason: 'an internal error',
    result: undefined,
    stack: `goroutine 7 [running]:\n${'drawbridge/backend/gateway.(*Gateway).Call(...)\n'.repeat(60)}`,
  });
  await page.goto(`${mock.url}/#/calls/${call.id}`);
  await page.getByText('goroutine 7 [running]:').waitFor();
  await page.getByRole('button', { name: 'Copy stack trace' }).waitFor();
  await inspect(page, 'all');
});
