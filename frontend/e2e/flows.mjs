// What the user does with servers, calls, tools and clients.
import assert from 'node:assert/strict';
import { startMock } from '../dev/mock.mjs';
import { flow, ownPort } from './flow.mjs';
import { inspect, settled } from './harness.mjs';
import { becomes, focused, keep, leadsTo, live, textOf, until } from './waiting.mjs';

flow(
  'a one-time code lets the browser in and leaves the address',
  { scene: 'locked', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/`);
    await page.getByText('This browser is not signed in').waitFor();
    await page.goto(`${mock.url}/#code=good`);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await becomes(() => page.url().includes('good'), false);
  },
);

flow(
  'another tab that was let in unlocks this one',
  { scene: 'locked', rate: 0 },
  async (page, mock, context) => {
    await page.goto(`${mock.url}/`);
    await page.getByText('This browser is not signed in').waitFor();
    const other = await context.newPage();
    await other.goto(`${mock.url}/#code=good`);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  },
);

flow('a spent code says so', { scene: 'locked', rate: 0 }, async (page, mock) => {
  await page.goto(`${mock.url}/#code=old`);
  await page.getByText('expired or was already used').waitFor();
});

flow('a call is seen from its start to its end', { scene: 'full', rate: 0 }, async (page, mock) => {
  await page.goto(`${mock.url}/#/calls`);
  await live(page);
  const call = {
    ...mock.world.calls[5],
    id: String(Date.now() * 1000),
    at: new Date().toISOString(),
    tool: 'brand_new',
    outcome: '',
  };
  mock.send('call', call);
  const row = page.getByRole('listitem').filter({ hasText: 'brand_new' });
  await row.getByText('Running').waitFor();
  mock.send('call', { ...call, outcome: 'ok', tookNs: 1_234_000_000 });
  await row.getByText('1.23 s').waitFor();
});

flow('numbers beyond 2^53 are shown as sent', { scene: 'full', rate: 0 }, async (page, mock) => {
  const call = mock.world.calls.find((c) => c.outcome === 'ok' && c.tool === 'list_commits');
  await page.goto(`${mock.url}/#/calls/${call.id}`);
  await page.getByText('9007199254740993').first().waitFor();
  await page.getByText('1.0', { exact: true }).waitFor();
});

flow(
  'the page recovers by itself when the daemon restarts',
  { scene: 'full', rate: 0, port: ownPort },
  async (page, mock) => {
    await page.goto(`${mock.url}/#/servers`);
    await live(page);
    const port = Number(new URL(mock.url).port);
    await mock.close();
    await page.getByText('Drawbridge is not responding').waitFor();
    await page.getByRole('link', { name: 'GitHub' }).waitFor(); // the last known state stays
    const again = await startMock({ scene: 'trouble', rate: 0, port });
    try {
      await page.getByRole('link', { name: 'Browser automation' }).waitFor();
      await page.getByText('Drawbridge is not responding').waitFor({ state: 'detached' });
    } finally {
      await again.close();
    }
  },
);

flow(
  'a server is stopped and started from its row',
  { scene: 'full', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/#/servers`);
    const row = page.getByRole('listitem').filter({ hasText: 'memory' });
    await row.getByRole('button', { name: 'More actions for memory' }).click();
    await page.getByRole('menuitem', { name: 'Stop' }).click();
    await row.getByText('Stopped').waitFor();
    await row.getByRole('button', { name: 'Start memory' }).click();
    await row.getByText('Running').waitFor();
  },
);

flow(
  'filters live in the address and survive a reload',
  { scene: 'full', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/#/calls`);
    const panel = page.getByRole('region', { name: 'Filters' });
    await panel.getByRole('button', { name: /^Timeout/ }).click();
    await panel.getByRole('button', { name: /^GitHub/ }).click();
    await panel.getByRole('button', { name: '24 hours' }).click();
    await page.waitForURL(/(?=.*outcome=timeout)(?=.*server=github)(?=.*range=24h)/);
    await page.reload();
    const rows = page.getByRole('list', { name: 'Calls' }).getByRole('listitem');
    await rows.first().waitFor();
    const github = panel.getByRole('button', { name: /^GitHub/ });
    await becomes(() => github.getAttribute('aria-pressed'), 'true');
    await until(async () => {
      const texts = await rows.allTextContents();
      return texts.length > 0 && texts.every((t) => /^(?=.*GitHub)(?=.*Timeout)/.test(t));
    }, 'a list of nothing else');
    await page.getByRole('button', { name: 'Server: GitHub' }).click(); // the chip takes it away
    await page.waitForURL(/^(?!.*server=)/);
  },
);

