// What a person does with servers, calls, tools and clients.
import assert from 'node:assert/strict';
import { startMock } from '../dev/mock.mjs';
import { flow } from './flow.mjs';
import { inspect } from './harness.mjs';

flow(
  'a one-time code lets the browser in and leaves the address',
  { scene: 'locked', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/`);
    await page.getByText('This browser has not been let in').waitFor();
    await page.goto(`${mock.url}/#code=good`);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    assert.ok(!page.url().includes('good'), page.url());
  },
);

flow(
  'another tab that was let in unlocks this one',
  { scene: 'locked', rate: 0 },
  async (page, mock, context) => {
    await page.goto(`${mock.url}/`);
    await page.getByText('This browser has not been let in').waitFor();
    const other = await context.newPage();
    await other.goto(`${mock.url}/#code=good`);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  },
);

flow('a spent code says so', { scene: 'locked', rate: 0 }, async (page, mock) => {
  await page.goto(`${mock.url}/#code=old`);
  await page.getByText('already used or has expired').waitFor();
});

flow('a call is seen from its start to its end', { scene: 'full', rate: 0 }, async (page, mock) => {
  await page.goto(`${mock.url}/#/calls`);
  await page.getByText('Live').locator('visible=true').first().waitFor();
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
  const call = mock.world.calls.find((c) => c.outcome === 'ok');
  await page.goto(`${mock.url}/#/calls/${call.id}`);
  await page.getByText('9007199254740993').first().waitFor();
  await page.getByText('1.0', { exact: true }).waitFor();
});

flow(
  'the page recovers by itself when the daemon restarts',
  { scene: 'full', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/#/servers`);
    await page.getByText('Live').locator('visible=true').first().waitFor();
    const port = Number(new URL(mock.url).port);
    await mock.close();
    await page.getByText('Drawbridge does not answer').waitFor();
    await page.getByRole('link', { name: 'GitHub' }).waitFor(); // the last known state stays
    const again = await startMock({ scene: 'trouble', rate: 0, port });
    try {
      await page.getByRole('link', { name: 'Browser automation' }).waitFor({ timeout: 15_000 });
      assert.equal(await page.getByText('Drawbridge does not answer').count(), 0);
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
    assert.equal(
      await panel.getByRole('button', { name: /^GitHub/ }).getAttribute('aria-pressed'),
      'true',
    );
    for (const text of await rows.allTextContents())
      assert.match(text, /^(?=.*GitHub)(?=.*Timeout)/);
    await page.getByRole('button', { name: 'Server: GitHub' }).click(); // the chip takes it away
    await page.waitForURL(/^(?!.*server=)/);
  },
);

flow(
  'the keyboard walks the calls and closes the detail',
  { scene: 'full', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/#/calls`);
    const rows = page.getByRole('list', { name: 'Calls' }).getByRole('listitem');
    await rows.first().getByRole('link').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.waitForTimeout(150);
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(mock.world.calls[2].id));
    await page.keyboard.press('ArrowDown');
    await page.waitForURL(new RegExp(mock.world.calls[3].id));
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
    for (let i = 0; i < 60 && (await page.getByText('That is all there is.').count()) === 0; i++) {
      await scroller.evaluate((element) => element.scrollTo(0, element.scrollHeight));
      await page.waitForTimeout(80);
    }
    assert.ok(await page.getByText('That is all there is.').count());
    await scroller.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    assert.ok((await rows.count()) < 80, 'only what is in view exists');
    const last = mock.world.calls.at(-1).id;
    await page.locator(`[data-call="${last}"]`).waitFor();
  },
);

