// Getting started, profiles of many tools, and dialogs of the desktop.
import assert from 'node:assert/strict';
import { makeScene } from '../dev/mock-scenes.mjs';
import { flow } from './flow.mjs';
import { inspect } from './harness.mjs';
import { becomes, closeDialog, focused, live, settled } from './waiting.mjs';

const empty = { scene: 'empty', rate: 0 };
const quiet = { scene: 'full', rate: 0 };

flow('the servers of all clients are imported and restored', empty, async (page, mock) => {
  mock.world.connections.push(...makeScene('full').connections);
  mock.world.unwritable.add('zed');
  const connected = () => mock.world.connections.filter((one) => one.connected).length;
  await page.goto(`${mock.url}/#/welcome`);
  const all = page.getByRole('button', { name: 'Move 4 servers from 2 clients to Drawbridge' });
  const dialog = page.getByRole('dialog', { name: 'Move 4 servers from 2 clients to Drawbridge' });
  await all.press('Enter');
  await focused(dialog.getByRole('button', { name: 'Cancel' }));
  await dialog.getByRole('region', { name: 'Changes for Cursor' }).waitFor();
  await dialog.getByRole('region', { name: 'Changes for Zed' }).waitFor();
  await inspect(page, 'all');
  await closeDialog(page);
  await focused(all);
  assert.equal(connected(), 2);
  // A file that changed since the preview is not written.
  await all.press('Enter');
  const { takeOver } = mock.world;
  mock.world.takeOver = () => undefined;
  await dialog.getByRole('button', { name: 'Move all' }).press('Enter');
  await dialog.getByText('a file has changed since the preview').waitFor();
  mock.world.takeOver = takeOver;
  await dialog.getByRole('button', { name: 'Move all' }).press('Enter');
  const results = page.getByRole('region', { name: 'Results by client' });
  await results.getByText('2 servers moved').waitFor();
  await results.getByText('Not changed: the file is read-only').waitFor();
  assert.equal(connected(), 3);
  await inspect(page, 'all');
  // Undo is still offered after visiting another page.
  await page.goto(`${mock.url}/#/clients`);
  await page.getByText('Working, 16 tools visible').waitFor();
  await page.goto(`${mock.url}/#/welcome`);
  await results.getByRole('button', { name: 'Undo' }).press('Enter');
  await page.getByText('All files restored.').waitFor();
  await becomes(() => results.count(), 0);
  assert.equal(connected(), 2);
  await all.waitFor();
});