flow(
  'the keyboard walks the calls and closes the detail',
  { scene: 'full', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/#/calls`);
    await live(page);
    await settled(page, '/calls');
    const [first, second, third, fourth] = mock.world.calls.map(({ id }) =>
      page.locator(`[data-call="${id}"]`),
    );
    await first.focus();
    await page.keyboard.press('ArrowDown');
    await focused(second);
    await page.keyboard.press('ArrowDown');
    await focused(third);
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(mock.world.calls[2].id));
    await settled(page);
    await focused(third);
    await page.keyboard.press('ArrowDown');
    await page.waitForURL(new RegExp(mock.world.calls[3].id));
    await focused(fourth);
    await page.keyboard.press('Escape');
    await page.waitForURL(/#\/calls$/);
  },
);

flow(
  'the history is read to its end while scrolling',
  { scene: 'full', rate: 0 },
  async (page, mock) => {
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
  },
);

flow('a tool is tried, with arguments as typed', { scene: 'full', rate: 0 }, async (page, mock) => {
  await page.goto(`${mock.url}/#/tools?tool=postgres__query`);
  await page.getByRole('tab', { name: 'JSON', exact: true }).click();
  const box = page.getByLabel('Arguments (JSON)');
  await box.fill('{"sql": }');
  await page.getByText('see line 1, column 9').waitFor();
  await box.fill('{"sql": "select 1", "n": 9007199254740993}');
  const [request] = await Promise.all([
    page.waitForRequest((r) => r.url().endsWith('/api/v1/call')),
    page.getByRole('button', { name: 'Run tool' }).click(),
  ]);
  assert.match(request.postData(), /"n": 9007199254740993/);
  await page.getByText('Succeeded').waitFor();
  await page.getByText('9007199254740993', { exact: false }).nth(1).waitFor();
});

flow(
  'a pasted snippet shows what will run, is written, and appears',
  { scene: 'full', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/#/servers`);
    await page.getByRole('link', { name: 'Add server' }).click();
    const box = page.getByLabel('Paste a snippet, a command or an address');
    await box.fill('TOKEN=x npx -y "@acme/server-weather" --home "/tmp/a b"');
    await page.getByText('/tmp/a b', { exact: true }).waitFor();
    await page.getByText('saved as plain text').waitFor();
    const before = mock.world.config.text;
    await becomes(() => page.getByLabel('Name').inputValue(), 'weather');
    await page.getByRole('button', { name: 'Add server' }).click();
    await page.getByRole('heading', { name: 'weather' }).waitFor();
    const after = mock.world.config.text;
    assert.ok(after.includes('"--home",\n        "/tmp/a b"'), after);
    for (const line of before.split('\n').filter((l) => l.includes('//')))
      assert.ok(after.includes(line), 'comments stay');
  },
);

