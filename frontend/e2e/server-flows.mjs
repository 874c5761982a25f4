// A server's page: its errors, the actions that help, and its configuration.
import assert from 'node:assert/strict';
import { changeItem, changeResponse } from './answers.mjs';
import { flow } from './flow.mjs';
import { inspect } from './harness.mjs';
import { becomes, closeDialog, focused } from './waiting.mjs';

flow('a missing key is set where the problem is shown', 'trouble', async (page, daemon) => {
  await page.goto(`${daemon.url}/#/servers/Linear`);
  const problem = page.getByRole('region', { name: 'State' });
  await problem.getByText(/LINEAR_API_KEY\} is not set/).waitFor();
  const set = problem.getByRole('button', { name: 'Set LINEAR_API_KEY…' });
  await set.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Set LINEAR_API_KEY…' });
  const value = dialog.getByLabel('Value');
  await focused(value);
  assert.equal(await value.getAttribute('type'), 'password');
  await inspect(page, 'all');
  await value.fill('lin_secret');
  await value.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  const text = await daemon.config();
  assert.match(text, /"LINEAR_API_KEY": "\$\{secret:LINEAR_API_KEY\}"/);
  assert.match(text, /\/\/ from linear\.app/);
  assert.doesNotMatch(text, /lin_secret/);
});

flow(
  'a missing program is named with the command that installs it',
  'trouble',
  async (page, daemon) => {
    await changeItem(page, 'archive', {
      state: 'waiting',
      reason: 'the container is not running: "jira-mcp"',
      hint: 'Start the container: docker start jira-mcp',
      remedy: { kind: 'start-container', name: 'jira-mcp', command: 'docker start jira-mcp' },
    });
    await page.goto(`${daemon.url}/#/servers/fetch?view=log`);
    const state = page.getByRole('region', { name: 'State' });
    await state.getByRole('button', { name: 'Install uv…' }).press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Install uv…' });
    await dialog.getByText('curl -LsSf https://astral.sh/uv/install.sh | sh').waitFor();
    await dialog.getByRole('link', { name: 'https://docs.astral.sh/uv' }).waitFor();
    await inspect(page, 'all');
    await closeDialog(page);
    await page.goto(`${daemon.url}/#/`);
    await page.getByRole('button', { name: 'Start container…' }).press('Enter');
    const container = page.getByRole('dialog', { name: 'Start container…' });
    await container.getByText('docker start jira-mcp').waitFor();
    await container.getByRole('button', { name: 'Close' }).press('Enter');
    await container.waitFor({ state: 'detached' });
    await page.goto(`${daemon.url}/#/servers/browser`);
    const problem = page.getByRole('region', { name: 'State' });
    await problem.getByText("Error: Cannot find module 'playwright'", { exact: true }).waitFor();
    await problem.getByRole('button', { name: 'Open log' }).press('Enter');
    await page.waitForURL(/view=log/);
  },
);

flow('an entry is changed as a form and as text', 'trouble', async (page, daemon) => {
  const before = await daemon.config();
  await page.goto(`${daemon.url}/#/servers/Linear?view=config`);
  const panel = page.getByRole('tabpanel', { name: 'Configuration' });
  await panel.getByLabel('Command').fill('uvx');
  await panel.getByLabel('Arguments').fill('mcp-linear\n--verbose');
  await panel.getByLabel('Start timeout (seconds)').fill('90');
  await panel.getByRole('button', { name: 'Store as secret' }).press('Enter');
  await becomes(
    () => panel.getByLabel('LINEAR_TOKEN', { exact: true }).inputValue(),
    '${secret:LINEAR_TOKEN}',
  );
  // Another view keeps the text; another page asks for confirmation first.
  await page.getByRole('tab', { name: 'Log' }).click();
  await page.getByRole('tab', { name: 'Configuration' }).click();
  await page.getByRole('link', { name: 'Overview', exact: true }).click();
  const question = page.getByRole('dialog', { name: 'Leave without saving?' });
  await question.getByRole('button', { name: 'Keep editing' }).press('Enter');
  await question.waitFor({ state: 'detached' });
  await panel.getByRole('radio', { name: 'Text' }).press('Enter');
  const text = panel.getByRole('textbox', { name: 'Entry in the configuration file' });
  await text.getByText('--verbose').waitFor();
  await text.getByText('// from linear.app').waitFor();
  await inspect(page, 'all');
  await panel.getByRole('button', { name: 'Save' }).press('Enter');
  await page.getByText('Configuration of Linear saved.').waitFor();
  const after = await daemon.config();
  assert.match(
    after,
    /"command": "uvx",\n {6}"args": \[\s*"mcp-linear",\s*"--verbose"\s*\],\n {6}\/\/ from linear\.app/,
  );
  assert.match(after, /\n {6}"startupTimeoutMs": 90000\n {4}\}/);
  assert.match(after, /"LINEAR_TOKEN": "\$\{secret:LINEAR_TOKEN\}"/);
  await page.getByRole('button', { name: 'Undo' }).press('Enter');
  await becomes(daemon.config, before);
});