flow('a tool is tried, with arguments as typed', { scene: 'full', rate: 0 }, async (page, mock) => {
  await page.goto(`${mock.url}/#/tools?tool=postgres__query`);
  await page.getByRole('button', { name: 'JSON', exact: true }).click();
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
    await page.getByText('written into the file as it stands here').waitFor();
    const before = mock.world.config.text;
    assert.equal(await page.getByLabel('Name').inputValue(), 'weather');
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
    await page.getByRole('button', { name: 'Edit the file' }).click();
    const box = page.getByLabel('Configuration file', { exact: true });
    const text = await box.inputValue();
    await box.fill(`${text}{`);
    await page.getByText('Not JSON yet').waitFor();
    await box.fill(text.replace('"command"', '"commnd"'));
    await page
      .getByRole('region', { name: 'Configuration', exact: true })
      .getByRole('button', { name: 'Save' })
      .click();
    await page.getByText('unknown key "commnd"').waitFor();
    mock.world.writeConfig(`${text}// theirs\n`);
    await box.fill(`${text}// mine\n`);
    await box.press('Control+s');
    await page.getByText('changed by somebody else').waitFor();
    // What would go of theirs is shown before, and comes back with one click.
    await page.getByRole('button', { name: 'Keep mine' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('-// theirs').waitFor();
    await dialog.getByText('+// mine').waitFor();
    await inspect(page, true);
    await page.keyboard.press('Enter'); // the safe answer has the focus
    await dialog.waitFor({ state: 'detached' });
    assert.ok(mock.world.config.text.endsWith('// theirs\n'));
    await page.getByRole('button', { name: 'Keep mine' }).click();
    await dialog.getByRole('button', { name: 'Save mine' }).click();
    await page.getByText('Saved over what somebody else wrote.').waitFor();
    assert.ok(mock.world.config.text.endsWith('// mine\n'));
    await page.getByRole('button', { name: 'Undo', exact: true }).click();
    await page.getByText('Saved. It is in effect already.').waitFor();
    assert.ok(mock.world.config.text.endsWith('// theirs\n'));
    // What was typed comes back too.
    await box.fill(`${text}// typed\n`);
    await page.getByRole('button', { name: 'Undo all changes' }).click();
    await page.getByRole('button', { name: 'Undo', exact: true }).click();
    assert.match(await box.inputValue(), /typed/);
  },
);

flow(
  'the palette goes anywhere by keyboard, and ? shows the keys',
  { scene: 'full', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/`);
    await page.getByText('Live').locator('visible=true').first().waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('postgres query');
    await page.getByRole('option').first().waitFor();
    await inspect(page, true);
    await page.keyboard.press('Enter');
    await page.waitForURL(/tool=postgres__query/);
    await page.keyboard.press('?');
    await page.getByRole('dialog').getByText('Show these keys').waitFor();
    await inspect(page, true);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('g');
    await page.keyboard.press('s');
    await page.waitForURL(/#\/servers/);
  },
);

flow(
  'a question is seen on every page and answered',
  { scene: 'trouble', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/#/calls`);
    await page.getByRole('link', { name: 'Answer' }).click();
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
    const call = mock.world.calls.find((c) => c.outcome === 'ok');
    await page.goto(`${mock.url}/#/calls/${call.id}`);
    await page.getByRole('link', { name: 'Compare…' }).click();
    await page.getByLabel('Compare with').selectOption({ index: 1 });
    await page.getByText('They are equal.').first().waitFor();
    await page.getByRole('link', { name: 'Edit and send' }).click();
    await page.getByLabel(/^limit/).waitFor();
    assert.equal(await page.getByLabel(/^limit/).inputValue(), '9007199254740993');
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
    await inspect(page, true);
    await row.getByRole('button', { name: 'Write this change' }).click();
    const disconnect = row.getByRole('button', { name: 'Disconnect' });
    await disconnect.click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('becomes what it was before').waitFor();
    await inspect(page, true);
    await page.keyboard.press('Enter'); // the safe answer has the focus
    await dialog.waitFor({ state: 'detached' });
    await disconnect.click();
    await dialog.getByRole('button', { name: 'Disconnect' }).click();
    await row.getByText('Not connected').waitFor();
  },
);
