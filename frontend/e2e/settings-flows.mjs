// The configuration editor, and limits that delete old calls. A new daemon has no old calls.
import assert from 'node:assert/strict';
import { changeResponse, refuse, suggestWhere } from './answers.mjs';
import { flow } from './flow.mjs';
import { inspect, settled } from './harness.mjs';
import { becomes, closeDialog, focused, pressDefault, textOf, until } from './waiting.mjs';

async function editor(page, daemon) {
  await page.goto(`${daemon.url}/#/configuration`);
  return openEditor(page, daemon);
}

async function openEditor(page, daemon) {
  await settled(page, '/configuration');
  await page.getByRole('button', { name: 'Edit file' }).click();
  const box = page.getByLabel('Configuration file', { exact: true });
  await becomes(() => textOf(box), await daemon.config());
  return box;
}

flow('the editor completes keys and reports errors while typing', 'full', async (page, daemon) => {
  await daemon.writeConfig('{\n  "history": {\n    \n  }\n}\n');
  const box = await editor(page, daemon);
  await page.getByText('Press Ctrl+Space for suggestions').waitFor(); // the schema is loaded
  await box.click();
  await focused(box);
  for (const key of ['Control+Home', 'ArrowDown', 'ArrowDown', 'End']) await box.press(key);
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
  await box.fill('{ "globalSettings": { "approveNewCommands": "maybe" } }');
  await page.getByText('must be one of: off, ask').waitFor();
  await box.fill('{');
  await page.getByText('Not valid JSON').waitFor();
});

flow('a file with an error opens at it, and says what is in use', 'full', async (page, daemon) => {
  const text = await daemon.config();
  await daemon.writeConfig(`${text.trimEnd().slice(0, -1)}${'\n'.repeat(100)}  "bridge": 5,\n}\n`);
  await page.goto(`${daemon.url}/#/configuration`);
  await page.getByText('The last valid version of the file stays in use.').waitFor();
  await page.getByRole('button', { name: 'Edit file' }).click();
  await page.locator('.cm-activeLine', { hasText: '"bridge": 5' }).waitFor();
  await page.locator('.cm-lintRange-error').filter({ visible: true }).waitFor();
  await inspect(page, 'all');
});