flow(
  'the text of an entry is completed and checked by the schema',
  'full',
  async (page, daemon) => {
    await page.goto(`${daemon.url}/#/servers/filesystem?view=config`);
    const panel = page.getByRole('tabpanel', { name: 'Configuration' });
    await panel.getByRole('radio', { name: 'Text' }).press('Enter');
    const box = panel.getByRole('textbox', { name: 'Entry in the configuration file' });
    await box.fill('{\n  "comand": "npx"\n}');
    await panel.getByText('Line 2: Unknown key “comand”; it is ignored. Did you mean').waitFor();
    await panel.locator('.cm-lintRange-warning', { hasText: /^"comand"$/ }).waitFor();
    await inspect(page, 'all');
    await box.fill('');
    await page.keyboard.type('{ "comm');
    await page
      .getByRole('listbox', { name: 'Suggestions' })
      .getByRole('option', { name: /^command/ })
      .waitFor();
    await page.keyboard.press('Escape');
    await box.fill('{ "command": }');
    await panel.getByText('Not valid JSON: line 1, column 14.').waitFor();
    await panel.locator('.cm-lintRange-error').waitFor();
    await panel.getByRole('button', { name: 'Discard' }).click();
  },
);

flow('an entry that was changed elsewhere is not overwritten', 'full', async (page, daemon) => {
  await page.goto(`${daemon.url}/#/servers/filesystem?view=config`);
  const panel = page.getByRole('tabpanel', { name: 'Configuration' });
  await panel.getByLabel('Command').fill('bunx');
  const theirs = (await daemon.config()).replace('"command": "npx"', '"command": "pnpx"');
  await daemon.writeConfig(theirs);
  await panel.getByRole('button', { name: 'Save' }).press('Enter');
  await panel.getByText(/changed elsewhere/).waitFor();
  assert.equal(await daemon.config(), theirs);
  await panel.getByRole('button', { name: 'Discard changes' }).press('Enter');
  await becomes(() => panel.getByLabel('Command').inputValue(), 'pnpx');
});

flow(
  'an error in the file is given as the reason, not another file',
  'full',
  async (page, daemon) => {
    const reason = page.getByText(/^The configuration file has an error: Not valid JSON: line 1,/);
    await daemon.writeConfig((await daemon.config()).replace('{', '{,,'));
    await page.goto(`${daemon.url}/#/servers/filesystem?view=config`);
    await reason.waitFor();
    const panel = page.getByRole('region', { name: 'filesystem' });
    await panel.getByRole('button', { name: 'More actions for filesystem' }).press('Enter');
    await page.getByRole('menuitem', { name: 'Tags' }).press('Enter');
    await page.getByRole('dialog').locator(reason).waitFor();
    await inspect(page, 'all');
    await page.goto(`${daemon.url}/#/add?like=filesystem`);
    await reason.waitFor();
    await page.getByLabel('Paste a snippet, a command or a URL').fill('npx -y tide-mcp');
    await page.getByRole('button', { name: 'Add server', exact: true }).press('Enter');
    await reason.waitFor();
    assert.equal(await page.getByText(/defined in another file/).count(), 0);
  },
);

