// What the user does with saved checks, and with a backup.
import assert from 'node:assert/strict';
import { flow } from './flow.mjs';
import { inspect, settled } from './harness.mjs';
import { becomes, focused, keep, leave } from './waiting.mjs';

const quiet = { scene: 'full', rate: 0 };
const item = (page, name) =>
  page
    .getByRole('main')
    .getByRole('listitem')
    .filter({ has: page.getByRole('heading', { name }) });

/** Lets the daemon answer only once what is returned is called. */
function hold(world) {
  let answer;
  world.held = new Promise((done) => {
    answer = done;
  });
  return answer;
}

flow(
  'a check is made of a call, run, seen to fail and removed, by keyboard',
  { scene: 'full', rate: 0 },
  async (page, mock) => {
    mock.world.checks.length = 0;
    const call = mock.world.calls.find((c) => c.outcome === 'ok' && c.tool === 'list_directory');
    await page.goto(`${mock.url}/#/calls/${call.id}`);
    await page.getByRole('button', { name: 'Save as check' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    const name = dialog.getByLabel('Name');
    await focused(name);
    await inspect(page, 'all');
    await leave(page); // nothing is saved, and the call stays open
    assert.match(page.url(), new RegExp(call.id));
    await page.getByRole('button', { name: 'Save as check' }).focus();
    await page.keyboard.press('Enter');
    await focused(name);
    await page.keyboard.type('my list'); // over the name that was suggested
    await becomes(() => name.inputValue(), 'my list');
    await becomes(() => dialog.getByRole('button', { name: 'Save check' }).isEnabled(), false);
    await name.fill('my-list');
    await dialog.getByLabel('Result contains').fill('not in any result');
    await dialog.getByRole('checkbox', { name: 'Result equals' }).press('Space');
    await dialog.getByLabel('Maximum duration (ms)').fill('5000');
    await dialog.getByLabel('Maximum duration (ms)').press('Enter');
    await page.waitForURL(/#\/checks/);
    const [saved] = mock.world.checks;
    assert.equal(saved.name, 'my-list');
    assert.match(saved.steps[0].arguments, /9007199254740993/); // no digit is lost
    assert.deepEqual(saved.steps[0].expect.contains, ['not in any result']);
    assert.equal(saved.steps[0].expect.maxTookNs, 5e9);
    const check = item(page, 'my-list');
    await check.getByText('Not run yet').waitFor();
    const answer = hold(mock.world);
    await check.getByRole('button', { name: 'Run my-list' }).press('Enter');
    await page.getByText(/Running…/).waitFor();
    await inspect(page, 'all');
    answer();
    await check.getByText('text 1 of those expected is not in the result').waitFor();
    await check.getByText(/Failed · .* · run manually/).waitFor();
    await check.getByRole('button', { name: 'Expected results: my-list' }).press('Enter');
    await check.getByText('Contains “not in any result”').waitFor();
    await inspect(page, 'all');
    await check.getByRole('link', { name: 'Open the call' }).press('Enter');
    await page.waitForURL(/#\/calls\/\d+/);
    await page.goBack();
    await check.getByText('text 1 of those expected is not in the result').waitFor(); // still there
    await check.getByRole('button', { name: 'Remove my-list' }).press('Enter');
    await keep(page);
    assert.equal(mock.world.checks.length, 1);
    await check.getByRole('button', { name: 'Remove my-list' }).press('Enter');
    await dialog.getByRole('button', { name: 'Remove' }).press('Enter');
    await page.getByRole('heading', { name: 'No saved checks' }).waitFor();
    assert.equal(mock.world.checks.length, 0);
    await inspect(page, 'all');
  },
);

flow('a check is made of some calls of a session', quiet, async (page, mock) => {
  const usable = (c) => c.outcome !== '' && c.method === 'tools/call';
  const { session } = mock.world.calls.find(
    (call, at) =>
      usable(call) &&
      mock.world.calls.slice(at + 1).some((c) => usable(c) && c.session === call.session),
  );
  await page.goto(`${mock.url}/#/sessions/${encodeURIComponent(session)}`);
  await page.getByRole('button', { name: 'Save as check' }).click();
  const next = page.getByRole('button', { name: 'Next' });
  await becomes(() => next.isEnabled(), false);
  const boxes = page.getByRole('checkbox');
  await boxes.nth(0).press('Space');
  await boxes.nth(1).check();
  await page.getByText('2 selected').waitFor();
  await inspect(page, 'all');
  await next.click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('two-of-them');
  await dialog.getByLabel('Run automatically').selectOption('off');
  await inspect(page, 'all');
  await dialog.getByRole('button', { name: 'Save check' }).click();
  await item(page, 'two-of-them')
    .getByText(/2 calls · never runs automatically/)
    .waitFor();
  const told = mock.world.calls.filter((c) => c.session === session).reverse();
  const { steps } = mock.world.checks.find((check) => check.name === 'two-of-them');
  assert.deepEqual(
    steps.map((step) => step.tool),
    told
      .filter(usable)
      .slice(0, 2)
      .map((c) => c.tool),
  );
});

flow('a check that may change something is run after a question', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/checks`);
  const check = item(page, 'writes-a-plan');
  await check.getByRole('button', { name: 'Run writes-a-plan' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('filesystem / write_file').waitFor();
  await leave(page);
  assert.equal(mock.world.checks[2].last, undefined);
  await check.getByRole('button', { name: 'Run writes-a-plan' }).click();
  await dialog.getByRole('button', { name: 'Run' }).click();
  await check.getByText(/Passed · .* · run manually/).waitFor();
  await item(page, 'staging-schema')
    .getByText(/run automatically: the version or tools of postgres changed/)
    .waitFor();
});

flow('a backup is written where the user says', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/settings`);
  await settled(page, '/settings');
  const recording = page.getByRole('region', { name: 'Recording' });
  const path = recording.getByLabel('Backup file');
  const write = recording.getByRole('button', { name: 'Back up' });
  await path.fill('half/a/path.db');
  await recording.getByText('Enter an absolute path').waitFor();
  await becomes(() => write.isEnabled(), false);
  const answer = hold(mock.world);
  await path.fill('/home/ada/taken.db');
  await path.press('Enter');
  await recording.getByText(/Backing up…/).waitFor();
  answer();
  // What went wrong, and what to do next.
  await recording.getByText(/there is such a file already\. Name another file/).waitFor();
  await inspect(page, 'all');
  await recording.getByRole('button', { name: 'Choose a folder…' }).click();
  await becomes(() => path.inputValue(), /^\/home\/ada\/Documents\/drawbridge-history-.*\.db$/);
  await write.click();
  await recording.getByText('Backup saved.').waitFor();
  await recording.getByText(/^\/home\/ada\/Documents\/drawbridge-history-/).waitFor();
  await inspect(page, 'all');
});