flow(
  'from an empty start to the first recorded call, two clicks on one page',
  empty,
  async (page, mock) => {
    const full = makeScene('full');
    mock.world.connections.push(...full.connections.filter((one) => one.state === 'notConnected'));
    let clicks = 0;
    const click = async (target) => {
      await target.click();
      clicks++;
    };
    const tick = (text) => page.getByRole('heading', { name: `done: ${text}` });
    await page.goto(`${mock.url}/#/`);
    await page.getByRole('heading', { name: 'Get started' }).waitFor();
    await live(page); // an event that is sent earlier is lost
    for (const step of ['Add your servers', 'Connect your clients', 'Make your first call'])
      await page.getByRole('heading', { name: step, exact: true }).waitFor();
    await inspect(page, 'all');
    await click(page.getByRole('button', { name: 'Move 4 servers from 2 clients to Drawbridge' }));
    await click(page.getByRole('dialog').getByRole('button', { name: 'Move all' }));
    mock.world.servers.push(...full.servers);
    mock.send('snapshot', { status: mock.world.status(), calls: [], approvals: [] });
    await tick('Add your servers').waitFor();
    await tick('Connect your clients').waitFor();
    await page.getByText('Waiting for the first call…').waitFor();
    const changed = page.getByRole('region', { name: 'Changed files' });
    await changed.getByText('/home/ada/.config/drawbridge/config.jsonc').waitFor();
    await changed.getByText('drawbridge clients undo --all').waitFor();
    full.invent((call) => mock.send('call', { ...call, outcome: 'ok' }));
    await tick('Make your first call').waitFor();
    await page.getByText('The call succeeded and was recorded.').waitFor();
    assert.equal(clicks, 2);
    assert.match(page.url(), /#\/welcome$/);
    await inspect(page, 'all');
  },
);

// Longer than the page waits for its parts: the form appears when the answer does.
const late = { ...empty, delay: (path) => (path === '/api/v1/takeover' ? 2500 : 0) };

flow('where no client was found, a server is added on the same page', late, async (page, mock) => {
  await page.goto(`${mock.url}/#/welcome?step=call`);
  await focused(page.getByRole('heading', { name: 'Make your first call' }));
  await page.getByText('No tools to call yet. Add a server in step 1.').waitFor();
  assert.equal(await page.getByRole('link', { name: 'Try a tool' }).count(), 0);
  await page.getByRole('heading', { name: 'Add your first server' }).waitFor();
  await page.getByLabel('Paste a snippet, a command or a URL').fill('npx -y server-time');
  await page.getByRole('button', { name: 'Add server' }).click();
  await page.getByText('Added time.').waitFor();
  assert.match(page.url(), /#\/welcome/);
  await inspect(page, 'all');
});

flow('the check for new versions is asked about once', empty, async (page, mock) => {
  await page.goto(`${mock.url}/#/welcome`);
  const question = page.getByRole('region', { name: 'Check for new versions of Drawbridge?' });
  await question.getByText('No update is downloaded').waitFor();
  await question.getByRole('button', { name: 'Check daily' }).click();
  await page.getByText('New versions will be announced here.').waitFor();
  await question.waitFor({ state: 'detached' });
  assert.match(mock.world.config.text, /"updates":\s*\{\s*"check":\s*true/);
  await page.reload();
  await page.getByRole('heading', { name: 'Get started' }).waitFor();
  await settled(page);
  assert.equal(await question.count(), 0);
});

flow('a placeholder path is replaced with a dialog of the desktop', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/add`);
  await page
    .getByLabel('Paste a snippet, a command or a URL')
    .fill('npx -y @modelcontextprotocol/server-filesystem /path/to/allowed/files');
  await page.getByText('looks like a placeholder').waitFor();
  await inspect(page, 'all');
  await page.getByRole('button', { name: 'Choose a folder…' }).click();
  await page.getByText('/home/ada/Documents', { exact: true }).waitFor();
  await page.getByText('looks like a placeholder').waitFor({ state: 'detached' });
});

flow('a profile of two thousand tools is chosen by search', quiet, async (page, mock) => {
  const like = mock.world.tools[0];
  for (let i = 0; i < 2000; i++)
    mock.world.tools.push({
      ...like,
      server: 'many',
      tool: `tool_${i}`,
      name: `many__tool_${i}`,
    });
  mock.world.profiles.items[1].entry = { servers: {} };
  await page.goto(`${mock.url}/#/profiles/all-but-writing`);
  const chosen = (count) => page.getByText(new RegExp(`^${count} of 2,0\\d\\d tools$`)).first();
  await chosen(0).waitFor();
  await becomes(async () => (await page.getByRole('checkbox').count()) < 80, true);
  await page.getByLabel('Search servers and tools').fill('tool_199');
  await page.waitForFunction(
    () => document.querySelectorAll('.scroll-area li input[type=checkbox]').length === 11,
  );
  await page.getByRole('button', { name: 'All: many' }).click();
  await chosen(11).waitFor();
});

flow('a suggested profile is made, dismissed, and both are undone', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/profiles`);
  const list = page.getByRole('region', { name: 'Suggested profiles' });
  const shop = list.getByRole('listitem').filter({ hasText: '/home/ada/projects/shop' });
  await shop.getByText(/4 of [\d,]+ tools were called here in the last 30 days/).waitFor();
  await shop.getByRole('button', { name: 'Create profile' }).click();
  await list.getByText('now use the profile shop').waitFor();
  await page.getByRole('link', { name: 'shop', exact: true }).waitFor();
  await list.getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('link', { name: 'shop', exact: true }).waitFor({ state: 'detached' });
  await shop.getByRole('button', { name: /^Dismiss/ }).click();
  await list.getByText(/^Suggestion for .* dismissed/).waitFor();
  await page.reload();
  await list.getByText('/home/ada/notes').waitFor();
  assert.equal(await shop.count(), 0);
});

flow(
  'the approval of a changed command shows the difference',
  { scene: 'trouble', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/#/approvals`);
    const card = page.getByRole('listitem').filter({ hasText: 'search has a new command' });
    await card.getByText('mcp-search@1.4').waitFor();
    await card.getByText('https://example.test').waitFor();
  },
);

