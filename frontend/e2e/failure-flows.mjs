// The page without a session, and while the daemon does not respond.
import assert from 'node:assert/strict';
import { refuse } from './answers.mjs';
import { flow } from './flow.mjs';
import { inspect, settled } from './harness.mjs';
import { addresses, naming } from './pages.mjs';
import { becomes, live } from './waiting.mjs';

flow('another tab that is signed in unlocks this one', 'empty', async (page, daemon, context) => {
  await page.setExtraHTTPHeaders({});
  await page.goto(`${daemon.url}/`);
  await page.getByText('This browser is not signed in').waitFor();
  const other = await context.newPage();
  const { url } = await daemon.api('POST', '/open-code', {});
  await other.goto(url);
  await page.getByRole('heading', { name: 'Get started' }).waitFor();
  await becomes(() => other.url().includes('code'), false);
});

flow('every page recovers by itself after the daemon does', 'full', async (page, daemon) => {
  await page.goto(`${daemon.url}/`);
  await live(page);
  // Everything that the page loads in advance is there: Chromium 150 remembers a failed request.
  await page.waitForFunction(() => {
    const loaded = new Set(performance.getEntriesByType('resource').map(({ name }) => name));
    const parts = [...document.querySelectorAll('link[rel=modulepreload], link[rel=stylesheet]')];
    return (
      parts.some(({ href }) => href.includes('/command-palette')) && // the last
      parts.every(({ href }) => loaded.has(href))
    );
  });
  const paths = [
    '/servers/filesystem?view=diagnostics',
    '/usage',
    '/sessions',
    '/clients',
    '/settings',
  ];
  for (const path of paths) {
    await daemon.stop();
    await page.getByText('Drawbridge is not responding').first().waitFor();
    await page.getByText('start it again: run drawbridge').waitFor();
    await page.evaluate((to) => {
      location.hash = to; // a page that was not shown before
    }, path);
    await daemon.start();
    await live(page);
    await settled(page, path.split('?')[0]);
    await inspect(page);
    await page.getByText('Cannot show this page').waitFor({ state: 'detached' });
  }
});

flow(
  'without the daemon, states are the last known ones, and Calls says that it is gone',
  'full',
  async (page, daemon) => {
    await page.goto(`${daemon.url}/#/servers`);
    await live(page);
    await settled(page, '/servers');
    const states = page.getByTitle('Last known state');
    assert.equal(await states.count(), 0);
    await daemon.stop();
    await page.getByText('Drawbridge is not responding').first().waitFor();
    await becomes(async () => (await states.count()) > 3, true);
    await page.route('**/api/v1/calls?*', () => {}); // one that hangs closes no connection
    await page.evaluate(() => {
      location.hash = '/calls';
    });
    await page.getByText('Nothing to show while Drawbridge is not responding').waitFor();
    await inspect(page, 'all');
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  },
);

flow('every page has its heading before its content', 'full', async (page, daemon) => {
  const fill = await naming(daemon);
  await page.route('**/api/**', () => {}); // no response ever
  for (const address of addresses.filter((one) => !one.includes('?'))) {
    // A new document each time: a browser sends at most six requests at once, and none is answered.
    await page.goto('about:blank');
    await page.goto(`${daemon.url}/${fill(address)}`);
    // A detail beside a list has a heading of another level.
    await becomes(() => page.locator('h1:visible').count(), 1);
  }
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});

flow(
  'a page that cannot be loaded keeps its heading and states the reason',
  'full',
  async (page, daemon) => {
    await refuse(page, '**/api/v1/sessions*', 422, 'cannot read the history: the disk is full');
    await page.goto(`${daemon.url}/#/sessions`);
    await page
      .getByText(/the disk is full/)
      .first()
      .waitFor();
    await page.getByRole('heading', { name: 'Sessions', level: 1 }).waitFor();
    await page.unroute('**/api/v1/sessions*');
    await page.getByRole('button', { name: 'Try again' }).click();
    await settled(page, '/sessions');
    await page.getByText('Cannot show this page').waitFor({ state: 'detached' });
  },
);

flow(
  'while all servers are paused, every page says so and resumes them',
  'full',
  async (page, daemon) => {
    await page.goto(`${daemon.url}/#/`);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    const issues = page.getByText(/^(No issues|\d+ issues?)$/);
    const before = await issues.textContent();
    await daemon.api('PUT', '/desktop', { paused: true });
    for (const path of ['/', '/servers', '/calls', '/settings']) {
      await page.goto(`${daemon.url}/#${path}`);
      await page.reload();
      await page.getByRole('alert').filter({ hasText: 'All servers are paused' }).waitFor();
    }
    await page.goto(`${daemon.url}/#/`);
    const more = Number.parseInt(before, 10) + 1 || 1;
    await becomes(() => issues.textContent(), more === 1 ? '1 issue' : `${more} issues`);
    await inspect(page, 'all');
    await page.getByRole('button', { name: 'Resume', exact: true }).click();
    await page.getByText('All servers are paused').waitFor({ state: 'detached' });
    assert.equal((await daemon.api('GET', '/desktop')).paused, false);
    await becomes(() => issues.textContent(), before);
  },
);

flow(
  'if a changed file disables all servers, it waits for the user, then the page says so',
  'full',
  async (page, daemon) => {
    const { length } = await daemon.items('/servers');
    const text = await daemon.config();
    await daemon.writeConfig(text.replaceAll('"command"', '"disabled": true, "command"'));
    await page.goto(`${daemon.url}/#/configuration`);
    await page
      .getByText(/would stop \d+ servers/)
      .last()
      .waitFor();
    await inspect(page, 'all');
    await page.getByRole('button', { name: 'Apply this change' }).press('Enter');
    await page.getByRole('button', { name: 'Apply this change' }).waitFor({ state: 'detached' });
    for (const path of ['/', '/servers']) {
      await page.goto(`${daemon.url}/#${path}`);
      await page.reload();
      await page.getByText(`All ${length} servers are disabled`).waitFor();
    }
  },
);

flow(
  'a page whose script could not be loaded is requested again, then offers to reload',
  'full',
  async (page, daemon) => {
    let requests = 0;
    let failing = 1; // Chromium 150 remembers a failure until the page is reloaded, 156 does not
    await page.route('**/assets/calls-route*.js', (route) => {
      requests++;
      return failing-- > 0 ? route.abort() : route.continue();
    });
    await page.goto(`${daemon.url}/#/calls`);
    await page.getByRole('table', { name: 'Calls' }).waitFor();
    assert.equal(requests, 2);
    failing = Number.POSITIVE_INFINITY;
    await page.evaluate(() => sessionStorage.setItem('drawbridge.reloaded', String(Date.now())));
    await page.reload();
    await page.getByText('Cannot load part of this page.').waitFor();
    await inspect(page, 'all');
    failing = 0;
    await page.getByRole('button', { name: 'Reload' }).click();
    await page.getByRole('table', { name: 'Calls' }).waitFor();
  },
);

flow(
  'a part of a page whose script could not be loaded is there after the page has reloaded itself',
  'full',
  async (page, daemon) => {
    let loads = 0;
    await page.route(`${daemon.url}/`, (route) => {
      loads++;
      return route.continue();
    });
    await page.route('**/assets/codemirror*.js', (route) =>
      loads > 1 ? route.continue() : route.abort(),
    );
    await page.goto(`${daemon.url}/#/servers/filesystem?view=diagnostics`);
    await page.locator('.cm-content').first().waitFor();
    assert.equal(loads, 2);
  },
);
