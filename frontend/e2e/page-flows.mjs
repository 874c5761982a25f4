// What the user does with the file, with tokens, and with clients by hand.
import assert from 'node:assert/strict';
import { flow } from './flow.mjs';
import { inspect } from './harness.mjs';
import { becomes, focused, textOf } from './waiting.mjs';

const quiet = { scene: 'full', rate: 0 };

flow(
  'the configuration is completed while it is typed, and checked before it is saved',
  quiet,
  async (page, mock) => {
    mock.world.config.text = '{\n  "history": {\n    \n  }\n}\n';
    await page.goto(`${mock.url}/#/settings`);
    await page.getByRole('button', { name: 'Edit file' }).click();
    const box = page.getByLabel('Configuration file', { exact: true });
    await page.getByText('Press Ctrl+Space for suggestions').waitFor(); // the schema is there
    await box.click();
    await focused(box);
    await box.press('Control+Home');
    await box.press('ArrowDown');
    await box.press('ArrowDown');
    await box.press('End');
    await page.keyboard.type('"keep');
    const list = page.getByRole('listbox', { name: 'Suggestions' });
    await list.getByRole('option', { name: /keepDays/ }).waitFor();
    await inspect(page, 'all');
    await page.keyboard.press('Enter');
    await list.waitFor({ state: 'detached' });
    await page.keyboard.type('7, "enabeld": true');
    await becomes(() => textOf(box), /"keepDays": 7, "enabeld": true/);
    await page.getByText('Did you mean “enabled”?').waitFor();
    await inspect(page, 'all');
    await page.keyboard.press('Control+z'); // what was proposed and taken can be undone
    await box.fill('{ "globalSettings": { "approveNewCommands": "maybe" } }');
    await page.getByText('must be one of: off, ask').waitFor();
  },
);

flow('a token is made and shown once', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/settings`);
  const tokens = page.getByRole('region', { name: 'Tokens' });
  await tokens.getByLabel('Client name').fill('my-script');
  await tokens.getByRole('button', { name: 'Create token' }).click();
  await tokens.getByText('dbr_made-for-the-mock').waitFor();
  await inspect(page, 'all');
});

flow('a token is made new only once its files are named', quiet, async (page, mock) => {
  let answer;
  const held = new Promise((done) => {
    answer = done;
  });
  await page.route('**/rotate', async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(`${mock.url}/#/settings`);
  await page.getByRole('button', { name: 'Rotate' }).first().click();
  const sure = page.getByRole('dialog').getByRole('button', { name: 'Rotate' });
  await becomes(() => sure.isEnabled(), false);
  answer();
  await page.getByRole('dialog').getByText('/home/ada/.cursor/mcp.json').waitFor();
  await becomes(() => sure.isEnabled(), true);
});

flow('a client is connected by hand, and an import is taken back', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/clients`);
  const row = page.getByRole('listitem').filter({ hasText: 'Cursor' });
  await row.getByRole('button', { name: 'Manual setup…' }).click();
  const link = row.getByRole('link', { name: 'Open in Cursor' });
  await becomes(() => link.getAttribute('href'), /^cursor:/);
  await inspect(page, 'all');
  await page.goto(`${mock.url}/#/add`);
  const taken = page.getByRole('region', { name: 'Earlier imports' });
  await taken.getByRole('button', { name: 'Undo' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('removed from the configuration').waitFor();
  await inspect(page, 'all');
  await dialog.getByRole('button', { name: 'Undo' }).click();
  await taken.waitFor({ state: 'detached' });
});

flow('a path that a README leaves open is chosen in a dialog', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/add`);
  await page
    .getByLabel('Paste a snippet, a command or an address')
    .fill('npx -y @modelcontextprotocol/server-filesystem /path/to/allowed/files');
  await page.getByText('looks like a placeholder').waitFor();
  await inspect(page, 'all');
  await page.getByRole('button', { name: 'Choose a folder…' }).click();
  await page.getByText('/home/ada/Documents', { exact: true }).waitFor();
  await page.getByText('looks like a placeholder').waitFor({ state: 'detached' });
});

flow('a server gets another name, and tags that find it', quiet, async (page, mock) => {
  mock.world.config.text = '{ "mcpServers": { "filesystem": { "command": "npx" } } }';
  await page.goto(`${mock.url}/#/servers/filesystem`);
  const more = page
    .getByRole('region', { name: 'filesystem' })
    .getByRole('button', { name: 'More actions' });
  await more.click();
  await page.getByRole('menuitem', { name: 'Tags' }).click();
  await page.getByRole('textbox', { name: 'Tags' }).fill('home, files, home');
  await inspect(page, 'all');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  const tags = () => JSON.parse(mock.world.config.text).mcpServers.filesystem.tags;
  await becomes(tags, ['home', 'files']);
  await page.getByText('Tags of filesystem saved.').waitFor();
  await page.getByRole('button', { name: 'Undo', exact: true }).click();
  await page.getByText('Saved and applied.').waitFor();
  await becomes(tags, undefined);
  await more.click();
  await page.getByRole('menuitem', { name: 'Rename' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('My files');
  const asked = page.waitForRequest((r) => r.url().endsWith('/servers/filesystem/rename'));
  await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click();
  assert.deepEqual((await asked).postDataJSON(), { name: 'My files' });
  await page.getByText('Renamed to My files.').waitFor();
  await page.goto(`${mock.url}/#/servers?q=work`);
  await page.getByRole('link', { name: 'GitHub' }).waitFor();
});

flow(
  'a part of the settings comes into view, and the frame stays where it is',
  quiet,
  async (page, mock) => {
    await page.goto(`${mock.url}/#/settings`);
    await page
      .getByRole('navigation', { name: 'Settings sections' })
      .getByRole('button')
      .last()
      .click();
    const last = page.getByRole('region', { name: 'Bug report' });
    const inView = (one) => one.getBoundingClientRect().bottom <= innerHeight;
    await becomes(() => last.evaluate(inView), true);
    assert.equal(await page.evaluate(() => document.scrollingElement.scrollTop), 0);
    const current = page
      .getByRole('navigation', { name: 'Settings sections' })
      .locator('[aria-current]');
    await becomes(() => current.innerText(), 'Bug report'); // where one is, is marked
    await page.getByRole('button', { name: 'Secrets', exact: true }).click();
    await becomes(() => current.innerText(), 'Secrets');
  },
);
