// What the user does with one server, with tools, approvals and settings.
import assert from 'node:assert/strict';
import { flow } from './flow.mjs';
import { inspect } from './harness.mjs';
import { becomes, leave } from './waiting.mjs';

const quiet = { scene: 'full', rate: 0 };
const sent = (page, method, part) =>
  page.waitForRequest((r) => r.method() === method && r.url().includes(part));

flow('a server is examined, messages only after a click', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/servers/filesystem`);
  await page.getByRole('tab', { name: 'Debug', exact: true }).click();
  await page.waitForURL(/view=debug/);
  await page.getByText('/home/ada/.nvm/versions/node/v22.14.0/bin/npx').waitFor();
  assert.equal(await page.getByText('"jsonrpc"').count(), 0);
  await page.getByRole('button', { name: 'Show 2 messages' }).click();
  await page.getByText('"jsonrpc"').first().waitFor();
  await inspect(page, 'all');
});

flow('a log is narrowed to warnings and searched', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/servers/filesystem?view=log`);
  const asked = sent(page, 'GET', 'level=warn');
  await page.getByRole('radio', { name: 'Warnings' }).click();
  await asked;
  await page.getByRole('searchbox', { name: 'Search the log' }).fill('done in');
  const log = page.getByRole('region', { name: 'Log' });
  await log.getByText('reading /home').first().waitFor({ state: 'detached' });
  await log.getByText('done in 12 ms').first().waitFor();
});

