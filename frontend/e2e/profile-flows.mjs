// What the user does with profiles, and with tools that nobody uses.
import assert from 'node:assert/strict';
import { flow } from './flow.mjs';
import { inspect, settled } from './harness.mjs';
import { becomes, leave, live } from './waiting.mjs';

const quiet = { scene: 'full', rate: 0 };
const saved = (mock, name) => mock.world.profiles.items.find((p) => p.name === name)?.entry;

flow('a profile is made by keyboard, used by a client and deleted', quiet, async (page, mock) => {
  mock.world.profiles.items.length = 0;
  mock.world.profiles.clients.length = 0;
  await page.goto(`${mock.url}/#/profiles`);
  await page.getByText('A profile is a named set of servers and tools').waitFor();
  await page.getByRole('link', { name: 'New profile' }).press('Enter');
  const save = page.getByRole('button', { name: 'Save profile' });
  const name = page.getByLabel('Name', { exact: true });
  await name.fill('not a name');
  await page.getByText('Use at most 32 letters').waitFor();
  await becomes(() => save.isEnabled(), false);
  await name.fill('writing');
  await page.getByLabel('Description', { exact: true }).fill('For letters');
  await page.getByRole('button', { name: 'All: filesystem' }).press('Enter');
  await page.getByRole('checkbox', { name: /^move_file/ }).press('Space');
  await page.getByLabel('Search servers and tools').fill('search_issues');
  await page.getByRole('checkbox', { name: /^search_issues/ }).press('Space');
  await page.getByText(/This profile takes ~[\d,]+ tokens: saves/).waitFor();
  await page.getByRole('radio', { name: /^Deferred/ }).press('Space');
  await inspect(page, 'all');
  await save.press('Enter');
  await page.waitForURL(/#\/profiles\/writing/);
  await becomes(() => saved(mock, 'writing'), {
    description: 'For letters',
    servers: {
      filesystem: { excludeTools: ['move_file'] },
      github: { includeTools: ['search_issues'] },
    },
    toolMode: 'deferred',
  });
  await page.getByText(`${mock.world.status().url}/p/writing/mcp`, { exact: true }).waitFor();
  const use = page.getByRole('group', { name: 'Clients restricted to this profile' });
  const client = use.getByRole('checkbox').first();
  await client.press('Space');
  await use.getByRole('checkbox', { checked: true }).waitFor();
  // The page shows what was chosen before the daemon has it.
  await becomes(() => mock.world.profiles.clients[0]?.profile, 'writing');
  await inspect(page, 'all');
  const remove = page.getByRole('button', { name: 'Delete profile' });
  await remove.press('Enter');
  const dialog = page.getByRole('dialog');
  await dialog.getByText(/uses this profile. Choose another/).waitFor();
  const sure = dialog.getByRole('button', { name: 'Delete profile' });
  await becomes(() => sure.isDisabled(), true);
  assert.ok(saved(mock, 'writing'));
  await leave(page);
  await client.press('Space');
  await page.waitForFunction(
    () => !document.querySelector('fieldset input:checked[type=checkbox]'),
  );
  await becomes(() => mock.world.profiles.clients[0]?.profile ?? '', '');
  await remove.press('Enter');
  await becomes(() => sure.isEnabled(), true);
  await sure.press('Enter');
  await page.getByText('No profiles yet').waitFor();
  await becomes(() => mock.world.profiles.items.length, 0);
});

flow(
  'a profile shows what is wrong at its field, and overwrites nothing',
  quiet,
  async (page, mock) => {
    await page.goto(`${mock.url}/#/profiles/office`);
    await live(page);
    const folders = page.getByLabel('Folders');
    await folders.fill('office');
    const save = page.getByRole('button', { name: 'Save profile' });
    await save.click();
    await page.getByText("'folders' must hold absolute paths", { exact: true }).waitFor();
    await becomes(() => folders.getAttribute('aria-invalid'), 'true');
    await inspect(page, 'all');
    // Somebody edits the file while the user types.
    saved(mock, 'office').description = 'Changed elsewhere';
    mock.send('config', { applied: true });
    await page.getByText('This profile was changed in the configuration file.').waitFor();
    await becomes(() => save.isEnabled(), false);
    await becomes(() => folders.inputValue(), 'office');
    await page.getByRole('button', { name: 'Reload' }).click();
    await becomes(
      () => page.getByLabel('Description', { exact: true }).inputValue(),
      'Changed elsewhere',
    );
    await becomes(() => folders.inputValue(), '');
    // Without changes of the user's the newest is shown by itself.
    saved(mock, 'office').description = 'Once more';
    mock.send('config', { applied: true });
    await becomes(() => page.getByLabel('Description', { exact: true }).inputValue(), 'Once more');
    // Gone from the file: said, and not made anew.
    await page.getByLabel('Description', { exact: true }).fill('Mine');
    mock.world.profiles.items.splice(0, 1);
    mock.send('config', { applied: true });
    await page.getByText('removed from the configuration file').waitFor();
    await becomes(() => save.isEnabled(), false);
  },
);

flow('what is chosen while a profile is saved is not lost', quiet, async (page, mock) => {
  let answer;
  const held = new Promise((done) => {
    answer = done;
  });
  await page.route('**/profiles/office', async (route) => {
    const response = await route.fetch();
    await held;
    await route.fulfill({ response });
  });
  await page.goto(`${mock.url}/#/profiles/office`);
  const about = page.getByLabel('Description', { exact: true });
  await about.fill('First');
  await page.getByRole('button', { name: 'Save profile' }).click();
  await becomes(() => saved(mock, 'office').description, 'First');
  await about.fill('Second');
  answer();
  await page.getByText('Profile office saved.').waitFor();
  await becomes(() => about.inputValue(), 'Second');
  await page.getByRole('button', { name: 'Save profile' }).click();
  await becomes(() => saved(mock, 'office').description, 'Second');
});

flow('unused tools are hidden in one click and come back', quiet, async (page, mock) => {
  const { calls } = mock.world;
  calls.splice(0, calls.length, ...calls.filter((c) => c.server !== 'github'));
  await page.goto(`${mock.url}/#/tools`);
  const all = mock.world.tools.length;
  await page.getByRole('button', { name: /^Hide \d+ tools \(saves ~/ }).press('Enter');
  await page.getByText(/tools hidden, saving/).waitFor();
  await becomes(() => mock.world.tools.length < all, true);
  await inspect(page, 'all');
  await page.getByRole('button', { name: 'Undo' }).press('Enter');
  await page.getByRole('button', { name: /^Hide \d+ tools \(saves ~/ }).waitFor();
  await becomes(() => mock.world.tools.length, all);
  // In a profile they are taken out of it alone, and kept with Save.
  await page.goto(`${mock.url}/#/profiles/all-but-writing`);
  const before = page.getByText(/^(\d+) of \1 tools$/).first();
  await before.waitFor();
  await page.getByRole('button', { name: /^Remove \d+ unused tools/ }).press('Enter');
  await page.getByText(/tools? removed; save to apply/).waitFor();
  await inspect(page, 'all');
  await page.getByRole('button', { name: 'Undo' }).press('Enter');
  await before.waitFor();
  await page.getByRole('button', { name: /^Remove \d/ }).press('Enter');
  await page.getByRole('button', { name: 'Save profile' }).press('Enter');
  await page.getByText('Profile all-but-writing saved.').waitFor();
  assert.ok(saved(mock, 'all-but-writing').servers);
});

flow(
  'a client gets a profile and a way to list tools on the page Clients',
  quiet,
  async (page, mock) => {
    await page.goto(`${mock.url}/#/clients`);
    await settled(page, '/clients');
    await page.getByLabel('Profile of cursor').selectOption('all-but-writing');
    await page.waitForFunction(
      () => document.querySelector('[aria-label="Profile of cursor"]').value === 'all-but-writing',
    );
    await page.getByLabel('Tool listing for cursor').selectOption('search');
    await page.waitForFunction(
      () => document.querySelector('[aria-label="Tool listing for cursor"]').value === 'search',
    );
    // The page shows what was chosen before the daemon has it.
    await becomes(() => mock.world.profiles.clients.find((c) => c.token === 'cursor'), {
      token: 'cursor',
      profile: 'all-but-writing',
      toolMode: 'search',
    });
    await page.getByLabel('Profile of cursor').selectOption('');
    await page.waitForFunction(
      () => document.querySelector('[aria-label="Profile of cursor"]').value === '',
    );
    await inspect(page, 'all');
  },
);

flow(
  'a profile of two thousand tools is chosen by search',
  { scene: 'full', rate: 0 },
  async (page, mock) => {
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
    await page
      .getByText(/^0 of 20\d\d tools$/)
      .first()
      .waitFor();
    await becomes(async () => (await page.getByRole('checkbox').count()) < 80, true);
    await page.getByLabel('Search servers and tools').fill('tool_199');
    await page.waitForFunction(
      () => document.querySelectorAll('.scroll-area li input[type=checkbox]').length === 11,
    ); // the search follows the typing after a moment
    await page.getByRole('button', { name: 'All: many' }).click();
    await page
      .getByText(/^11 of 20\d\d tools$/)
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Save profile' }).click();
    await page.getByText('Profile all-but-writing saved.').waitFor();
    assert.equal(saved(mock, 'all-but-writing').servers.many.includeTools.length, 11);
  },
);