flow('an update is compared before it is saved', 'full', async (page, daemon) => {
  await page.goto(`${daemon.url}/#/servers/filesystem`);
  await page.getByRole('link', { name: 'Preview update' }).press('Enter');
  const verdict = page.locator('main [role=status]');
  const skipped = (count) => verdict.getByText(new RegExp(`\\d+ different, ${count} skipped`));
  await skipped('2').waitFor();
  await page.getByText('Show differences').first().press('Enter');
  await page.getByText('"Done in another way."').first().waitFor();
  assert.equal(await page.getByText(/^There are too few results/).count(), 0);
  await inspect(page, 'all');
  await page.getByText(/^2 skipped/).click();
  await page.getByRole('button', { name: 'Include this tool: write_file' }).first().press('Enter');
  await skipped('1').waitFor();
  await page.getByRole('button', { name: 'Not now' }).press('Enter');
  await page.waitForURL(/#\/servers\/filesystem$/);
  await changeResponse(page, '**/servers/memory/version', ({ comparison }) => {
    if (comparison) comparison.enough = false;
  });
  await page.goto(`${daemon.url}/#/servers/memory/update`);
  await page.getByText(/^There are too few results to tell/).waitFor();
});

const sandboxOf = (page) =>
  page.locator('section').filter({ has: page.getByRole('heading', { name: 'Sandbox' }) });

flow('what a sandbox refused is allowed with one click', 'full', async (page, daemon) => {
  const refused = [
    { path: '/srv/notes/today.md', unreadable: false, allow: '/srv/notes' },
    { path: '/home/ada/later/a.db', unreadable: true, allow: '/home/ada/later/a.db' },
    {
      path: '/home/ada/.config/gh/hosts.yml',
      unreadable: true,
      allow: '',
      remark: 'is private or contains private files',
    },
  ];
  await changeResponse(page, '**/servers/memory/sandbox', (status) => {
    const allowed = [...status.read, ...status.write];
    status.mode = 'on';
    status.access = { write: ['~/notes'], unreadable: ['~/.local/share/drawbridge'] };
    status.refused = refused.filter(({ allow }) => !allowed.includes(allow));
    status.refusedMore = 3;
  });
  await page.goto(`${daemon.url}/#/servers/memory?view=about`);
  const section = sandboxOf(page);
  await section.getByText('/srv/notes/today.md').waitFor();
  await section.getByText('Allows /srv/notes and everything below it').waitFor();
  await section.getByText('Rules in effect at the last start').press('Enter');
  await section.getByText('~/notes', { exact: true }).waitFor();
  await section.getByText('~/.local/share/drawbridge', { exact: true }).waitFor();
  await inspect(page, 'all');
  await section.getByRole('button', { name: 'Allow writing' }).press('Enter');
  await section.getByText('Write /srv/notes').waitFor();
  await section.getByRole('button', { name: 'Allow reading' }).press('Enter');
  await section.getByText('Read /home/ada/later/a.db').waitFor();
  await section.getByText('/home/ada/.config/gh/hosts.yml').waitFor();
  await section.getByText('because it is private').waitFor();
  assert.equal(await section.getByRole('button', { name: /^Allow/ }).count(), 0);
});

flow(
  'the settings of several tools are changed together, and that is undone',
  'full',
  async (page, daemon) => {
    await page.goto(`${daemon.url}/#/servers/filesystem?view=tools`);
    const approval = (tool) => page.getByLabel(`Approval for ${tool}`, { exact: true });
    for (const tool of ['write_file', 'list_directory', 'move_file'])
      await page.getByRole('button', { name: `settings of ${tool}` }).press('Enter');
    await approval('move_file').selectOption('deny');
    await becomes(() => approval('move_file').inputValue(), 'deny');
    await page.getByRole('checkbox', { name: 'Select all 5' }).check();
    await page.getByRole('checkbox', { name: 'Select list_directory' }).uncheck();
    const chosen = page.getByRole('group', { name: /selected tools$/ });
    await chosen.getByRole('combobox').first().selectOption('ask');
    await becomes(() => approval('move_file').inputValue(), 'ask');
    await becomes(() => approval('write_file').inputValue(), 'ask');
    assert.equal(await approval('list_directory').inputValue(), '');
    await page.getByRole('button', { name: 'Undo' }).click();
    await becomes(() => approval('move_file').inputValue(), 'deny');
    await becomes(() => approval('write_file').inputValue(), '');
  },
);