flow('a tool is switched off, and asked about, from its server', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/servers/filesystem?view=tools`);
  const off = sent(page, 'POST', '/servers/filesystem/tools');
  await page.getByRole('switch', { name: 'Offer write_file to clients' }).click();
  assert.deepEqual((await off).postDataJSON(), { tool: 'write_file', set: { enabled: false } });
  await page.getByText('Disabled here').waitFor();
  const ask = sent(page, 'POST', '/servers/filesystem/tools');
  await page.getByLabel('Approval for move_file').selectOption('ask');
  assert.deepEqual((await ask).postDataJSON(), { tool: 'move_file', set: { approval: 'ask' } });
});

flow(
  'a server’s values stay masked until somebody wants to see them',
  quiet,
  async (page, mock) => {
    mock.world.config.text = `{ "mcpServers": { "filesystem": {
    "command": "npx", "args": ["--token", "sk-visible-never"],
    "env": { "API_KEY": "sk-secret", "LANG": "en" } } } }`;
    await page.goto(`${mock.url}/#/servers/filesystem`);
    await page
      .getByRole('region', { name: 'filesystem' })
      .getByRole('button', { name: 'More actions' })
      .click();
    await page.getByRole('menuitem', { name: 'View configuration' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('"LANG": "en"').waitFor();
    assert.doesNotMatch(await dialog.innerText(), /sk-/);
    await dialog.getByRole('button', { name: 'Reveal masked values' }).click();
    await becomes(() => dialog.innerText(), /sk-secret/);
    await becomes(() => dialog.innerText(), /sk-visible-never/);
  },
);

flow(
  'another server is made like one, and one is removed after a question',
  quiet,
  async (page, mock) => {
    await page.goto(`${mock.url}/#/servers/filesystem`);
    const more = page
      .getByRole('region', { name: 'filesystem' })
      .getByRole('button', { name: 'More actions' });
    await more.click();
    await page.getByRole('menuitem', { name: 'Duplicate' }).click();
    await page.getByText('/home/ada/projects', { exact: true }).waitFor();
    await becomes(() => page.getByLabel('Name').inputValue(), 'filesystem-2');
    await page.goBack();
    await more.click();
    await page.getByRole('menuitem', { name: 'Remove' }).click();
    const gone = sent(page, 'DELETE', '/servers/filesystem');
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await gone;
    await page.getByRole('link', { name: 'filesystem' }).waitFor({ state: 'detached' });
  },
);

flow(
  'a call is allowed for ten minutes, and that is taken back',
  { scene: 'trouble', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/#/questions`);
    const card = page.getByRole('listitem').filter({ hasText: 'wants to call write_file' });
    await card.getByText('9007199254740993').waitFor();
    await inspect(page, 'all');
    const answer = sent(page, 'POST', '/approvals/call1');
    await card.getByRole('button', { name: 'Allow for 10 minutes' }).click();
    assert.deepEqual((await answer).postDataJSON(), { action: 'accept', scope: 'minutes' });
    await card.waitFor({ state: 'detached' });
    await page.getByText('cursor → filesystem / write_file').waitFor();
    await page.getByRole('button', { name: 'Revoke all' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('cursor → filesystem / write_file').waitFor();
    await inspect(page, 'all');
    await leave(page);
    assert.equal(mock.world.extras.grants().length, 1);
    await page.getByRole('button', { name: 'Revoke all' }).click();
    await dialog.getByRole('button', { name: 'Revoke all' }).click();
    // The dialog names the call too, until it has gone.
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('cursor → filesystem / write_file').waitFor({ state: 'detached' });
  },
);

flow(
  'a changed command shows what is new in it, and runs after a click',
  { scene: 'trouble', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/#/questions`);
    const card = page.getByRole('listitem').filter({ hasText: 'search has a new command' });
    await card.getByText('mcp-search@1.4').waitFor();
    await card.getByText('https://example.test').waitFor();
    const answer = sent(page, 'POST', '/approvals/');
    await card.getByRole('button', { name: 'Run this command' }).click();
    assert.deepEqual((await answer).postDataJSON(), { action: 'accept' });
  },
);

flow('whether a call would pass is told for each client', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/tools?tool=filesystem__write_file`);
  await page.getByText('Allowed.').waitFor();
  await page.getByLabel('Client', { exact: true }).selectOption('cursor');
  await page.getByText('Blocked.').waitFor();
  await page.getByRole('button', { name: '2 inactive checks' }).click();
  await page.getByText('No breaker is configured.').waitFor();
});

flow('a tool that ran out of time gets five minutes', quiet, async (page, mock) => {
  const call = mock.world.calls.find((c) => c.outcome === 'timeout');
  await page.goto(`${mock.url}/#/calls/${call.id}`);
  const change = sent(page, 'POST', `/servers/${call.server}/tools`);
  await page.getByRole('button', { name: 'Allow 5 min for this tool' }).click();
  assert.deepEqual((await change).postDataJSON(), {
    tool: call.tool,
    set: { requestTimeoutMs: 300_000 },
  });
  await page.getByText('set to 5 minutes').waitFor();
});

flow(
  'recording is paused, a rule is added, and the bounds are written',
  quiet,
  async (page, mock) => {
    await page.goto(`${mock.url}/#/settings`);
    await page.getByRole('button', { name: 'Pause recording' }).click();
    await page.getByText('Recording is paused.').waitFor();
    await becomes(() => mock.world.history.recording.paused, true);
    await page.getByLabel('Tool (empty: all)').fill('write_file');
    await page.getByRole('button', { name: 'Add rule' }).click();
    await page.getByText('/ write_file').waitFor();
    await becomes(() => mock.world.history.recording.rules.at(-1), {
      server: 'filesystem',
      tool: 'write_file',
      record: 'meta',
    });
    await page.getByLabel('Retention (days)').fill('7');
    await page
      .getByRole('region', { name: 'Recording' })
      .getByRole('button', { name: 'Save' })
      .click();
    await page.getByText('Saved and applied.').waitFor();
    assert.match(mock.world.config.text, /"history": \{\s+"keepDays": 7\s+\}/);
    assert.match(mock.world.config.text, /\/\/ Everything Drawbridge runs/);
    let pruned = 0;
    page.on('request', (request) => {
      if (request.method() === 'POST' && request.url().endsWith('/prune')) pruned++;
    });
    const prune = page.getByRole('button', { name: 'Delete expired calls now' });
    await prune.click();
    await page.getByText('No calls exceed these limits.').waitFor();
    const old = mock.world.calls.at(-1);
    for (const days of [40, 50])
      mock.world.calls.push({ ...old, at: new Date(Date.now() - days * 86_400_000).toISOString() });
    await prune.click();
    await page.getByRole('dialog').getByText('2 calls will be permanently deleted').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal(pruned, 0);
    await prune.click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('12 calls deleted').waitFor();
    await becomes(() => pruned, 1);
  },
);

flow(
  'a secret goes in and is never shown; a token is made new after its diff',
  quiet,
  async (page, mock) => {
    await page.goto(`${mock.url}/#/settings`);
    const secrets = page.getByRole('region', { name: 'Secrets' });
    await secrets.getByLabel('Name').fill('LINEAR_KEY');
    await secrets.getByLabel('Value').fill('lin_abc');
    const put = sent(page, 'PUT', '/secrets/LINEAR_KEY');
    await secrets.getByRole('button', { name: 'Set' }).click();
    assert.deepEqual((await put).postDataJSON(), { value: 'lin_abc' });
    await secrets.getByText('LINEAR_KEY').waitFor();
    assert.equal(await page.getByText('lin_abc').count(), 0);
    await secrets.getByLabel('Name').fill('LINEAR_KEY');
    await secrets.getByLabel('Value').fill('lin_def');
    await secrets.getByRole('button', { name: 'Set' }).click();
    const replace = sent(page, 'PUT', '/secrets/LINEAR_KEY');
    await page.getByRole('dialog').getByRole('button', { name: 'Replace' }).click();
    assert.deepEqual((await replace).postDataJSON(), { value: 'lin_def' });
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Rotate' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('/home/ada/.cursor/mcp.json').waitFor();
    await inspect(page, 'all');
    const rotate = sent(page, 'POST', '/rotate');
    await dialog.getByRole('button', { name: 'Rotate' }).click();
    assert.deepEqual((await rotate).postDataJSON(), { dryRun: false });
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Run diagnostics' }).click();
    await page.getByText('1 issue found.').waitFor();
  },
);