flow('leaving an edited file is confirmed', 'full', async (page, daemon) => {
  await page.goto(`${daemon.url}/#/calls`);
  await page.getByRole('link', { name: 'Settings', exact: true }).click();
  await page.getByRole('link', { name: 'Configuration file', exact: true }).click();
  const box = await openEditor(page, daemon);
  await box.press('Control+Home');
  await box.pressSequentially('// mine ');
  const still = () => becomes(() => textOf(box), /^\/\/ mine /);
  const question = page.getByRole('dialog', { name: 'Leave without saving?' });
  const stay = question.getByRole('button', { name: 'Keep editing' });
  await page.goBack();
  await stay.click();
  await question.waitFor({ state: 'detached' });
  await page.waitForURL(/#\/configuration/);
  await still();
  const [, told] = await Promise.all([
    page.reload({ timeout: 3000 }).catch(() => undefined),
    page.waitForEvent('dialog'),
  ]);
  assert.equal(told.type(), 'beforeunload');
  assert.deepEqual(page.troubles.splice(0), ['dialog: ']);
  await still();
  const servers = page.getByRole('link', { name: 'Servers', exact: true });
  await servers.click();
  await question.waitFor();
  await inspect(page, 'all');
  await closeDialog(page);
  await question.waitFor({ state: 'detached' });
  await still();
  await servers.click();
  await stay.press('Enter');
  await question.waitFor({ state: 'detached' });
  await servers.click();
  await question.getByRole('button', { name: 'Leave', exact: true }).press('Enter');
  await page.getByRole('heading', { name: 'Servers', level: 1 }).waitFor();
  await question.waitFor({ state: 'detached' });
  // Everything is saved.
  await page.getByRole('link', { name: 'Overview', exact: true }).click();
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  assert.equal(await question.count(), 0);
});

flow(
  'a file that reduces the history is saved after confirmation',
  'full',
  async (page, daemon) => {
    const box = await editor(page, daemon);
    const file = await daemon.config();
    const narrow = file.replace('{', '{\n  "history": { "keepDays": 7 },');
    const dialog = page.getByRole('dialog', { name: 'Delete older calls?' });
    await box.fill(narrow);
    await box.press('Control+s');
    await dialog.getByText(/^3 of [\d,]+ calls exceed these limits/).waitFor();
    await dialog.getByText(/^They started between/).waitFor();
    await inspect(page, 'all');
    await pressDefault(page);
    assert.equal(await daemon.config(), file);
    assert.equal(await textOf(box), narrow);
    await box.press('Control+s');
    await dialog.getByRole('button', { name: 'Save and delete' }).click();
    await page.getByText('Saved and applied.').waitFor();
    await dialog.waitFor({ state: 'detached' });
    assert.equal(await daemon.config(), narrow);
    // Higher limits delete nothing, so they are saved at once.
    const wide = narrow.replace('7', '70');
    await box.fill(wide);
    const written = page.waitForResponse((r) => r.request().method() === 'PUT');
    await box.press('Control+s');
    await written;
    assert.equal(await daemon.config(), wide);
    assert.equal(await dialog.count(), 0);
  },
);

flow('calls that cannot be counted do not prevent saving', 'full', async (page, daemon) => {
  await refuse(page, '**/api/v1/config/retention-preview', 503, 'the history cannot be read');
  const box = await editor(page, daemon);
  await box.fill(`${await daemon.config()}// mine\n`);
  await box.press('Control+s');
  const dialog = page.getByRole('dialog', { name: 'Delete older calls?' });
  await dialog.getByText(/Cannot count them: The history cannot be read/).waitFor();
  await dialog.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved and applied.').waitFor();
  assert.ok((await daemon.config()).endsWith('// mine\n'));
});

flow('a section of the settings scrolls into view', 'full', async (page, daemon) => {
  await page.goto(`${daemon.url}/#/settings`);
  const sections = page.getByRole('navigation', { name: 'Settings sections' });
  await sections.getByRole('button').last().click();
  const last = page.getByRole('region', { name: 'Bug report' });
  const inView = (one) => one.getBoundingClientRect().bottom <= innerHeight;
  await becomes(() => last.evaluate(inView), true);
  assert.equal(await page.evaluate(() => document.scrollingElement.scrollTop), 0);
  const current = sections.locator('[aria-current]');
  await becomes(() => current.innerText(), 'Bug report');
  await page.getByRole('button', { name: 'Secrets', exact: true }).click();
  await becomes(() => current.innerText(), 'Secrets');
});

flow('a token is rotated only after its files are named', 'full', async (page, daemon) => {
  let answer;
  const held = new Promise((done) => {
    answer = done;
  });
  await page.route('**/rotate', async (route) => {
    await held;
    await route.continue();
  });
  await daemon.api('POST', '/connections/cursor/connect', { http: true });
  await page.goto(`${daemon.url}/#/clients`);
  const token = page.getByRole('listitem').filter({ hasText: /^cursor/ });
  await token.getByRole('button', { name: 'Rotate' }).click();
  const sure = page.getByRole('dialog').getByRole('button', { name: 'Rotate' });
  await becomes(() => sure.isEnabled(), false);
  answer();
  await page.getByRole('dialog').getByText('.cursor/mcp.json').waitFor();
  await becomes(() => sure.isEnabled(), true);
});

const ruled = `{
  "policy": {
    "rules": [
      // Nothing outside.
      {"tool": "filesystem__write_file", "where": {"/path": {"notUnder": "\${workspaceFolder}"}}, "then": "deny"},
      {"tool": "github__*", "then": "ask", "because": "It is public."}
    ]
  }
}
`;

/** Makes the numbers of a trial known. */
const tried = (page) =>
  changeResponse(page, '**/policy/try', (trial) => {
    Object.assign(trial, { asked: 12, denied: 3, profileUnknown: 7 });
    trial.decisions = trial.decisions.filter(({ tool }) => tool === 'write_file').slice(0, 2);
  });

flow('rules are tried on the history before they are saved', 'full', async (page, daemon) => {
  await daemon.writeConfig(ruled);
  await daemon.api('POST', '/config/reload', { confirm: '*' }); // it has no servers
  await tried(page);
  await page.goto(`${daemon.url}/#/approvals`);
  const panel = page.getByRole('region', { name: 'Argument rules' });
  await panel.getByText('filesystem__write_file when path is not in ${workspaceFolder}').waitFor();
  await panel.getByRole('button', { name: 'Move rule 2 up' }).press('Enter');
  await panel.getByRole('button', { name: 'Test against history' }).press('Enter');
  await panel.getByText('12 would have needed approval and 3 would have been denied').waitFor();
  await panel.getByText('7 calls may have used a profile').waitFor();
  await panel.getByText('Showing the newest 2.').waitFor();
  // Both have the same arguments.
  await panel.getByRole('link', { name: /^path: / }).waitFor();
  await panel.getByText('× 2').waitFor();
  await inspect(page, 'all');
  assert.equal(await daemon.config(), ruled);
  await panel.getByRole('button', { name: 'Save rules' }).click();
  await page.getByText('Rules saved.').waitFor();
  const text = await daemon.config();
  assert(text.indexOf('github__*') < text.indexOf('filesystem__write_file'), text);
  await page.getByRole('button', { name: 'Undo' }).click();
  await becomes(daemon.config, ruled);
  await panel.getByRole('button', { name: 'Edit rule 1' }).press('Enter');
  await panel.getByLabel('path is not in').fill('/srv');
  await panel.getByLabel('Reason (optional)').fill('Ours.');
  await panel.getByRole('combobox', { name: 'Action' }).selectOption('ask');
  await panel.getByText('filesystem__write_file when path is not in /srv').waitFor();
  await inspect(page, 'all');
  await panel.getByRole('button', { name: 'Save rules' }).click();
  await becomes(
    daemon.config,
    ruled.replace('${workspaceFolder}', '/srv').replace('"deny"}', '"ask", "because": "Ours."}'),
  );
  await page.getByRole('button', { name: 'Undo' }).first().click();
  await becomes(daemon.config, ruled);
  await panel.getByRole('button', { name: 'Edit rule 1' }).press('Enter');
  await panel.getByRole('button', { name: 'Edit as text' }).click();
  const box = panel.getByLabel('Rules', { exact: true });
  await box.fill('[{ "tool": "a__b", "then": "maybe" }]');
  await panel.getByText('Line 1: “0.then” must be one of: allow, ask, deny').waitFor();
  await box.fill('[ 1'); // a single bracket would be put around the selected text
  await panel.getByText('Not valid JSON: line 1, column 4.').waitFor();
  await inspect(page, 'all');
  await panel.getByRole('button', { name: 'Discard' }).click();
  await panel.getByRole('button', { name: 'Save rules' }).waitFor({ state: 'detached' });
});

flow('a rule is made from a call', 'full', async (page, daemon) => {
  await daemon.writeConfig(ruled);
  await daemon.api('POST', '/config/reload', { confirm: '*' }); // it has no servers
  await tried(page);
  await suggestWhere(page);
  const [call] = await daemon.items('/calls?tool=write_file&limit=1');
  await page.goto(`${daemon.url}/#/calls/${call.id}`);
  await page.getByRole('button', { name: 'Create rule' }).press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Create a rule from this call' });
  await dialog.getByText('path is in /home/ada/projects').waitFor();
  await dialog.getByText(/^The new rule would have decided \d+ of/).waitFor();
  await dialog.getByLabel('mode matches the pattern overwrite').uncheck();
  await dialog.getByLabel('Action').selectOption('deny');
  await dialog.getByText('Edit values').press('Enter');
  await dialog.getByRole('textbox', { name: 'path is in' }).fill('/home/ada');
  await dialog.getByRole('textbox', { name: 'path is in' }).press('Enter');
  await dialog.getByText('path is in /home/ada', { exact: true }).waitFor();
  await inspect(page, 'all');
  await dialog.getByRole('button', { name: 'Save rules' }).click();
  await page.getByText('Rules saved.').waitFor();
  assert.match(
    await daemon.config(),
    /"rules": \[\s*\{\s+"tool": "filesystem__write_file",\s+"where": \{\s+"\/path": \{\s+"under": "\/home\/ada"\s+\}\s+\},\s+"then": "deny"\s+\},\s+\/\/ Nothing/,
  );
  await page.getByRole('button', { name: 'Undo' }).click();
  await becomes(daemon.config, ruled);
});

flow(
  'an option of the settings is written to the file, and undone',
  'full',
  async (page, daemon) => {
    await page.goto(`${daemon.url}/#/settings`);
    const before = await daemon.config();
    const general = page.getByRole('region', { name: 'General' });
    await general.getByRole('switch', { name: 'Desktop notifications' }).click();
    await until(
      async () => (await daemon.config()).includes('"notifications": false'),
      'the option is written',
    );
    await page.getByRole('button', { name: 'Undo' }).click();
    await becomes(daemon.config, before);
    const timeout = general.getByLabel('Call timeout (seconds)');
    await timeout.fill('90');
    await timeout.press('Enter');
    await until(
      async () => (await daemon.config()).includes('"timeout": 90000'),
      'the timeout is written',
    );
    assert.match(await daemon.config(), /\/\/ Everything Drawbridge runs/);
  },
);

flow('a refused option stays in its field with the reason', 'full', async (page, daemon) => {
  await page.goto(`${daemon.url}/#/settings`);
  const before = await daemon.config();
  const general = page.getByRole('region', { name: 'General' });
  const timeout = general.getByLabel('Call timeout (seconds)');
  for (const bad of ['-5', '0']) {
    await timeout.fill(bad);
    await timeout.press('Enter');
    await general.getByText('Enter a number greater than 0').waitFor();
    assert.equal(await timeout.inputValue(), bad);
  }
  await inspect(page, 'all');
  await timeout.fill('');
  await timeout.press('Enter');
  await becomes(() => general.getByText('Enter a number greater than 0').count(), 0);
  await page.getByText(/^Metrics, address/).click();
  const advanced = page.getByRole('region', { name: 'Advanced' });
  const listen = advanced.getByLabel('Address and port');
  await listen.fill('127.0.0.1:999999');
  await listen.press('Enter');
  await advanced.getByText(/a port from 0 to 65535/).waitFor();
  assert.equal(await advanced.getByText(/config\.jsonc|would be invalid/).count(), 0);
  assert.equal(await page.locator('[data-sonner-toast]').count(), 0);
  assert.equal(await listen.inputValue(), '127.0.0.1:999999');
  await listen.fill('127.0.0.1:7576');
  await becomes(() => advanced.getByText(/a port from 0 to 65535/).count(), 0);
  assert.equal(await daemon.config(), before);
  await listen.press('Enter');
  await page.getByText('Saved. Restart Drawbridge to apply it.').waitFor();
  const days = page.getByLabel('Retention (days)');
  for (const bad of ['-5', 'abc', '7.5', '1e9', '']) {
    await days.fill(bad);
    await page.getByText('Enter a whole number from 0 to 36500.').waitFor();
    assert.equal(await days.getAttribute('aria-invalid'), 'true');
  }
  await inspect(page, 'all');
  await days.fill('30');
  await becomes(() => page.getByText(/^Enter a whole number/).count(), 0);
});

flow('a secret that a server misses is set from its row', 'full', async (page, daemon) => {
  const server = '"mcpServers": { "odd": { "command": "npx", "env": { "K": "${secret:tok}" } },';
  await daemon.writeConfig((await daemon.config()).replace('"mcpServers": {', server));
  await page.goto(`${daemon.url}/#/settings`);
  await page.getByRole('button', { name: 'Set tok…' }).press('Enter');
  const panel = page.getByRole('region', { name: 'Secrets' });
  assert.equal(await panel.getByLabel('Name', { exact: true }).inputValue(), 'tok');
  const value = panel.getByLabel('Value', { exact: true });
  await focused(value);
  await value.fill('v1');
  await inspect(page, 'all');
  await value.press('Enter');
  await page.getByText('tok saved.').waitFor();
  await becomes(() => panel.getByText('required, not set').count(), 0);
});

flow(
  'the editor of the file shows that it cannot be saved, without scrolling',
  'full',
  async (page, daemon) => {
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto(`${daemon.url}/#/configuration`);
    await page.getByRole('button', { name: 'Edit file' }).click();
    const editor = page.getByRole('textbox', { name: 'Configuration file' });
    await editor.click();
    await page.keyboard.press('Control+Home');
    await page.keyboard.type('// mine\n');
    await daemon.writeConfig(`${await daemon.config()}// theirs\n`);
    const notice = page.getByText('The file was changed elsewhere.');
    await notice.waitFor();
    await page.evaluate(() => {
      const box = document.querySelector('.cm-editor');
      box.closest('.scroll-area').scrollBy(0, box.getBoundingClientRect().top - 300);
    });
    await page.keyboard.press('Control+s');
    for (const part of [notice, page.getByRole('button', { name: 'Save', exact: true }).last()])
      await becomes(
        () =>
          part.evaluate((element) => {
            const { top, bottom, left } = element.getBoundingClientRect();
            return (
              bottom <= innerHeight &&
              element.contains(document.elementFromPoint(left + 3, (top + bottom) / 2))
            );
          }),
        true,
      );
    await inspect(page, 'all');
    // The cursor is never behind the buttons.
    for (let line = 0; line < 30; line++) await page.keyboard.press('ArrowDown');
    await becomes(
      () =>
        page.locator('.cm-activeLine').evaluate((element) => {
          const { top, bottom, left } = element.getBoundingClientRect();
          return (
            document.elementFromPoint(left + 3, (top + bottom) / 2)?.closest('.cm-line') === element
          );
        }),
      true,
    );
    assert.equal(await page.getByRole('button', { name: /^Discard/ }).count(), 1);
    await page.getByRole('button', { name: 'Discard changes', exact: true }).click();
    await editor.getByText('// theirs').waitFor();
  },
);