flow(
  'the configuration is edited, refused with its line, and not lost to somebody else',
  { scene: 'full', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/#/settings`);
    await page.getByRole('button', { name: 'Edit file' }).click();
    const box = page.getByLabel('Configuration file', { exact: true });
    await becomes(() => textOf(box), mock.world.config.text);
    const { text } = mock.world.config;
    await box.fill(`${text}{`);
    await page.getByText('Not valid JSON').waitFor();
    await box.fill(text.replace('"command"', '"commnd"'));
    await page
      .getByRole('region', { name: 'Configuration', exact: true })
      .getByRole('button', { name: 'Save' })
      .click();
    await page.getByText('unknown key "commnd"').waitFor();
    mock.world.writeConfig(`${text}// theirs\n`);
    await box.fill(`${text}// mine\n`);
    await box.press('Control+s');
    await page.getByText('changed elsewhere').waitFor();
    // What would go of theirs is shown before, and comes back with one click.
    await page.getByRole('button', { name: 'Keep my version' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('// theirs').waitFor();
    await dialog.getByText('// mine').waitFor();
    await inspect(page, 'all');
    await keep(page);
    assert.ok(mock.world.config.text.endsWith('// theirs\n'));
    await page.getByRole('button', { name: 'Keep my version' }).click();
    await dialog.getByRole('button', { name: 'Overwrite' }).click();
    await page.getByText('Saved; the other changes were overwritten.').waitFor();
    await dialog.waitFor({ state: 'detached' });
    assert.ok(mock.world.config.text.endsWith('// mine\n'));
    await page.getByRole('button', { name: 'Undo', exact: true }).click();
    await page.getByText('Saved and applied.').waitFor();
    assert.ok(mock.world.config.text.endsWith('// theirs\n'));
    // What was typed comes back too.
    await box.fill(`${text}// typed\n`);
    await page.getByRole('button', { name: 'Undo all changes' }).click();
    await page.getByRole('button', { name: 'Undo', exact: true }).click();
    await becomes(() => textOf(box), /typed/);
  },
);

flow(
  'the palette goes anywhere by keyboard, and ? shows the keys',
  { scene: 'full', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/`);
    await live(page);
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('postgres query');
    await page.getByRole('option', { selected: true }).filter({ hasText: 'query' }).waitFor();
    await inspect(page, 'all');
    await page.keyboard.press('Enter');
    await page.waitForURL(/tool=postgres__query/);
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await settled(page, '/tools');
    await page.keyboard.press('?');
    await page.getByRole('dialog').getByText('Show keyboard shortcuts').waitFor();
    await inspect(page, 'all');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await leadsTo(page, 'gs', /#\/servers/);
  },
);

flow(
  'a question is seen on every page and answered',
  { scene: 'trouble', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/#/calls`);
    await page.getByRole('link', { name: 'Review' }).click();
    await page.getByLabel(/^Repository/).selectOption('The bridge');
    await page.getByLabel(/^title/).fill('A chain is loose');
    await page.getByLabel(/^priority/).fill('3');
    const [request] = await Promise.all([
      page.waitForRequest((r) => r.method() === 'POST' && r.url().includes('/approvals/q1')),
      page.getByRole('button', { name: 'Send answer' }).click(),
    ]);
    assert.deepEqual(JSON.parse(request.postData()), {
      action: 'accept',
      content: { repository: 'bridge/main', title: 'A chain is loose', priority: 3 },
    });
    await page.getByText('Which repository').waitFor({ state: 'detached' });
  },
);

flow(
  'a call is edited and sent again, and compared with another',
  { scene: 'full', rate: 0 },
  async (page, mock) => {
    const call = mock.world.calls.find((c) => c.outcome === 'ok' && c.tool === 'list_commits');
    await page.goto(`${mock.url}/#/calls/${call.id}`);
    await page.getByRole('link', { name: 'Compare…' }).click();
    await page.getByLabel('Compare with').selectOption({ index: 1 });
    await page.getByText('No differences.').first().waitFor();
    await page.getByRole('link', { name: 'Edit and send' }).click();
    await becomes(() => page.getByLabel(/^limit/).inputValue(), '9007199254740993');
  },
);

flow(
  'a client is connected after its diff was seen, and disconnected',
  { scene: 'full', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/#/clients`);
    const row = page.getByRole('listitem').filter({ hasText: 'Cursor' });
    await row.getByRole('button', { name: 'Connect…' }).click();
    await row.getByText('"--client", "cursor"').waitFor();
    await inspect(page, 'all');
    await row.getByRole('button', { name: 'Apply' }).click();
    const disconnect = row.getByRole('button', { name: 'Disconnect' });
    await disconnect.click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('the original is restored').waitFor();
    await inspect(page, 'all');
    await keep(page);
    await disconnect.click();
    await dialog.getByRole('button', { name: 'Disconnect' }).click();
    await row.getByText('Not connected').waitFor();
  },
);
