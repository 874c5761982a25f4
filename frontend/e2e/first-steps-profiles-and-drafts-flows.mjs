// Getting started, profiles of many tools, and dialogs of the desktop.
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { changeAnswers, changeResponse, suggestWhere } from './answers.mjs';
import { flow } from './flow.mjs';
import { inspect } from './harness.mjs';
import { becomes, closeDialog, focused, pause, settled, until } from './waiting.mjs';

const moveAll = 'Move 4 servers from 2 clients to Drawbridge';

flow(
  'the servers of a gateway and of a plugin are imported and restored',
  'moving',
  async (page, daemon) => {
    const file = join(daemon.home, '.mcpproxy/mcp_config.json');
    const theirs = JSON.stringify({
      mcpServers: [
        { name: 'ours', command: 'npx', args: ['-y', 'ours'], env: { KEY: '${keyring:ours_key}' } },
        { name: 'odd', protocol: 'smoke' },
      ],
    });
    await mkdir(dirname(file));
    await writeFile(file, theirs);
    const before = await daemon.config();
    await page.goto(`${daemon.url}/#/clients`);
    const part = page.getByRole('region', { name: 'Other gateways and plugins' });
    await part.getByText('Import servers of MCPProxy').press('Enter');
    await part.getByText(/drawbridge secret set ours_key/).waitFor();
    await part.getByText(/its type "smoke" is not supported/).waitFor();
    await part.getByText('${secret:ours_key}').last().waitFor();
    await inspect(page, 'all');
    await part.getByRole('button', { name: 'Import 1 server' }).press('Enter');
    await becomes(daemon.config, /"ours"/);
    await part.getByRole('button', { name: 'Undo' }).press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: 'Undo' }).press('Enter');
    await becomes(daemon.config, before);
    // In the review of all clients it is one of them.
    await page.goto(`${daemon.url}/#/welcome`);
    await page.getByRole('button', { name: /from 3 clients/ }).press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByText(/The secret ours_key cannot be copied from MCPProxy/).waitFor();
    await dialog.getByRole('button', { name: 'Move all' }).press('Enter');
    const results = page.getByRole('region', { name: 'Results by client' });
    await results.getByText('MCPProxy').waitFor();
    await becomes(daemon.config, /"ours"/);
    await results.getByRole('button', { name: 'Undo' }).press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: 'Undo' }).press('Enter');
    await becomes(daemon.config, before);
    assert.equal(await readFile(file, 'utf8'), theirs);
  },
);

flow('the servers of all clients are imported and restored', 'moving', async (page, daemon) => {
  const file = join(daemon.home, '.cursor/mcp.json');
  const before = await readFile(file, 'utf8');
  await page.goto(`${daemon.url}/#/welcome`);
  const all = page.getByRole('button', { name: moveAll });
  const dialog = page.getByRole('dialog', { name: moveAll });
  await all.press('Enter');
  await focused(dialog.getByRole('button', { name: 'Cancel' }));
  const show = (name) => dialog.getByText(`Show changes for ${name}`).press('Enter');
  await show('Cursor');
  await show('Zed');
  for (const name of [/^Changes for Cursor/, /^Changes for Zed/])
    await dialog.getByRole('region', { name }).first().waitFor();
  await inspect(page, 'all');
  await closeDialog(page);
  await focused(all);
  assert.equal(await readFile(file, 'utf8'), before);
  // A file that changed since the preview is not written.
  // One client can be left out.
  await all.press('Enter');
  await dialog.getByLabel('Move the servers of Cursor').uncheck();
  const fewer = page.getByRole('dialog', { name: 'Move 2 servers from 1 client to Drawbridge' });
  await fewer.getByText('Stays as it is').waitFor();
  await fewer.getByLabel('Move the servers of Cursor').check();
  await dialog.waitFor();
  await show('Cursor');
  const theirs = before.replace('files', 'papers');
  await writeFile(file, theirs);
  await dialog.getByRole('button', { name: 'Move all' }).press('Enter');
  await dialog.getByText(/changed since the preview/).waitFor();
  assert.equal(await readFile(file, 'utf8'), theirs);
  await dialog
    .getByText(/papers/)
    .first()
    .waitFor();
  // One file that cannot be written does not hold up the others.
  await changeResponse(page, '**/api/v1/takeover', ({ items }) => {
    const zed = items?.find(({ key }) => key === 'zed');
    if (zed) Object.assign(zed, { servers: 0, error: 'the file is read-only', reload: '' });
  });
  await dialog.getByRole('button', { name: 'Move all' }).press('Enter');
  const results = page.getByRole('region', { name: 'Results by client' });
  await results.getByText('2 servers moved').waitFor();
  await results.getByText('Not changed: the file is read-only').waitFor();
  assert.notEqual(await readFile(file, 'utf8'), theirs);
  await inspect(page, 'all');
  // Undo is still offered after visiting another page, and after a reload.
  await page.goto(`${daemon.url}/#/clients`);
  await page.getByRole('heading', { name: 'Clients', level: 1 }).waitFor();
  await page.reload();
  await page.goto(`${daemon.url}/#/welcome`);
  await results.getByRole('button', { name: 'Undo' }).press('Enter');
  await page.getByRole('dialog').getByRole('button', { name: 'Undo' }).press('Enter');
  await page.getByText('All files restored.').waitFor();
  await becomes(() => results.count(), 0);
  assert.equal(await readFile(file, 'utf8'), theirs);
});

