// The pages of the navigation and their views.
import assert from 'node:assert/strict';
import { flow } from './flow.mjs';
import { inspect } from './harness.mjs';
import { focused, pressShortcut, settled, until } from './waiting.mjs';

const places = ['Overview', 'Servers', 'Tools', 'Calls', 'Clients', 'Approvals', 'Settings'];
const views = {
  Overview: { at: '/', others: { Usage: '/usage' } },
  Servers: { at: '/servers', others: { 'Browse servers': '/directory' } },
  Calls: { at: '/calls', others: { Sessions: '/sessions' } },
  Clients: { at: '/clients', others: { Profiles: '/profiles' } },
  Settings: { at: '/settings', others: { 'Configuration file': '/configuration' } },
};

flow(
  'the navigation has seven pages, and their views are beside the title',
  'full',
  async (page, daemon) => {
    await page.goto(`${daemon.url}/#/`);
    await settled(page, '/');
    const navigation = page.getByRole('navigation', { name: 'Pages' });
    const links = await navigation.getByRole('link').allInnerTexts();
    assert.deepEqual(
      links.map((text) => text.trim()),
      places,
    );
    const tabs = page.getByRole('navigation', { name: 'Views' });
    for (const [place, { at, others }] of Object.entries(views)) {
      const link = navigation.getByRole('link', { name: place, exact: true });
      await link.press('Enter');
      await settled(page, at); // a page that loads replaces its links, and a focused one with them
      for (const [view, path] of Object.entries(others)) {
        await tabs.getByRole('link', { name: view }).press('Enter');
        await settled(page, path);
        await tabs.getByRole('heading', { name: view, level: 1 }).waitFor();
        assert.equal(
          await link.getAttribute('aria-current'),
          'page',
          `${view} is part of ${place}`,
        );
        assert.equal(await navigation.locator('[aria-current]').count(), 1);
        assert.match(await page.title(), new RegExp(`^${view}`));
        await inspect(page);
        await tabs.getByRole('link', { name: place, exact: true }).waitFor(); // has a link back
      }
    }
    for (const place of ['Tools', 'Approvals']) {
      await navigation.getByRole('link', { name: place }).press('Enter');
      await page.getByRole('heading', { name: place, level: 1 }).waitFor();
      assert.equal(await tabs.count(), 0);
    }
  },
);

flow(
  'addresses of views, with their filters, and letters lead to them',
  'full',
  async (page, daemon) => {
    const [{ session }] = await daemon.items('/sessions?limit=1');
    await page.goto(`${daemon.url}/#/usage?range=7d&server=github`);
    await page.getByRole('radio', { name: '7 days', checked: true }).waitFor();
    await page.goto(`${daemon.url}/#/sessions/${encodeURIComponent(session)}`);
    await page.getByRole('button', { name: 'Close', exact: true }).waitFor();
    await page.goto(`${daemon.url}/#/profiles/office`);
    await page.getByRole('heading', { name: 'office' }).waitFor();
    for (const [keys, path] of [
      ['gh', /#\/sessions$/],
      ['gu', /#\/usage$/],
      ['gp', /#\/profiles$/],
      ['gd', /#\/directory$/],
    ])
      await pressShortcut(page, keys, path);
  },
);

flow(
  'the overview shows a range, and each number leads to its calls',
  'full',
  async (page, daemon) => {
    await page.goto(`${daemon.url}/#/`);
    await settled(page, '/');
    await page.getByRole('radio', { name: '7 days' }).press('Enter');
    await page.waitForURL(/#\/\?range=7d$/);
    const tops = page.getByRole('region', { name: 'Top tools' });
    const first = tops.getByRole('link').first();
    await tops.getByRole('radio', { name: 'Context' }).press('Enter');
    await tops
      .getByText(/tokens$/)
      .first()
      .waitFor();
    await tops.getByRole('radio', { name: 'Time' }).press('Enter');
    await tops
      .getByText(/tokens$/)
      .first()
      .waitFor({ state: 'detached' });
    await inspect(page, 'all');
    await first.press('Enter');
    await page.waitForURL(/#\/calls\?.*range=7d/);
    await page.goto(`${daemon.url}/#/?range=7d`);
    const latency = page.getByRole('region', { name: 'Latency' });
    const chart = latency.getByRole('img');
    // The last day may have just begun, without a call.
    const value = latency.getByText(/[0-9] (ms|s)$/).first();
    await until(async () => {
      await chart.press('ArrowLeft');
      return value.isVisible();
    }, 'a day with a latency');
    await inspect(page, 'all');
    await chart.press('Enter');
    await page.waitForURL(/#\/calls\?.*from=/);
    await page.goto(`${daemon.url}/#/?range=7d`);
    await page.getByRole('radio', { name: 'Custom range' }).press('Enter');
    await page.waitForURL(/#\/usage\?from=/);
  },
);

flow(
  'the palette connects a client, finds calls by their text, and begins with what was used last',
  'moving',
  async (page, daemon) => {
    await page.goto(`${daemon.url}/#/servers`);
    await settled(page, '/servers');
    const box = page.getByRole('combobox', { name: 'Command palette' });
    const open = async () => {
      await page.keyboard.press('Control+k');
      await focused(box);
    };
    await open();
    await box.fill('connect cursor');
    await page.getByRole('option', { name: /^Connect Cursor/, selected: true }).waitFor();
    await box.press('Enter');
    await page.waitForURL(/#\/clients\?connect=cursor/);
    await focused(page.getByRole('button', { name: 'Apply, move 2 servers' }));
    await inspect(page, 'all');
    await open();
    await box.fill('retention');
    await box.press('Enter');
    await focused(page.getByRole('region', { name: 'Recording' }));
    await open();
    await box.fill('connect cursor');
    await box.press('Enter');
    await page.waitForURL(/#\/clients\?connect=cursor/);
    await open();
    await page
      .getByRole('option', { name: /^Connect Cursor/ })
      .and(page.getByRole('option').first())
      .waitFor();
    await box.fill('half a sentence');
    await page.getByRole('option', { name: 'Search calls for “half a sentence”' }).waitFor();
    await box.press('Enter');
    await page.waitForURL(/#\/calls\?q=half/);
  },
);

flow(
  'what is typed while the palette loads is its text, and answers no approval',
  'trouble',
  async (page, daemon) => {
    let release;
    const typed = new Promise((done) => {
      release = done;
    });
    await page.route('**/assets/command-palette*', async (route) => {
      await typed;
      await route.continue();
    });
    await page.goto(`${daemon.url}/#/approvals`);
    await page.getByRole('button', { name: 'Allow once' }).and(page.locator(':enabled')).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('add a servex');
    await page.keyboard.press('Backspace');
    await page.keyboard.press('Enter');
    release();
    const box = page.getByRole('combobox', { name: 'Command palette' });
    await focused(box);
    await page.keyboard.type('r');
    assert.equal(await box.inputValue(), 'add a server');
    await daemon.waiting(3);
    const last = (await daemon.items('/approvals')).at(-1);
    await box.fill(`approve ${last.message.split('\n', 1)[0]}`);
    await box.press('Enter');
    await focused(page.locator(`[data-item="${last.id}"]`));
    await page.keyboard.press('Control+k');
    // An action says that it is done, because the page may not show it.
    await box.fill('restart filesystem');
    await page.getByRole('option', { name: /^Restart filesystem/, selected: true }).waitFor();
    await box.press('Enter');
    await page.getByText('Restarting filesystem.').waitFor();
  },
);
