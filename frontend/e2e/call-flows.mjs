// The history of calls and its statistics in states that a real daemon cannot create quickly.
import assert from 'node:assert/strict';
import { flow } from './flow.mjs';
import { inspect } from './harness.mjs';
import { becomes, focused, until } from './waiting.mjs';

const quiet = { scene: 'full', rate: 0 };

flow('numbers beyond 2^53 are shown and sent digit by digit', quiet, async (page, mock) => {
  const call = mock.world.calls.find((c) => c.outcome === 'ok' && c.tool === 'list_commits');
  await page.goto(`${mock.url}/#/calls/${call.id}`);
  await page.getByText('9007199254740993').first().waitFor();
  await page.getByText('1.0', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Edit and send' }).click();
  await becomes(() => page.getByLabel(/^limit/).inputValue(), '9007199254740993');
  await page.goto(`${mock.url}/#/tools?tool=postgres__query`);
  await page.getByRole('tab', { name: 'JSON', exact: true }).click();
  await page.getByLabel('Arguments (JSON)').fill('{"sql": "select 1", "n": 9007199254740993}');
  const [request] = await Promise.all([
    page.waitForRequest((r) => r.url().endsWith('/api/v1/call')),
    page.getByRole('button', { name: 'Run tool' }).click(),
  ]);
  assert.match(request.postData(), /"n": 9007199254740993/);
  await page.getByText('Succeeded').waitFor();
});

flow(
  'each call shows its arguments, its error, and what a search found',
  quiet,
  async (page, mock) => {
    await page.goto(`${mock.url}/#/calls?tool=move_file`);
    const rows = page.locator('[data-row]');
    const bad = rows.filter({ hasText: 'Tool error' }).first();
    await bad.getByText('ENOENT: no such file or directory').waitFor();
    await bad.getByText('source: /home/ada/notes/gate.md').waitFor();
    const requests = [];
    page.on('request', (r) => r.url().includes('/previews') && requests.push(r.url()));
    await page.getByRole('searchbox').fill('moved');
    const row = rows.filter({ hasText: 'In the result:' }).first();
    await row.locator('mark', { hasText: 'moved' }).waitFor();
    assert.ok(requests.length < 4, `${requests.length} requests for one screen of rows`);
    const heights = await rows.evaluateAll((all) => all.map((li) => li.offsetHeight));
    await rows.first().getByRole('link').click();
    await page.getByRole('heading', { name: /move_file/ }).waitFor();
    assert.deepEqual([...new Set(heights)], [await rows.first().evaluate((li) => li.offsetHeight)]);
    await inspect(page, 'all');
  },
);

flow('filters can be typed into the search', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/calls`);
  const box = page.getByRole('searchbox');
  await box.fill('server:filesystem outcome:error gate');
  await box.press('Enter');
  await page.waitForURL(/outcome=tool_error/);
  const chips = page.getByRole('list', { name: 'Active filters' });
  await chips.getByText('Server: filesystem').waitFor();
  await chips.getByText('Tool error').waitFor();
  await becomes(() => box.inputValue(), 'gate');
  await box.press('Enter'); // changes nothing: the filters were already extracted
  await chips.getByText('Server: filesystem').click();
  await page.waitForURL((url) => !url.hash.includes('server='));
  assert.match(page.url(), /[?&]q=gate(&|$)/);
  await becomes(() => box.inputValue(), 'gate');
  await inspect(page);
});

flow(
  'the table of calls is sorted, resized, given other columns, and saved as a view',
  quiet,
  async (page, mock) => {
    await page.goto(`${mock.url}/#/calls?server=filesystem`);
    const table = page.getByRole('table', { name: 'Calls' });
    const took = () =>
      page
        .locator('[data-call]')
        .evaluateAll((all) => all.map((a) => a.dataset.call))
        .then((ids) => ids.map((id) => mock.world.calls.find((c) => c.id === id).tookNs));
    const falls = (list) => list.every((n, i) => i === 0 || list[i - 1] >= n);
    const heading = (name) => table.getByRole('columnheader', { name });
    assert.equal(await heading('Time').getAttribute('aria-sort'), 'descending');
    await heading('Duration').getByRole('button').click();
    await page.waitForURL(/sort=longest/);
    await page.getByText(/^Longest first, [\d,]+ calls loaded\./).waitFor();
    await becomes(async () => falls(await took()), true);
    assert.equal(await heading('Duration').getAttribute('aria-sort'), 'descending');
    // By keyboard: the width of a column.
    const handle = page.getByRole('separator', { name: 'Width of Client' });
    const before = Number(await handle.getAttribute('aria-valuenow'));
    await handle.press('ArrowLeft');
    await becomes(async () => Number(await handle.getAttribute('aria-valuenow')), before + 0.5);
    const box = await handle.boundingBox();
    await page.mouse.move(box.x + 6, box.y + 6);
    await page.mouse.down();
    await page.mouse.move(box.x - 42, box.y + 6, { steps: 4 });
    await page.mouse.up();
    await becomes(async () => Number(await handle.getAttribute('aria-valuenow')), before + 3.5);
    await page.getByRole('button', { name: 'View' }).click();
    await page.getByRole('menuitemcheckbox', { name: 'Session' }).click();
    await page.getByRole('menuitemcheckbox', { name: 'Received' }).click();
    await inspect(page, 'all');
    await heading('Session').waitFor();
    assert.equal(await heading('Received').count(), 0);
    await page.getByRole('menuitem', { name: 'Save or remove a view…' }).click();
    const name = page.getByRole('dialog').getByLabel('Name');
    await name.fill('slow files');
    await name.press('Enter');
    await page.getByText('Saved view “slow files”.').waitFor();
    // The arrow keys still move through the rows, and opening a call keeps the order.
    const first = page.locator('[data-call]').first();
    await first.press('j');
    const second = page.locator('[data-call]').nth(1);
    await focused(second);
    await second.press('Enter');
    await page.waitForURL(/#\/calls\/\d+\?.*sort=longest/);
    await page.goto(`${mock.url}/#/calls`);
    await heading('Session').waitFor(); // columns are kept
    await page.getByRole('button', { name: 'View' }).click();
    await page.getByRole('menuitem', { name: 'Reset columns' }).click();
    await becomes(() => heading('Session').count(), 0);
    await page.getByRole('button', { name: 'View' }).click();
    await page.getByRole('menuitem', { name: 'slow files' }).click();
    await page.waitForURL(/server=filesystem.*sort=longest/);
    await heading('Session').waitFor();
    await inspect(page, 'all');
  },
);

flow('rows of calls are one line in compact density', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/settings`);
  await page.getByRole('radio', { name: 'Compact' }).click();
  await page.goto(`${mock.url}/#/calls?tool=move_file`);
  const row = page.locator('[data-row]').filter({ hasText: 'Tool error' }).first();
  await row.getByText('ENOENT: no such file or directory').waitFor();
  await row.getByText('source: /home/ada/notes/gate.md').waitFor();
  assert.equal(await row.evaluate((li) => li.offsetHeight), 32);
  await inspect(page, 'all');
  await page.reload(); // kept, and applied before the first paint
  assert.equal(await page.evaluate(() => document.documentElement.dataset.density), 'compact');
  await page.goto(`${mock.url}/#/settings`);
  await page.getByRole('radio', { name: 'Comfortable' }).click();
});