flow(
  'a call is allowed for ten minutes, for similar arguments alone',
  { scene: 'trouble', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/#/approvals`);
    const card = page.getByRole('listitem').filter({ hasText: 'wants to call write_file' });
    await card.getByRole('button', { name: 'Limit to similar arguments…' }).press('Enter');
    const only = card.getByRole('group', { name: 'Only when' });
    await only.getByRole('checkbox', { name: /mode/ }).uncheck();
    await inspect(page, 'all');
    await card.getByRole('button', { name: 'Allow for 10 minutes' }).press('Enter');
    await card.waitFor({ state: 'detached' });
    const { id, ...answer } = mock.world.answers[0];
    assert.deepEqual(answer, {
      action: 'accept',
      scope: 'minutes',
      where: { '/path': { under: '/home/ada/projects' } },
    });
  },
);

flow(
  'typed text is a draft until it is discarded, and that can be undone',
  quiet,
  async (page, mock) => {
    const restored = page.getByText('Restored your draft');
    const elsewhere = async () => {
      await page.getByRole('link', { name: 'Overview', exact: true }).click();
      await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
      await page.goBack();
    };
    await page.goto(`${mock.url}/#/add`);
    const snippet = page.getByLabel('Paste a snippet, a command or a URL');
    await snippet.fill('npx -y half-a-command');
    await page.getByText(/^No server found/).waitFor();
    assert.equal(await restored.count(), 0);
    await elsewhere();
    await restored.waitFor();
    assert.equal(await snippet.inputValue(), 'npx -y half-a-command');
    await page.getByRole('button', { name: 'Discard', exact: true }).click();
    await becomes(() => snippet.inputValue(), '');
    const messages = page.getByRole('region', { name: /^Notifications/ });
    await messages.getByRole('button', { name: 'Undo' }).click();
    await becomes(() => snippet.inputValue(), 'npx -y half-a-command');
    await snippet.fill('npx -y server --api-key=abcdef0123456789');
    await page.getByRole('heading', { name: 'This will run' }).waitFor();
    await elsewhere();
    await becomes(() => snippet.inputValue(), ''); // a secret is not kept
    await page.goto(`${mock.url}/#/tools?tool=everything__echo`);
    await page.getByLabel(/^message/).fill('half an argument');
    await page.reload();
    await restored.waitFor();
    assert.equal(await page.getByLabel(/^message/).inputValue(), 'half an argument');
    await inspect(page, 'all');
  },
);

flow(
  'a configuration that is being edited and a rule are drafts, too',
  quiet,
  async (page, mock) => {
    const elsewhere = async () => {
      await page.getByRole('link', { name: 'Calls', exact: true }).click();
      await page.getByRole('table', { name: 'Calls' }).waitFor();
      await page.goBack();
    };
    await page.goto(`${mock.url}/#/servers/filesystem?view=config`);
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
    await page.goto(`${mock.url}/#/settings`);
    const tool = page.getByPlaceholder('Tool', { exact: false });
    await tool.fill('read_text_file');
    await elsewhere();
    await becomes(() => tool.inputValue(), 'read_text_file');
  },
);
