// What was typed and not saved is not lost by leaving without a question.
import assert from 'node:assert/strict';
import { flow } from './flow.mjs';
import { inspect } from './harness.mjs';
import { becomes, textOf } from './waiting.mjs';

const quiet = { scene: 'full', rate: 0 };
const question = (page) => page.getByRole('dialog', { name: 'Leave without saving?' });

/** Tries to leave by a link of the navigation; stays once, then goes. */
async function asked(page, still) {
  const servers = page.getByRole('link', { name: 'Servers', exact: true });
  const dialog = question(page);
  await servers.click();
  await dialog.waitFor();
  await inspect(page, 'all');
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await still();
  await servers.click();
  await dialog.getByRole('button', { name: 'Keep editing' }).press('Enter');
  await dialog.waitFor({ state: 'detached' });
  await still();
  await servers.click();
  await dialog.getByRole('button', { name: 'Leave', exact: true }).press('Enter');
  await page.waitForURL(/#\/servers/);
  await page.getByRole('heading', { name: 'Servers', level: 1 }).waitFor();
  await dialog.waitFor({ state: 'detached' });
}

flow('an edit of the file is not left without a question', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/calls`);
  await page.getByRole('link', { name: 'Settings', exact: true }).click();
  await page.getByRole('button', { name: 'Edit file' }).click();
  const editor = page.getByRole('textbox', { name: 'Configuration file' });
  await becomes(() => textOf(editor), mock.world.config.text);
  await editor.press('Control+Home');
  await editor.pressSequentially('// mine ');
  const still = () => becomes(() => textOf(editor), /^\/\/ mine /);
  // The way back of the browser asks as well, and stays where it was.
  await page.goBack();
  await question(page).getByRole('button', { name: 'Keep editing' }).click();
  await question(page).waitFor({ state: 'detached' });
  await page.waitForURL(/#\/settings/);
  await still();
  // So does the browser before the page is loaded anew.
  const [, told] = await Promise.all([
    page.reload({ timeout: 3000 }).catch(() => undefined),
    page.waitForEvent('dialog'),
  ]);
  assert.equal(told.type(), 'beforeunload');
  page.troubles.length = 0;
  await still();
  await asked(page, still);
  // Nothing is unsaved any more, so nothing is asked.
  await page.getByRole('link', { name: 'Settings', exact: true }).click();
  await page.getByRole('button', { name: 'Edit file' }).click();
  await page.getByRole('link', { name: 'Overview', exact: true }).click();
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  assert.equal(await question(page).count(), 0);
});

flow('an edit of a profile is not left without a question', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/profiles/office`);
  const about = page.getByLabel('Description', { exact: true });
  await about.fill('Half a thought');
  const still = () => becomes(() => about.inputValue(), 'Half a thought');
  await page.getByRole('button', { name: 'Close', exact: true }).click();
  await question(page).getByRole('button', { name: 'Keep editing' }).click();
  await question(page).waitFor({ state: 'detached' });
  await still();
  await asked(page, still);
  // Saving a new one leads on without a question.
  await page.goto(`${mock.url}/#/profiles?make=1`);
  await page.getByLabel('Name', { exact: true }).fill('letters');
  await page.getByRole('button', { name: 'Save profile' }).click();
  await page.waitForURL(/#\/profiles\/letters/);
  assert.equal(await question(page).count(), 0);
});

flow('a rule and a note that are half typed are asked about', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/settings`);
  const tool = page.getByLabel('Tool (empty: all)');
  await tool.fill('read_file');
  await asked(page, () => becomes(() => tool.inputValue(), 'read_file'));
  await page.goto(`${mock.url}/#/calls/${mock.world.calls.find((c) => c.outcome === 'ok').id}`);
  await page.getByRole('button', { name: /^(Add a note|Edit)$/ }).click();
  const note = page.getByRole('textbox', { name: 'Note' });
  await note.fill('Half a thought');
  await asked(page, () => becomes(() => note.inputValue(), 'Half a thought'));
});
