// What destroys something: taken back with a click where that can be, else asked about, and
// the question names what is lost.
import assert from 'node:assert/strict';
import { flow } from './flow.mjs';
import { inspect } from './harness.mjs';
import { becomes, keep, leave } from './waiting.mjs';

const quiet = { scene: 'full', rate: 0 };

flow(
  'a note that somebody changed is shown before it is overwritten',
  quiet,
  async (page, mock) => {
    const call = mock.world.calls.find((c) => c.outcome === 'ok');
    call.note = { title: 'First', note: '', tags: [] };
    await page.goto(`${mock.url}/#/calls/${call.id}`);
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    const title = page.getByLabel('Title');
    await title.fill('Mine');
    call.note = { title: 'Theirs', note: 'Look at line 4.', tags: ['kept'] };
    const save = page.getByRole('button', { name: 'Save', exact: true });
    await save.click();
    await page.getByText('This note was changed elsewhere.').waitFor();
    await page.getByText('Look at line 4.').waitFor();
    await becomes(() => title.inputValue(), 'Mine'); // nothing that was typed is lost either
    await becomes(() => save.isEnabled(), false);
    assert.equal(call.note.title, 'Theirs');
    await inspect(page, 'all');
    await page.getByRole('button', { name: 'Overwrite' }).click();
    await page.getByText('Note saved.').waitFor();
    assert.equal(call.note.title, 'Mine');
    await page.getByRole('button', { name: 'Undo', exact: true }).click();
    await page.getByText('Look at line 4.').waitFor();
    await becomes(() => call.note, { title: 'Theirs', note: 'Look at line 4.', tags: ['kept'] });
    // An emptied note is gone, and comes back.
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await title.fill('');
    await page.getByLabel('Note', { exact: true }).fill('');
    await page.getByRole('button', { name: 'Remove the tag kept' }).click();
    await save.click();
    await page.getByText('Note deleted.').waitFor();
    assert.equal(call.note, undefined);
    await page.getByRole('button', { name: 'Undo', exact: true }).press('Enter');
    await page.getByText('Look at line 4.').waitFor();
  },
);

flow('less is kept only after how many calls go was said', quiet, async (page, mock) => {
  const { calls } = mock.world;
  const old = calls.at(-1);
  for (let day = 8; day < 11; day++)
    calls.push({ ...old, at: new Date(Date.now() - day * 86_400_000).toISOString() });
  await page.goto(`${mock.url}/#/settings`);
  const recording = page.getByRole('region', { name: 'Recording' });
  const days = recording.getByLabel('Retention (days)');
  const save = recording.getByRole('button', { name: 'Save' });
  const dialog = page.getByRole('dialog');
  await days.fill('7');
  await save.click();
  await dialog.getByText(/^3 of [\d,]+ calls exceed these limits/).waitFor();
  await dialog.getByText(/^Started between/).waitFor();
  await inspect(page, 'all');
  await keep(page);
  assert.doesNotMatch(mock.world.config.text, /keepDays/);
  await becomes(() => days.inputValue(), '7'); // what was typed is still there
  await save.click();
  await dialog.getByRole('button', { name: 'Save and delete' }).click();
  await page.getByText('Saved and applied.').waitFor();
  assert.match(mock.world.config.text, /"keepDays": 7/);
  // A size is an estimate, and says so.
  await recording.getByLabel('Maximum size (MB)').fill('1');
  await save.click();
  await dialog.getByText(/^About [\d,]+ of/).waitFor();
  await leave(page);
  assert.doesNotMatch(mock.world.config.text, /maxBytes/);
  // More is kept without a word.
  await recording.getByLabel('Maximum size (MB)').fill('0');
  await save.click();
  await becomes(() => mock.world.config.text, /"maxBytes": 0/);
  assert.equal(await dialog.count(), 0);
});

flow('a rule that was removed comes back', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/settings`);
  const rules = () => mock.world.history.recording.rules;
  const before = structuredClone(rules());
  await page
    .getByRole('button', { name: 'Remove the rule for Postgres (staging) / query' })
    .click();
  await page.getByText('Rule for Postgres (staging) / query removed.').waitFor();
  await becomes(rules, []);
  await page.getByRole('button', { name: 'Undo', exact: true }).click();
  await page
    .getByRole('button', { name: 'Remove the rule for Postgres (staging) / query' })
    .waitFor();
  await becomes(rules, before);
});

flow('an entry is forgotten only after what that loses was said', quiet, async (page, mock) => {
  const cursor = mock.world.connections.find((c) => c.key === 'cursor');
  Object.assign(cursor, { state: 'vanished', connected: false });
  await page.goto(`${mock.url}/#/clients`);
  const row = page
    .getByRole('region', { name: 'Installed clients' })
    .getByRole('listitem')
    .filter({ hasText: 'Cursor' });
  const dialog = page.getByRole('dialog');
  await row.getByRole('button', { name: 'Stop tracking' }).click();
  await dialog.getByText('can no longer restore the original').waitFor();
  await dialog.getByText(cursor.path).waitFor();
  await inspect(page, 'all');
  await keep(page);
  assert.equal(cursor.state, 'vanished');
  await row.getByRole('button', { name: 'Stop tracking' }).click();
  await dialog.getByRole('button', { name: 'Stop tracking' }).click();
  await row.getByText('Not connected').waitFor();
});

flow('what was typed into a profile and given up comes back', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/profiles/office`);
  const about = page.getByLabel('Description', { exact: true });
  await about.fill('Half a thought');
  await page.getByRole('button', { name: 'Discard changes' }).click();
  await page.getByText('Your input was discarded.').waitFor();
  await becomes(() => about.inputValue(), 'What the day job needs');
  await page.getByRole('button', { name: 'Undo', exact: true }).click();
  await becomes(() => about.inputValue(), 'Half a thought');
  await inspect(page);
});
