// The history of calls and its statistics in states that a real daemon cannot create quickly.
import assert from 'node:assert/strict';
import { changeItem, changeResponse } from './answers.mjs';
import { flow } from './flow.mjs';
import { inspect, settled } from './harness.mjs';
import { becomes, focused, live, until } from './waiting.mjs';

/** All recorded calls, the newest first. */
async function history(daemon) {
  const all = [];
  for (let next = ''; next !== undefined; ) {
    const page = await daemon.api('GET', `/calls?limit=500${next && `&before=${next}`}`);
    all.push(...page.items);
    next = page.next || undefined;
  }
  return all;
}

flow('numbers beyond 2^53 are shown and sent digit by digit', 'full', async (page, daemon) => {
  const [call] = await daemon.items('/calls?outcome=ok&tool=list_commits&limit=1');
  await page.goto(`${daemon.url}/#/calls/${call.id}`);
  await page.getByText('9007199254740993').first().waitFor();
  await page.getByText('1.0', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Edit and send' }).click();
  await becomes(() => page.getByLabel(/^limit/).inputValue(), '9007199254740993');
  await page.goto(`${daemon.url}/#/tools?tool=postgres__query`);
  await page.getByRole('tab', { name: 'JSON', exact: true }).click();
  await page.getByLabel('Arguments (JSON)').fill('{"sql": "select 1", "n": 9007199254740993}');
  const [request] = await Promise.all([
    page.waitForRequest((r) => r.url().endsWith('/api/v1/call')),
    page.getByRole('button', { name: 'Run tool' }).click(),
  ]);
  assert.match(request.postData(), /"n": 9007199254740993/);
  await page.getByText('Succeeded').waitFor();
});

flow('a link to a call that cannot exist says so', 'full', async (page, daemon) => {
  await page.goto(`${daemon.url}/#/calls/abc`);
  await page.getByText('This call is not in the history').waitFor();
  await inspect(page);
});

flow('the pill of a search counts only new matches', 'full', async (page, daemon) => {
  const call = await daemon.client('cursor', 'filesystem');
  await call('read_text_file', { path: '/needle/1' });
  await page.goto(`${daemon.url}/#/calls?q=needle`);
  await live(page); // its first event reads the list again
  await settled(page, '/calls');
  await page.locator('[data-row]').first().waitFor();
  for (let n = 0; n < 5; n++) await call('read_text_file', { path: '/hay' });
  await call('read_text_file', { path: '/needle/2' });
  await page.getByRole('button', { name: /^\d+ new$/ }).waitFor();
  assert.equal(await page.getByRole('button', { name: / new$/ }).textContent(), '1 new');
  await page.getByRole('button', { name: '1 new' }).press('Enter');
  await page.getByText('/needle/2').first().waitFor();
});

flow('a call that a rule rejected is explained by its arguments', 'full', async (page, daemon) => {
  const rule = '{"tool": "read_text_file", "where": {"/path": {"under": "/etc"}}, "then": "deny"}';
  const policy = `"policy": {"rules": [${rule}]},\n  "mcpServers"`;
  await daemon.writeConfig((await daemon.config()).replace('"mcpServers"', policy));
  const { id } = await until(async () => {
    await daemon.call('cursor', 'filesystem', 'read_text_file', { path: '/etc/x' });
    const found = await daemon.items(
      '/calls?outcome=rejected&limit=1&tool=read_text_file&client=cursor',
    );
    return found.find(({ reason }) => reason.includes('rule'));
  }, 'a call is rejected by the rule');
  await page.goto(`${daemon.url}/#/calls/${id}`);
  await page.getByRole('heading', { name: 'Access check of this call, now' }).waitFor();
  await page.getByText('A rule denies the call.').waitFor();
  await inspect(page, 'all');
  await page
    .getByRole('link', { name: 'Deny: read_text_file when path is in /etc' })
    .press('Enter');
  await page.getByRole('heading', { name: 'Argument rules' }).waitFor();
});

flow(
  'each call shows its arguments, its error, and what a search found',
  'full',
  async (page, daemon) => {
    await page.goto(`${daemon.url}/#/calls?tool=move_file&outcome=tool_error`);
    const rows = page.locator('[data-row]');
    const bad = rows.filter({ hasText: 'Tool error' }).first();
    await bad.getByText('ENOENT: no such file or directory').waitFor();
    await bad.getByText('source: /home/ada/notes/gate.md').waitFor();
    const requests = [];
    page.on('request', (r) => r.url().includes('/previews') && requests.push(r.url()));
    await page.goto(`${daemon.url}/#/calls?tool=move_file`);
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

flow('filters can be typed into the search', 'full', async (page, daemon) => {
  await page.goto(`${daemon.url}/#/calls`);
  const box = page.getByRole('searchbox');
  await box.fill('version:0.2.0 server:filesystem outcome:error gate');
  await box.press('Enter');
  await page.waitForURL(/outcome=tool_error/);
  const chips = page.getByRole('list', { name: 'Active filters' });
  for (const filter of ['Version: 0.2.0', 'Server: filesystem', 'Tool error'])
    await chips.getByText(filter).waitFor();
  await becomes(() => box.inputValue(), 'gate');
  await box.press('Enter'); // changes nothing: the filters were already extracted
  await chips.getByText('Server: filesystem').click();
  await page.waitForURL((url) => !url.hash.includes('server='));
  assert.match(page.url(), /[?&]q=gate(&|$)/);
  await becomes(() => box.inputValue(), 'gate');
  await inspect(page);
});

flow('the table of calls is sorted and given other columns', 'full', async (page, daemon) => {
  const all = await history(daemon);
  await page.goto(`${daemon.url}/#/calls?server=filesystem`);
  const table = page.getByRole('table', { name: 'Calls' });
  const took = () =>
    page
      .locator('[data-call]')
      .evaluateAll((all) => all.map((a) => a.dataset.call))
      .then((ids) => ids.map((id) => all.find((c) => c.id === id)?.tookNs));
  const falls = (list) => list.every((n, i) => i === 0 || list[i - 1] >= n);
  const heading = (name) => table.getByRole('columnheader', { name });
  assert.equal(await heading('Time').getAttribute('aria-sort'), 'descending');
  await heading('Duration').getByRole('button').click();
  await page.waitForURL(/sort=longest/);
  await page.getByText(/^Longest first, [\d,]+ calls loaded\./).waitFor();
  await becomes(async () => falls(await took()), true);
  assert.equal(await heading('Duration').getAttribute('aria-sort'), 'descending');
  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByRole('menuitemcheckbox', { name: 'Session' }).click();
  await page.getByRole('menuitemcheckbox', { name: 'Received' }).click();
  await inspect(page, 'all');
  await heading('Session').waitFor();
  assert.equal(await heading('Received').count(), 0);
  await page.keyboard.press('Escape');
  // The arrow keys still move through the rows, and opening a call keeps the order.
  const first = page.locator('[data-call]').first();
  await first.press('j');
  const second = page.locator('[data-call]').nth(1);
  await focused(second);
  await second.press('Enter');
  await page.waitForURL(/#\/calls\/\d+\?.*sort=longest/);
  await page.goto(`${daemon.url}/#/calls`);
  await heading('Session').waitFor(); // columns are kept
  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByRole('menuitem', { name: 'Reset columns' }).click();
  await becomes(() => heading('Session').count(), 0);
  await inspect(page, 'all');
});

flow('the filters stay beside an open call', 'full', async (page, daemon) => {
  await page.setViewportSize({ width: 1760, height: 900 });
  await page.goto(`${daemon.url}/#/calls?server=filesystem`);
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
  'a session is recorded in full, visibly, until somebody stops it',
  'full',
  async (page, daemon) => {
    const [{ session }] = await daemon.items('/calls?client=cursor&limit=1');
    await page.goto(`${daemon.url}/#/sessions/${session}`);
    await page.getByRole('button', { name: 'Record in full' }).click();
    await page.getByRole('menuitem', { name: 'For an hour' }).click();
    const banner = page.getByText(/are recorded in full until/);
    await banner.waitFor();
    await inspect(page, 'all');
    const full = async () => (await daemon.api('GET', '/history')).recording.full ?? [];
    assert.deepEqual(
      (await full()).map((one) => one.session),
      [session],
    );
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await banner.waitFor({ state: 'detached' });
    assert.deepEqual(await full(), []);
  },
);

flow(
  'a session is served again under another name, which can be undone',
  'full',
  async (page, daemon) => {
    const [{ session }] = await daemon.items('/calls?client=cursor&outcome=ok&limit=1');
    const before = await daemon.config();
    await page.goto(`${daemon.url}/#/sessions/${session}`);
    await page.getByRole('button', { name: 'Serve recorded session' }).click();
    const dialog = page.getByRole('dialog', { name: 'Serve recorded session' });
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
    const text = (await daemon.config()).replace(/\s+/g, ' ');
    assert.match(
      text,
      new RegExp(
        `"demo-2": { "type": "replay", "from": { "server": "[^"]+", "session": "${session}" }, "misses": "nearest" }`,
      ),
    );
    await page.getByRole('button', { name: 'Undo' }).click();
    await becomes(daemon.config, before);
  },
);

flow('calls between two times are served from the history', 'full', async (page, daemon) => {
  await page.goto(`${daemon.url}/#/servers/github`);
  const detail = page.getByRole('region', { name: 'github' });
  await detail.getByRole('button', { name: /^More actions/ }).click();
  await page.getByRole('menuitem', { name: 'Serve recorded session…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Serve recorded session' });
  await dialog.getByRole('textbox').first().fill('between');
  await dialog.getByLabel('github account').selectOption('work');
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
    /"between": ({[^}]*"from": {[^}]*}[^}]*})/.exec(await daemon.config())[1],
  ).from;
  assert.equal(Date.parse(until) - Date.parse(since), 90 * 60_000);
  assert.equal(account, 'work');
});

flow('a call opened at the bottom of the list stays in view', 'full', async (page, daemon) => {
  await page.goto(`${daemon.url}/#/calls`);
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

flow('the history is read to its end while scrolling', 'full', async (page, daemon) => {
  await page.goto(`${daemon.url}/#/calls`);
  const rows = page.locator('[data-row]');
  await rows.first().waitFor();
  const scroller = page.locator('.scroll-area:has([aria-label=Calls])');
  await until(async () => {
    await scroller.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    return page.getByText('End of history').count();
  }, 'the end of the list');
  assert.ok((await rows.count()) < 80, 'only what is in view exists');
});

flow('the search states which calls are not indexed yet', 'trouble', async (page, daemon) => {
  await changeResponse(page, '**/api/v1/history', (state) =>
    Object.assign(state, { indexPending: 1204, indexedUpTo: new Date(0).toISOString() }),
  );
  await page.goto(`${daemon.url}/#/calls`);
  await page.getByRole('searchbox').fill('bridge');
  await page
    .getByText(/Search covers calls up to .*; 1,204 newer calls are not indexed yet/)
    .waitFor();
  assert.equal(await page.getByText(/^\d+ new calls?$/).count(), 0); // none arrived since
});

flow('usage offers a longer time only if it contains calls', 'full', async (page, daemon) => {
  const all = await history(daemon);
  const old = ({ at }) => Date.parse(at) < Date.now() - 2 * 3_600_000;
  const remove = (calls) => daemon.api('POST', '/calls/delete', { ids: calls.map(({ id }) => id) });
  await remove(all.filter((call) => !old(call)));
  await page.goto(`${daemon.url}/#/usage?range=1h`);
  await page.getByRole('button', { name: 'Show 30 days' }).click();
  await page.waitForURL(/range=30d/);
  await page.getByRole('img', { name: /Calls and errors/ }).waitFor();
  await remove(all.filter(old));
  await page.goto(`${daemon.url}/#/usage?range=7d`);
  await page.reload(); // a recent response is not requested again
  await page.getByText('Calls are counted here as soon as a client makes them.').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Show 30 days' }).count(), 0);
});

flow(
  'a call that failed inside Drawbridge shows its progress and stack trace',
  'full',
  async (page, daemon) => {
    const [call] = await daemon.items('/calls?client=cursor&outcome=ok&limit=1');
    await changeItem(page, call.id, {
      outcome: 'protocol_error',
      code: 'internal',
      reason: 'an internal error',
      result: undefined,
      progress: 120,
      progressLog: [{ afterMs: 40, params: '{"progress":9007199254740993,"message":"halfway"}' }],
      stack: `goroutine 7 [running]:\n${'drawbridge/backend/gateway.(*Gateway).Call(...)\n'.repeat(60)}`,
    });
    await page.goto(`${daemon.url}/#/calls/${call.id}`);
    const progress = page.getByRole('list', { name: 'Progress' });
    await becomes(() => progress.innerText(), /\+40\.0 ms\s+9007199254740993\s+halfway/);
    await page.getByText('The first 1 of 120 progress messages are recorded.').waitFor();
    await page.getByText('goroutine 7 [running]:').waitFor();
    await page.getByRole('button', { name: 'Copy stack trace' }).waitFor();
    await inspect(page, 'all');
  },
);

/** In the page: how far an element moves within a time, and the layout shifts. */
function watchPlace(selector, ms) {
  return new Promise((done) => {
    let shifts = 0;
    new PerformanceObserver((list) => {
      for (const { value } of list.getEntries()) shifts += value;
    }).observe({ type: 'layout-shift' });
    const place = () => document.querySelector(selector)?.getBoundingClientRect().top ?? Infinity;
    const start = place();
    let moved = 0;
    const end = performance.now() + ms;
    const look = () => {
      moved = Math.max(moved, Math.abs(place() - start));
      if (performance.now() < end) setTimeout(look, 50);
      else done({ moved, shifts });
    };
    look();
  });
}

flow(
  'an opened call stays in place while 20 calls a second arrive',
  'full',
  async (page, daemon) => {
    const call = await daemon.client('claude-code', 'filesystem');
    await page.goto(`${daemon.url}/#/calls`);
    await live(page);
    await page.locator('[data-call]').nth(6).click();
    await page.getByRole('heading', { name: 'Result' }).waitFor();
    await settled(page);
    const timer = setInterval(() => call('list_directory', {}).catch(() => {}), 50);
    const pill = page.getByRole('button', { name: /^[\d,]+ new$/ });
    const first = () => page.locator('[data-call]').first().getAttribute('data-call');
    try {
      await pill.waitFor();
      const newest = await first();
      const { moved, shifts } = await page.evaluate(
        ([run, selector]) => new Function(`return (${run})`)()(selector, 60_000),
        [String(watchPlace), '[data-call][aria-current]'],
      );
      assert.equal(moved, 0);
      assert.ok(shifts <= 0.02, `shifted by ${shifts}`);
      assert.equal(await first(), newest);
      assert.ok(parseInt((await pill.innerText()).replace(',', ''), 10) > 500);
      await inspect(page, 'all');
      await pill.click();
      await becomes(async () => (await first()) !== newest, true);
    } finally {
      clearInterval(timer);
    }
  },
);

flow(
  'rows do not move under the pointer, or while a list is scrolled',
  'full',
  async (page, daemon) => {
    const call = await daemon.client('claude-code', 'filesystem');
    await page.goto(`${daemon.url}/#/calls`);
    await live(page);
    const rows = page.locator('[data-call]');
    const first = () => rows.first().getAttribute('data-call');
    const pill = page.getByRole('button', { name: /^\d+ new$/ });
    const newest = await first();
    await rows.nth(3).hover();
    await call('list_directory', {});
    await pill.waitFor();
    assert.equal(await first(), newest);
    await page.mouse.move(5, 5);
    await pill.waitFor({ state: 'detached' });
    await becomes(async () => (await first()) !== newest, true);
    const scroller = page.locator('.scroll-area:has([aria-label=Calls])');
    await scroller.evaluate((box) => box.scrollTo(0, 100));
    await call('list_directory', {});
    await pill.click();
    await pill.waitFor({ state: 'detached' });
    assert.equal(await scroller.evaluate((box) => box.scrollTop), 0);
  },
);

flow('servers keep their places while one of them is open', 'full', async (page, daemon) => {
  await page.goto(`${daemon.url}/#/servers/memory`);
  const names = () => page.locator('tbody tr:first-child td:first-child a').allInnerTexts();
  await page.locator('tbody').first().waitFor();
  const before = await names();
  // Listed first when the page is opened.
  await daemon.writeConfig(
    (await daemon.config()).replace(/("sequential-thinking": \{\s*"command": )"npx"/, '$1"none"'),
  );
  await page.locator('tbody', { hasText: 'sequential' }).locator('.text-bad').first().waitFor();
  assert.deepEqual(await names(), before);
});

flow('keys move through the calls without a click into the list', 'full', async (page, daemon) => {
  await page.goto(`${daemon.url}/#/calls`);
  const rows = page.locator('[data-call]');
  await rows.nth(2).waitFor();
  await settled(page, '/calls');
  await page.keyboard.press('j');
  await focused(rows.first());
  await page.keyboard.press('ArrowDown');
  await focused(rows.nth(1));
  await page.keyboard.press('k');
  await focused(rows.first());
});

flow(
  'a failed call is compared with the last good one, and its filters stay',
  'full',
  async (page, daemon) => {
    const [bad] = await daemon.items('/calls?tool=move_file&outcome=tool_error&limit=1');
    await page.goto(`${daemon.url}/#/calls/${bad.id}?tool=move_file`);
    await page.getByRole('link', { name: 'Compare…' }).click();
    // A call of the list is picked, too.
    const row = page.locator('a[data-call]:not([aria-current])').first();
    const picked = await row.getAttribute('data-call');
    await row.click();
    await page.waitForURL(new RegExp(`calls/${bad.id}.*with=.*${picked}`));
    await page.goto(`${daemon.url}/#/calls/${bad.id}?tool=move_file`);
    await page.getByRole('link', { name: 'Compare…' }).click();
    await page.getByRole('button', { name: /^Last successful call/ }).click();
    await page.getByText('This call: Tool error').waitFor();
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Send again' }).click();
    await page.waitForURL(new RegExp(`(?=.*tool=move_file)(?=.*with=.*${bad.id})`));
  },
);

flow('a session tells who did what, where and for how long', 'full', async (page, daemon) => {
  const [call] = await daemon.items('/calls?client=claude-code&tool=move_file&limit=1');
  await page.goto(`${daemon.url}/#/sessions/${call.session}`);
  await page
    .locator('#detail-title')
    .getByText(/^claude-code in \w+/i)
    .waitFor();
  await page.getByText(/ ×\d+/).first().waitFor();
  // Each step has its arguments, like a row in Calls.
  await page
    .getByText(/source: \/home/)
    .first()
    .waitFor();
  await inspect(page, 'all');
});
