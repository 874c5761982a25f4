// Importing, testing, connecting, and the first two minutes; these by keyboard alone.
import assert from 'node:assert/strict';
import { flow } from './flow.mjs';
import { inspect, settled } from './harness.mjs';
import { becomes, focused, leadsTo, live, until } from './waiting.mjs';

const quiet = { scene: 'full', rate: 0 };

/** Presses Tab until the focus is where it should be, which has to be ready for it. */
export async function tabTo(page, target, most = 120) {
  await becomes(() => target.isEnabled(), true);
  for (let i = 0; i < most; i++) {
    if (await target.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press('Tab');
  }
  assert.fail('the keyboard does not get there');
}

flow('servers of a client are imported one by one, after a diff', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/add`);
  await page.getByRole('button', { name: 'From a client on this computer' }).click();
  await page.getByText('also in Cursor').waitFor();
  await page.getByText('This is Drawbridge itself.').waitFor();
  await page.getByLabel(/^filesystem/).uncheck();
  await page.getByText('+    "linear": {').waitFor();
  await inspect(page, 'all');
  const [request] = await Promise.all([
    page.waitForRequest((r) => r.url().endsWith('/import') && r.method() === 'POST'),
    page.getByRole('button', { name: 'Import', exact: true }).click(),
  ]);
  assert.deepEqual(request.postDataJSON().servers, ['linear']);
  assert.match(request.postDataJSON().diff, /linear/);
});

flow(
  'a server is tested before it is added, and what fails says why',
  quiet,
  async (page, mock) => {
    await page.goto(`${mock.url}/#/add`);
    const box = page.getByLabel('Paste a snippet, a command or an address');
    await box.fill('npx -y @acme/weather');
    await page.getByRole('button', { name: 'Test', exact: true }).click();
    await page.getByText('Works: 13 tools after 1.20 s.').waitFor();
    await box.fill('no-such --help');
    await page.getByRole('button', { name: 'Test', exact: true }).click();
    await page.getByText('Failed to start: executable not found: no-such').waitFor();
    await page.getByText('sh: no-such: not found').waitFor();
    await inspect(page, 'all');
  },
);

flow('a program in a running container is picked', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/add`);
  await page.getByRole('button', { name: 'From a running container' }).click();
  await page.getByText('used by postgres').waitFor();
  await page.getByRole('button', { name: /^notes/ }).click();
  await page.getByText('node, notes-mcp').waitFor();
  await inspect(page, 'all');
  await page.getByRole('button', { name: 'Run notes-mcp in it' }).click();
  await page.getByText('notes-mcp', { exact: true }).waitFor();
  await becomes(() => page.getByLabel('Name').inputValue(), 'notes');
});

flow('a client tells what it sees, and what passes for whom', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/clients`);
  await page.getByText('Works, sees 31 tools').waitFor();
  await page.getByText('Quit Claude Desktop completely').waitFor();
  const table = page.getByRole('region', { name: 'Features by server' });
  await table.getByRole('row', { name: /sampling/ }).waitFor();
  await page.getByLabel('Client', { exact: true }).selectOption({ index: 2 });
  await table.getByText('not supported by client').first().waitFor();
});

flow(
  'the servers of all clients are taken over with one question, and put back with one click',
  { scene: 'empty', rate: 0 },
  async (page, mock) => {
    const full = (await import('../dev/scenes.mjs')).makeScene('full');
    mock.world.connections.push(...full.connections);
    mock.world.unwritable.add('zed');
    await page.goto(`${mock.url}/#/welcome`);
    const all = page.getByRole('button', { name: 'Import 4 servers from 2 clients' });
    const dialog = page.getByRole('dialog', { name: 'Import 4 servers from 2 clients' });
    await tabTo(page, all);
    await page.keyboard.press('Enter');
    // The safe answer has the focus, and nothing is written by looking.
    await focused(dialog.getByRole('button', { name: 'Cancel' }));
    await dialog.getByRole('region', { name: 'Changes for Cursor' }).waitFor();
    await dialog.getByRole('region', { name: 'Changes for Zed' }).waitFor();
    await inspect(page, 'all');
    await page.keyboard.press('Escape');
    await focused(all);
    assert.equal(mock.world.connections.filter((one) => one.connected).length, 2);
    // A file that changed meanwhile is not written.
    await page.keyboard.press('Enter');
    const { takeOver } = mock.world;
    mock.world.takeOver = () => undefined;
    await dialog.getByRole('button', { name: 'Import all' }).press('Enter');
    await dialog.getByText('a file has changed since the preview').waitFor();
    mock.world.takeOver = takeOver;
    await dialog.getByRole('button', { name: 'Import all' }).press('Enter');
    const results = page.getByRole('region', { name: 'Results by client' });
    await results.getByText('2 servers imported').waitFor();
    await results.getByText('Not changed: the file is read-only').waitFor();
    assert.equal(mock.world.connections.filter((one) => one.connected).length, 3);
    await inspect(page, 'all');
    // The way back is still there after a look elsewhere.
    await page.goto(`${mock.url}/#/clients`);
    await page.getByText('Works, sees 31 tools').waitFor();
    await page.goto(`${mock.url}/#/welcome`);
    await tabTo(page, results.getByRole('button', { name: 'Undo' }));
    await page.keyboard.press('Enter');
    await page.getByText('All files restored.').waitFor();
    await becomes(() => results.count(), 0);
    assert.equal(mock.world.connections.filter((one) => one.connected).length, 2);
    await all.waitFor();
  },
);