flow(
  'a moved client lists its tools by search, with the price of each choice, and gets its file back',
  'moving',
  async (page, daemon) => {
    const file = join(daemon.home, '.cursor/mcp.json');
    const before = await readFile(file, 'utf8');
    await page.goto(`${daemon.url}/#/welcome`);
    await page.getByRole('button', { name: moveAll }).press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: 'Move all' }).press('Enter');
    await page.getByRole('region', { name: 'Results by client' }).waitFor();
    await page.goto(`${daemon.url}/#/clients`);
    const row = page
      .getByRole('listitem')
      .filter({ has: page.getByRole('heading', { name: /^Cursor/ }) });
    await row.getByText('Tools and limits').press('Enter');
    const mode = row.getByLabel('Tool listing for cursor');
    await becomes(() => mode.getByRole('option', { name: /^Search.* tokens/ }).count(), 1);
    await mode.selectOption('search');
    const { tokens } = await until(async () => {
      const all = await daemon.items('/connections');
      return all.find((one) => one.key === 'cursor' && one.toolMode === 'search');
    }, 'the mode is in use');
    const price = `~${tokens.toLocaleString('en')} tokens`;
    await row.getByText(`Context ${price}`).waitFor();
    await becomes(() => mode.getByRole('option', { name: `Search · ${price}` }).count(), 1);
    await row.getByText('Context by server, if all tools were listed').waitFor();
    await inspect(page, 'all');
    // The palette only asks.
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Command palette' }).fill('disconnect cursor');
    await page.getByRole('option', { name: /^Disconnect Cursor/, selected: true }).waitFor();
    await page.keyboard.press('Enter');
    const question = page.getByRole('dialog', { name: /^Disconnect Cursor/ });
    await question.getByRole('button', { name: 'Cancel' }).press('Enter');
    await page.waitForURL(/#\/clients$/);
    await question.waitFor({ state: 'detached' });
    assert.notEqual(await readFile(file, 'utf8'), before);
    await row.getByRole('button', { name: 'Disconnect' }).press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: 'Disconnect' }).press('Enter');
    await becomes(() => readFile(file, 'utf8'), before);
    await row.getByText('Not set up').waitFor();
    await becomes(() => row.getByText('Context').count(), 0);
  },
);

flow(
  'a profile that is made for a client starts with what it has, is assigned, and comes back when its deletion is undone',
  'moving',
  async (page, daemon) => {
    await page.goto(`${daemon.url}/#/clients`);
    const row = page
      .getByRole('listitem')
      .filter({ has: page.getByRole('heading', { name: /^Cursor/ }) });
    await row.getByRole('button', { name: 'Connect…' }).press('Enter');
    await row.getByRole('button', { name: 'Apply, move 2 servers' }).press('Enter');
    await row.getByText('Tools and limits').press('Enter');
    await row.getByLabel('Tool listing for cursor').selectOption('search');
    await page.getByText(/^Cursor.*: tool listing, Search\.$/).waitFor();
    await row.getByRole('link', { name: 'Choose tools for this client…' }).press('Enter');
    await page.getByRole('textbox', { name: 'Name' }).fill('lean');
    assert.ok(await page.getByRole('radio', { name: /^Search/ }).isChecked());
    await page.getByText(/^cursor uses ~[\d,]+ tokens now\. With this profile/).waitFor();
    await page.getByRole('button', { name: 'Save profile for cursor' }).press('Enter');
    const settings = async () =>
      (await daemon.api('GET', '/profiles')).clients.find((one) => one.token === 'cursor');
    await becomes(async () => (await settings()).profile, 'lean');
    const [, { entry }] = (await daemon.api('GET', '/profiles')).items;
    assert.deepEqual(Object.keys(entry.servers), ['files', 'pg']);
    await row.getByText('(profile lean, tool listing Search)').waitFor(); // back where it was started
    await page.goto(`${daemon.url}/#/profiles/lean`);
    await page.getByRole('button', { name: 'Delete profile' }).press('Enter');
    await page.getByText('Used by cursor.').waitFor();
    await page.getByRole('button', { name: 'Delete, 1 client loses it' }).press('Enter');
    await becomes(async () => (await daemon.api('GET', '/profiles')).items.length, 1);
    await page
      .getByRole('listitem')
      .filter({ hasText: 'Profile lean deleted.' })
      .getByRole('button', { name: 'Undo' })
      .press('Enter');
    await becomes(async () => (await settings())?.profile, 'lean');
    assert.deepEqual((await daemon.api('GET', '/profiles')).items[1].entry, entry);
  },
);

