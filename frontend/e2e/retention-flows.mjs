// Record of calls, and what goes: nothing without a word where nothing brings it back.
import assert from 'node:assert/strict';
import { flow } from './flow.mjs';
import { inspect, settled } from './harness.mjs';
import { keep, textOf } from './waiting.mjs';

const quiet = { scene: 'full', rate: 0 };

/** Calls of so many days ago, beside those of today. */
function aged(mock, ...days) {
  const { calls } = mock.world;
  const old = calls.at(-1);
  for (const day of days)
    calls.push({ ...old, at: new Date(Date.now() - day * 86_400_000).toISOString() });
}

flow('the file is saved with less history only after a question', quiet, async (page, mock) => {
  aged(mock, 8, 9, 10);
  await page.goto(`${mock.url}/#/settings`);
  await settled(page, '/settings');
  await page.getByRole('button', { name: 'Edit file' }).click();
  const box = page.getByLabel('Configuration file', { exact: true });
  await box.waitFor();
  const file = mock.world.config.text;
  const narrow = file.replace('{', '{\n  "history": { "keepDays": 7 },');
  const dialog = page.getByRole('dialog', { name: 'Reduce the history?' });
  await box.fill(narrow);
  await box.press('Control+s');
  await dialog.getByText(/^3 of [\d,]+ calls exceed these limits/).waitFor();
  await dialog.getByText(/^Started between/).waitFor();
  await inspect(page, 'all');
  await keep(page);
  assert.equal(mock.world.config.text, file);
  assert.equal(await textOf(box), narrow); // what was typed is still there
  await box.press('Control+s');
  await dialog.getByRole('button', { name: 'Save and delete' }).click();
  await page.getByText('Saved and applied.').waitFor();
  await dialog.waitFor({ state: 'detached' });
  assert.equal(mock.world.config.text, narrow);
  // More is kept, or as much as before, without a word.
  const wide = narrow.replace('7', '70');
  await box.fill(wide);
  const written = page.waitForResponse((r) => r.request().method() === 'PUT');
  await box.press('Control+s');
  await written;
  assert.equal(mock.world.config.text, wide);
  assert.equal(await dialog.count(), 0);
});

flow('who cannot be told how many calls go is told that', quiet, async (page, mock) => {
  await page.route('**/api/v1/config/retention-preview', (route) =>
    route.fulfill({
      status: 503,
      contentType: 'application/problem+json',
      body: '{"status":503,"code":"unavailable","detail":"the history cannot be read"}',
    }),
  );
  await page.goto(`${mock.url}/#/settings`);
  await settled(page, '/settings');
  await page.getByRole('button', { name: 'Edit file' }).click();
  const box = page.getByLabel('Configuration file', { exact: true });
  await box.waitFor();
  await box.fill(`${mock.world.config.text}// mine\n`);
  await box.press('Control+s');
  const dialog = page.getByRole('dialog', { name: 'Reduce the history?' });
  await dialog.getByText(/Cannot count them: The history cannot be read/).waitFor();
  await dialog.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved and applied.').waitFor();
  assert.ok(mock.world.config.text.endsWith('// mine\n'));
});

flow('a copy that keeps less says so before it is put back', quiet, async (page, mock) => {
  aged(mock, 8, 9);
  mock.world.directory.copies[1].text = '{ "history": { "keepDays": 7 } }';
  await page.goto(`${mock.url}/#/settings`);
  await settled(page, '/settings');
  const old = page
    .getByRole('region', { name: 'Sharing', exact: true })
    .getByRole('list', { name: 'Configuration backups' })
    .getByRole('listitem')
    .nth(1);
  await old.getByRole('button', { name: /^View the backup/ }).press('Enter');
  const dialog = page.getByRole('dialog');
  await old.getByRole('button', { name: 'Restore' }).click();
  await dialog.getByText(/^2 of [\d,]+ calls exceed these limits/).waitFor();
  await inspect(page, 'all');
  await keep(page);
  assert.equal(mock.world.restored, undefined);
  await old.getByRole('button', { name: 'Restore' }).click();
  await dialog.getByRole('button', { name: 'Restore' }).click();
  await page.getByText('Backup restored.').waitFor();
});

flow('what is kept of one tool is chosen where its limits are', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/tools?tool=filesystem__write_file`);
  await page.getByRole('link', { name: 'Approval, limits, recording' }).click();
  await page.waitForURL(/servers\/filesystem\?view=tools/);
  const choice = page.getByLabel('Recording of write_file');
  const sent = () =>
    page.waitForRequest(
      (r) => r.method() === 'POST' && r.url().endsWith('/servers/filesystem/tools'),
    );
  let post = sent();
  await choice.selectOption({ label: 'Record: metadata' });
  assert.deepEqual((await post).postDataJSON(), { tool: 'write_file', set: { record: 'meta' } });
  await page.waitForFunction((of) => of.value === 'meta', await choice.elementHandle());
  await inspect(page, 'all');
  post = sent();
  await choice.selectOption({ label: 'Record: default' });
  assert.deepEqual((await post).postDataJSON(), { tool: 'write_file', set: { record: null } });
});
