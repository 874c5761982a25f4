// What the user does with the history and the usage page.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { flow } from './flow.mjs';
import { inspect, settled } from './harness.mjs';
import { becomes, keep, leave, live, until } from './waiting.mjs';

const quiet = { scene: 'full', rate: 0 };
const callList = (page) => page.getByRole('list', { name: 'Calls' }).getByRole('listitem');

flow('a note is written to a call, and its tag finds it', quiet, async (page, mock) => {
  const call = mock.world.calls.find((c) => c.outcome === 'ok');
  await page.goto(`${mock.url}/#/calls/${call.id}`);
  await page.getByRole('button', { name: 'Add a note' }).click();
  await page.getByLabel('Title').fill('The good one');
  await page.getByLabel('Note', { exact: true }).fill('Compare the next release with <b>this</b>.');
  await page.getByLabel('Tag').fill('release');
  await page.getByLabel('Tag').press('Enter');
  await inspect(page, 'all');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Compare the next release with <b>this</b>.').waitFor();
  await page.getByRole('link', { name: 'release' }).click();
  await page.waitForURL(/tag=release/);
  await becomes(() => callList(page).count(), 1);
});

flow(
  'a call that may change something is sent again after a question',
  quiet,
  async (page, mock) => {
    const call = mock.world.calls.find((c) => c.outcome === 'ok' && c.tool === 'write_file');
    await page.goto(`${mock.url}/#/calls/${call.id}`);
    await page.getByRole('button', { name: 'Send again' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('9007199254740993').waitFor(); // exactly what would be sent
    await inspect(page, 'all');
    await leave(page);
    await page.getByRole('button', { name: 'Send again' }).click();
    await dialog.getByRole('button', { name: 'Send again' }).click();
    await page.waitForURL(new RegExp(`with=${call.id}`));
    await page.getByText('No differences.').first().waitFor();
  },
);

flow('a call that only reads is sent again at once', quiet, async (page, mock) => {
  const call = mock.world.calls.find((c) => c.outcome === 'ok' && c.tool === 'list_directory');
  await page.goto(`${mock.url}/#/calls/${call.id}`);
  await page.getByRole('button', { name: 'Send again' }).click();
  await page.waitForURL(new RegExp(`with=${call.id}`));
  assert.equal(await page.getByRole('dialog').count(), 0);
});

flow('a call is deleted after a question, and is gone from the list', quiet, async (page, mock) => {
  const call = mock.world.calls.find((c) => c.outcome === 'ok');
  const link = page.locator(`[data-call="${call.id}"]`);
  await page.goto(`${mock.url}/#/calls/${call.id}`);
  await link.waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  const dialog = page.getByRole('dialog');
  await keep(page);
  assert.ok(mock.world.calls.includes(call));
  await page.getByRole('button', { name: 'Delete' }).click();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('1 call deleted.').waitFor();
  await link.waitFor({ state: 'detached' });
  assert.ok(!mock.world.calls.includes(call));
});

flow('the calls that are shown are exported', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/calls?server=memory`);
  await page.getByRole('button', { name: 'Export' }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: 'As JSON lines' }).click(),
  ]);
  assert.equal(download.suggestedFilename(), 'drawbridge-calls.jsonl');
  const lines = readFileSync(await download.path(), 'utf8')
    .trim()
    .split('\n');
  assert.ok(lines.length > 10);
  for (const line of lines) assert.equal(JSON.parse(line).server, 'memory');
});

flow('a session is told as a story, in order', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/sessions`);
  await page.getByRole('main').getByRole('list').getByRole('link').first().click();
  await page.waitForURL(/sessions\/.+/);
  const steps = page.locator('ol > li').filter({ has: page.getByRole('link') });
  await steps.first().getByText('start').waitFor();
  const session = decodeURIComponent(page.url().split('/sessions/')[1]);
  const told = mock.world.calls.filter((c) => c.session === session).reverse();
  await becomes(() => steps.first().textContent(), new RegExp(told[0].tool));
  await becomes(() => steps.count(), told.length);
});

flow('a list that is held stands still until it is followed again', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/calls`);
  await live(page);
  await callList(page).first().waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  const call = { ...mock.world.calls[5], id: String(Date.now() * 1000), tool: 'brand_new' };
  mock.send('call', { ...call, at: new Date().toISOString() });
  await page.getByText('1 new call').waitFor();
  assert.equal(await page.getByText('brand_new').count(), 0);
  await page.getByRole('button', { name: 'Follow' }).first().click();
  await page.getByText('brand_new').first().waitFor();
});

flow(
  'the search says how far its index reaches',
  { scene: 'trouble', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/#/calls`);
    await page.getByRole('searchbox').fill('bridge');
    await page.getByText(/Calls up to .*; 1,204 newer calls/).waitFor();
  },
);

flow('usage is narrowed by a name, and a bar shows its calls', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/usage`);
  const table = page.getByRole('table');
  await table.getByRole('button', { name: 'p95' }).click();
  const column = table.locator('tbody td:nth-child(5)');
  await until(async () => (await column.count()) > 5, 'a table of more than five');
  await page.getByRole('radio', { name: 'Servers' }).click();
  await table.getByRole('button', { name: 'memory' }).click();
  await page.waitForURL(/server=memory/);
  await settled(page, '/usage'); // the chart is drawn anew
  const chart = page.getByRole('img', { name: /Calls and errors/ });
  // A chart that is drawn anew has lost the focus.
  const calls = /\/calls\?(?=.*server=memory)(?=.*from=)(?=.*to=)/;
  await until(async () => {
    if (calls.test(page.url())) return true;
    await chart.focus({ timeout: 2000 });
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('Enter');
    return page.waitForURL(calls, { timeout: 2000 }).then(
      () => true,
      () => false,
    );
  }, 'the calls of a bar');
  assert.ok(mock.world.calls.length > 0);
});

flow('usage offers a longer time only where it shows something', quiet, async (page, mock) => {
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
  await page.reload(); // what was asked before is not asked again at once
  await page.getByText('Calls are counted here as soon as a client makes them.').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Show 30 days' }).count(), 0);
});

flow('a call that a mistake of ours ended shows where it happened', quiet, async (page, mock) => {
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