flow(
  'where no client was found, a server is added on the same page',
  'empty',
  async (page, daemon) => {
    // Longer than the page waits for its parts: the form appears when the answer does.
    await page.route('**/api/v1/takeover', async (route) => {
      await pause(2500);
      await route.continue();
    });
    await page.goto(`${daemon.url}/#/welcome?step=call`);
    await focused(page.getByRole('heading', { name: 'Make your first call' }));
    await page.getByText('No tools to call yet. Add a server in step 1.').waitFor();
    assert.equal(await page.getByRole('link', { name: 'Try a tool' }).count(), 0);
    await page.getByRole('heading', { name: 'Add your first server' }).waitFor();
    await page.getByLabel('Paste a snippet, a command or a URL').fill('npx -y server-time');
    await page.getByRole('button', { name: 'Add server' }).click();
    await page.getByText('Added time.').waitFor();
    assert.match(page.url(), /#\/welcome/);
    await inspect(page, 'all');
  },
);

flow('the check for new versions is asked about once', 'empty', async (page, daemon) => {
  await changeAnswers(page, (value) => {
    const status = value.status ?? value;
    if ('knowsReleases' in status) status.knowsReleases = true; // a build for a release
    return value;
  });
  await page.goto(`${daemon.url}/#/welcome`);
  const question = page.getByRole('region', { name: 'Check for new versions of Drawbridge?' });
  await question.getByText('No update is downloaded').waitFor();
  await question.getByRole('button', { name: 'Check daily' }).click();
  await page.getByText('New versions will be announced here.').waitFor();
  await question.waitFor({ state: 'detached' });
  assert.match(await daemon.config(), /"updates":\s*\{\s*"check":\s*true/);
  await page.reload();
  await page.getByRole('heading', { name: 'Get started' }).waitFor();
  await settled(page);
  assert.equal(await question.count(), 0);
});

flow(
  'a placeholder path is replaced with a dialog of the desktop',
  'full',
  async (page, daemon) => {
    await changeResponse(page, '**/api/v1/desktop', (desktop) => {
      desktop.window = true;
    });
    await page.route('**/window/pick', (route) =>
      route.fulfill({ json: { path: '/home/ada/Documents' } }),
    );
    await page.goto(`${daemon.url}/#/add`);
    await page
      .getByLabel('Paste a snippet, a command or a URL')
      .fill('npx -y @modelcontextprotocol/server-filesystem /path/to/allowed/files');
    const path = page.getByLabel('/path/to/allowed/files', { exact: true });
    await becomes(() => path.getAttribute('aria-invalid'), 'true');
    await inspect(page, 'all');
    await page.getByRole('button', { name: 'Choose a folder…' }).click();
    await becomes(() => path.inputValue(), '/home/ada/Documents');
    await becomes(() => path.getAttribute('aria-invalid'), 'false');
    await page.getByText(/server-filesystem \/home\/ada\/Documents$/).waitFor();
  },
);

/** Adds a server of 1,000 tools, and a profile without any. */
async function addMany(daemon) {
  const many = { command: 'npx', args: ['-y', '@modelcontextprotocol/server-many'] };
  const text = await daemon.config();
  await daemon.writeConfig(
    text
      .replace('"memory": {', `"many": ${JSON.stringify(many)}, $&`)
      .replace('"all-but-writing": {', '$& "servers": {},'),
  );
  await daemon.running('many');
}

flow('a profile of a thousand tools is chosen by search', 'full', async (page, daemon) => {
  await addMany(daemon);
  await page.goto(`${daemon.url}/#/profiles/all-but-writing`);
  const chosen = (count) => page.getByText(new RegExp(`^${count} of 1,0\\d\\d tools$`)).first();
  await chosen(0).waitFor();
  await becomes(async () => (await page.getByRole('checkbox').count()) < 80, true);
  await page.getByLabel('Search servers and tools').fill('tool_19');
  await page.waitForFunction(
    () => document.querySelectorAll('.scroll-area li input[type=checkbox]').length === 11,
  );
  await page.getByRole('button', { name: 'All: many' }).click();
  await chosen(11).waitFor();
});

flow('the approval of a changed command shows the difference', 'trouble', async (page, daemon) => {
  const card = (what) => page.getByRole('listitem').filter({ hasText: `search ${what}` });
  await page.goto(`${daemon.url}/#/approvals`);
  await card('wants to run a command').getByRole('button').first().press('Enter');
  await daemon.running('search');
  await daemon.writeConfig((await daemon.config()).replace('example.test', 'other.test'));
  await card('has a new command').getByText('https://example.test').waitFor();
  await card('has a new command').getByText('https://other.test').waitFor();
});

flow(
  'a call is allowed for ten minutes, for similar arguments alone',
  'trouble',
  async (page, daemon) => {
    await suggestWhere(page);
    await page.goto(`${daemon.url}/#/approvals`);
    const card = page.getByRole('listitem').filter({ hasText: 'wants to call "write_file"' });
    const ways = card.getByRole('button', { name: 'More ways to allow' });
    await ways.press('Enter');
    await page.getByRole('menuitemcheckbox', { name: 'Limit to similar arguments' }).press('Enter');
    await page.keyboard.press('Escape');
    const only = card.getByRole('group', { name: 'Only when' });
    await only.getByRole('checkbox', { name: /mode/ }).uncheck();
    await inspect(page, 'all');
    await ways.press('Enter');
    const [answer] = await Promise.all([
      page.waitForRequest((r) => r.method() === 'POST' && r.url().includes('/approvals/')),
      page.getByRole('menuitem', { name: 'Allow for 10 minutes' }).press('Enter'),
    ]);
    await card.waitFor({ state: 'detached' });
    assert.equal((await daemon.items('/approvals/grants')).length, 1);
    const { seen, ...sent } = answer.postDataJSON();
    assert.match(seen, /^[0-9a-f]{32}$/); // what the card showed
    assert.deepEqual(sent, {
      action: 'accept',
      scope: 'minutes',
      where: { '/path': { under: '/home/ada/projects' } },
    });
  },
);

flow(
  'typed text is a draft until it is discarded, and that can be undone',
  'full',
  async (page, daemon) => {
    const restored = page.getByText('Restored your draft');
    const elsewhere = async () => {
      await page.getByRole('link', { name: 'Overview', exact: true }).click();
      await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
      await page.goBack();
    };
    await page.goto(`${daemon.url}/#/add`);
    const snippet = page.getByLabel('Paste a snippet, a command or a URL');
    await snippet.fill('half a thought');
    await page.getByText(/^No server found/).waitFor();
    assert.equal(await restored.count(), 0);
    await elsewhere();
    await restored.waitFor();
    assert.equal(await snippet.inputValue(), 'half a thought');
    await page.getByRole('button', { name: 'Discard', exact: true }).click();
    await becomes(() => snippet.inputValue(), '');
    const messages = page.getByRole('region', { name: /^Notifications/ });
    await messages.getByRole('button', { name: 'Undo' }).click();
    await becomes(() => snippet.inputValue(), 'half a thought');
    await snippet.fill('npx -y server --api-key=abcdef0123456789');
    await page.getByRole('heading', { name: 'This will run' }).waitFor();
    await elsewhere();
    // A secret is not kept, but the rest is.
    await becomes(() => snippet.inputValue(), 'npx -y server --api-key=••••••••');
    await page.getByText('The draft does not contain secrets. Enter the value again.').waitFor();
    await page.goto(`${daemon.url}/#/tools?tool=everything__echo`);
    await page.getByLabel(/^message/).fill('half an argument');
    await page.reload();
    await restored.waitFor();
    assert.equal(await page.getByLabel(/^message/).inputValue(), 'half an argument');
    await inspect(page, 'all');
  },
);

flow('a configuration that is being edited is a draft, too', 'full', async (page, daemon) => {
  const elsewhere = async () => {
    await page.getByRole('link', { name: 'Calls', exact: true }).click();
    await page.getByRole('table', { name: 'Calls' }).waitFor();
    await page.goBack();
  };
  await page.goto(`${daemon.url}/#/servers/filesystem?view=config`);
  const command = page.getByLabel('Command', { exact: true });
  await command.fill('bunx');
  await elsewhere();
  await becomes(() => command.inputValue(), 'bunx');
  await page.getByText('Restored your draft').waitFor();
  await page.getByRole('button', { name: 'Discard changes', exact: true }).click();
  await becomes(() => command.inputValue(), 'npx');
  await page.getByRole('button', { name: 'Undo' }).click();
  await becomes(() => command.inputValue(), 'bunx');
  await page.getByRole('button', { name: 'Discard changes', exact: true }).click();
});