flow('the first two minutes need no mouse', { scene: 'empty', rate: 0 }, async (page, mock) => {
  const full = (await import('../dev/scenes.mjs')).makeScene('full');
  mock.world.connections.push(...full.connections);
  await page.goto(`${mock.url}/`);
  await tabTo(page, page.getByRole('link', { name: 'First steps' }));
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Import your servers' }).waitFor();
  // One client's servers can be copied by themselves.
  await tabTo(page, page.getByRole('button', { name: 'From a client on this computer' }));
  await page.keyboard.press('Enter');
  await tabTo(page, page.getByRole('button', { name: 'Import', exact: true }));
  await page.keyboard.press('Enter');
  await page.getByText('Imported. The servers are starting.').waitFor();
  // A step has its tick when it is done, and not before.
  const ticked = (name) => page.getByRole('link', { name: `done: ${name}` });
  assert.equal(await ticked('Servers').count(), 0);
  await live(page);
  mock.world.servers.push(full.servers[0]);
  mock.send('server', full.servers[0]);
  await ticked('Servers').waitFor();
  await tabTo(page, page.getByRole('button', { name: 'Next' }));
  await page.keyboard.press('Enter');
  // The next step begins at its heading, so that a screen reader says where one is.
  await focused(page.getByRole('heading', { name: 'Connect a client' }));
  await tabTo(page, page.getByRole('button', { name: 'Connect…' }).first());
  await page.keyboard.press('Enter');
  await tabTo(page, page.getByRole('button', { name: 'Apply' }));
  await page.keyboard.press('Enter');
  await page.getByText(/connected\./).waitFor();
  await ticked('Clients').waitFor();
  await tabTo(page, page.getByRole('button', { name: 'Next' }));
  await page.keyboard.press('Enter');
  await page.getByText('Waiting for the first call…').waitFor();
  assert.equal(await ticked('First call').count(), 0);
  await inspect(page, 'all');
  await live(page);
  mock.send('call', { ...full.calls[5], outcome: 'ok', at: new Date().toISOString() });
  await page.getByText('The call succeeded and was recorded.').waitFor();
  await ticked('First call').waitFor();
});

flow(
  'a first step that cannot be done yet says what comes first',
  { scene: 'empty', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/#/welcome?step=call`);
    await page.getByText('No tools to call yet.').waitFor();
    assert.equal(await page.getByRole('link', { name: 'Try a tool' }).count(), 0);
    assert.equal(await page.getByRole('img', { name: 'done:' }).count(), 0);
    await page.getByRole('link', { name: 'Add your first server' }).click();
    await page.waitForURL(/step=servers/);
    await focused(page.getByRole('heading', { name: 'Add your first server' }));
  },
);

flow('a call is found and sent again without a mouse', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/`);
  await live(page);
  await leadsTo(page, 'gc', /#\/calls/);
  await settled(page, '/calls');
  await page.keyboard.press('/');
  await focused(page.getByRole('searchbox'));
  await page.keyboard.type('write_file');
  await page.waitForURL(/q=write_file/);
  const rows = page.getByRole('list', { name: 'Calls' }).getByRole('link');
  await until(async () => {
    const found = await rows.allTextContents();
    return found.length > 1 && found.every((text) => text.includes('write_file'));
  }, 'a list of nothing else');
  await tabTo(page, rows.first());
  await page.keyboard.press('ArrowDown');
  await focused(rows.nth(1));
  await page.keyboard.press('Enter');
  await tabTo(page, page.getByRole('button', { name: 'Send again' }));
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  await dialog.getByText('It will run with these arguments').waitFor();
  await tabTo(page, dialog.getByRole('button', { name: 'Send again' }));
  await page.keyboard.press('Enter');
  await page.getByText('No differences.').first().waitFor();
});