flow('the filters stay beside an open call', { ...quiet }, async (page, mock) => {
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto(`${mock.url}/#/calls?server=filesystem`);
  const panel = page.getByRole('region', { name: 'Filters' });
  await panel.waitFor();
  const row = page.locator('[data-call]').nth(5);
  const top = await row.evaluate((a) => a.getBoundingClientRect().top);
  await row.click();
  await page.waitForURL(/#\/calls\/\d+\?/);
  await page.locator('#detail-title').waitFor();
  await panel.waitFor();
  await panel.getByRole('button', { name: /^Tool error/ }).click();
  await page.waitForURL(/#\/calls\/\d+\?.*outcome=tool_error/);
  await panel.getByRole('button', { name: /^Tool error/ }).click();
  await becomes(
    async () => Math.abs((await row.evaluate((a) => a.getBoundingClientRect().top)) - top) < 60,
    true,
  );
  await inspect(page, 'all');
});

flow(
  'a session is shown as a waterfall, with approvals and questions on the same axis',
  quiet,
  async (page, mock) => {
    // The sessions of the mock begin by the clock: the newest may have a single call.
    const ended = mock.world.calls.filter((c) => c.outcome !== '');
    const { session } = ended.find((c) => ended.filter((o) => o.session === c.session).length > 3);
    const calls = ended.filter((c) => c.session === session);
    const [asked, question] = calls;
    Object.assign(asked, { approval: 'once', tookNs: 8e9, queuedNs: 6e9, outcome: 'ok' });
    Object.assign(question, { fromServer: true, method: 'elicitation/create' });
    await page.goto(`${mock.url}/#/sessions/${session}`);
    await page.getByRole('radio', { name: 'Waterfall' }).click();
    const bars = page.getByRole('list', { name: 'Waterfall' }).getByRole('listitem');
    await bars.first().waitFor();
    await becomes(() => bars.count(), mock.world.calls.filter((c) => c.session === session).length);
    await bars.getByText('Allowed once after 6.00 s').waitFor({ state: 'attached' });
    await bars.getByText('Server to client').waitFor({ state: 'attached' });
    await inspect(page, 'all');
    await page.reload(); // the choice is kept
    await bars.first().getByRole('link').click();
    await page.waitForURL(/#\/calls\/\d+\?session=/);
  },
);

flow(
  'a session is recorded in full, visibly, until somebody stops it',
  quiet,
  async (page, mock) => {
    const { session } = mock.world.calls.find((c) => c.session);
    await page.goto(`${mock.url}/#/sessions/${session}`);
    await page.getByRole('button', { name: 'Record in full' }).click();
    await page.getByRole('menuitem', { name: 'For an hour' }).click();
    const banner = page.getByText(/are recorded in full until/);
    await banner.waitFor();
    await inspect(page, 'all');
    const { full } = mock.world.history.recording;
    assert.deepEqual(
      full.map((one) => one.session),
      [session],
    );
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await banner.waitFor({ state: 'detached' });
    assert.deepEqual(mock.world.history.recording.full, []);
  },
);

flow(
  'a session is served again under another name, which can be undone',
  quiet,
  async (page, mock) => {
    const { session } = mock.world.calls.find((c) => c.session && c.server && c.outcome === 'ok');
    const before = mock.world.config.text;
    await page.goto(`${mock.url}/#/sessions/${session}`);
    await page.getByRole('button', { name: 'Replay this session' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add replay server' });
    const boxes = dialog.getByRole('textbox');
    await boxes.first().waitFor();
    const names = await boxes.evaluateAll((all) => all.map((box) => box.value));
    assert.ok(names.length > 0 && names.every((name) => name.endsWith('-replayed')), String(names));
    await boxes.first().fill('not a name');
    await becomes(() => dialog.getByRole('button', { name: 'Add' }).isDisabled(), true);
    await boxes.first().fill('demo-2');
    await dialog.getByLabel('Requests without a recorded result').selectOption('nearest');
    await inspect(page, 'all');
    await dialog.getByRole('button', { name: 'Add' }).click();
    await dialog.waitFor({ state: 'detached' });
    const text = mock.world.config.text.replace(/\s+/g, ' ');
    assert.match(
      text,
      new RegExp(
        `"demo-2": { "type": "replay", "from": { "server": "[^"]+", "session": "${session}" }, "misses": "nearest" }`,
      ),
    );
    await page.getByRole('button', { name: 'Undo' }).click();
    await becomes(() => mock.world.config.text, before);
  },
);

flow('calls between two times are served from the history', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/servers/github`);
  const detail = page.getByRole('region', { name: 'GitHub' });
  await detail.getByRole('button', { name: /^More actions/ }).click();
  await page.getByRole('menuitem', { name: 'Add replay server…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add replay server' });
  await dialog.getByRole('textbox').first().fill('between');
  await dialog.getByLabel('GitHub account').selectOption('work');
  await dialog.getByLabel('Recorded calls').selectOption('Custom…');
  await dialog.getByLabel('From', { exact: true }).fill('2026-01-02T10:00');
  await dialog.getByLabel('To', { exact: true }).fill('2026-01-02T09:00');
  await dialog.getByRole('alert').waitFor();
  assert.ok(await dialog.getByRole('button', { name: 'Add' }).isDisabled());
  await dialog.getByLabel('To', { exact: true }).fill('2026-01-02T11:30');
  await inspect(page, 'all');
  await dialog.getByRole('button', { name: 'Add' }).click();
  await dialog.waitFor({ state: 'detached' });
  const { since, until, account } = JSON.parse(
    /"between": ({[^}]*"from": {[^}]*}[^}]*})/.exec(mock.world.config.text)[1],
  ).from;
  assert.equal(Date.parse(until) - Date.parse(since), 90 * 60_000);
  assert.equal(account, 'work');
});

flow('a call opened at the bottom of the list stays in view', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/calls`);
  const rows = page.locator('[data-call]');
  await rows.first().waitFor();
  const height = page.viewportSize().height;
  const places = await rows.evaluateAll((all) =>
    all.map((e) => e.closest('[data-row]').getBoundingClientRect().bottom),
  );
  const last = places.findLastIndex((bottom) => bottom < height);
  await rows.nth(last).click();
  await page.getByRole('heading', { name: 'Result' }).waitFor();
  await becomes(
    () =>
      page
        .locator('[data-call][aria-current]')
        .evaluate((e) => e.closest('[data-row]').getBoundingClientRect().bottom <= innerHeight + 1),
    true,
  );
});

flow('the history is read to its end while scrolling', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/calls`);
  const rows = page.locator('[data-row]');
  await rows.first().waitFor();
  const scroller = page.locator('.scroll-area:has([aria-label=Calls])');
  const last = mock.world.calls.at(-1).id;
  await until(async () => {
    await scroller.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    const end = await page.getByText('End of history').count();
    return end > 0 && (await page.locator(`[data-call="${last}"]`).count()) > 0;
  }, 'the end of the list');
  assert.ok((await rows.count()) < 80, 'only what is in view exists');
});

flow(
  'the search states which calls are not indexed yet',
  { scene: 'trouble', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/#/calls`);
    await page.getByRole('searchbox').fill('bridge');
    await page
      .getByText(/Search covers calls up to .*; 1,204 newer calls are not indexed yet/)
      .waitFor();
    assert.equal(await page.getByText(/^\d+ new calls?$/).count(), 0); // none arrived since
  },
);

flow('usage offers a longer time only if it contains calls', quiet, async (page, mock) => {
  const { calls } = mock.world;
  const old = calls.filter((c) => Date.parse(c.at) < Date.now() - 2 * 3_600_000);
  assert.ok(old.length > 0);
  calls.splice(0, calls.length, ...old);
  await page.goto(`${mock.url}/#/usage?range=1h`);
  await page.getByRole('button', { name: 'Show 30 days' }).click();
  await page.waitForURL(/range=30d/);
  await page.getByRole('img', { name: /Calls and errors/ }).waitFor();
  calls.splice(0, calls.length);
  await page.goto(`${mock.url}/#/usage?range=7d`);
  await page.reload(); // a recent response is not requested again
  await page.getByText('Calls are counted here as soon as a client makes them.').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Show 30 days' }).count(), 0);
});

flow(
  'a call that failed inside Drawbridge shows its progress and stack trace',
  quiet,
  async (page, mock) => {
    const call = mock.world.calls.find((c) => c.outcome === 'ok');
    Object.assign(call, {
      outcome: 'protocol_error',
      code: 'internal',
      reason: 'an internal error',
      result: undefined,
      progress: 120,
      progressLog: [{ afterMs: 40, params: '{"progress":9007199254740993,"message":"halfway"}' }],
      stack: `goroutine 7 [running]:\n${'drawbridge/backend/gateway.(*Gateway).Call(...)\n'.repeat(60)}`,
    });
    await page.goto(`${mock.url}/#/calls/${call.id}`);
    const progress = page.getByRole('list', { name: 'Progress' });
    await becomes(() => progress.innerText(), /\+40\.0 ms\s+9007199254740993\s+halfway/);
    await page.getByText('The first 1 of 120 progress messages are recorded.').waitFor();
    await page.getByText('goroutine 7 [running]:').waitFor();
    await page.getByRole('button', { name: 'Copy stack trace' }).waitFor();
    await inspect(page, 'all');
  },
);

flow(
  'calls are filtered by the version that answered',
  { scene: 'full', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/#/calls?server=filesystem`);
    const search = page.getByRole('searchbox').first();
    await search.fill('version:0.2.0 ');
    await page.getByText('Version: 0.2.0').waitFor();
    await page.waitForURL(/version=0\.2\.0|version=%220\.2\.0%22/);
  },
);
