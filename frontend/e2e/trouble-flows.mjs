// Every page while things happen: the configuration is read again, a server crashes, the
// daemon goes and comes back, the session ends.
import { startMock } from '../dev/mock.mjs';
import { flow, ownPort } from './flow.mjs';
import { inspect, settled } from './harness.mjs';
import { becomes, live } from './waiting.mjs';

const addresses = [
  '/',
  '/servers',
  '/servers/filesystem',
  '/servers/filesystem?view=tools',
  '/servers/filesystem?view=log',
  '/servers/filesystem?view=debug',
  '/calls',
  '/calls/CALL',
  '/sessions',
  '/usage',
  '/checks',
  '/directory',
  '/directory?name=io.github.brave%2Fbrave-search-mcp-server',
  '/tools',
  '/tools?tool=filesystem__write_file',
  '/questions',
  '/clients',
  '/welcome',
  '/settings',
  '/add',
];

const go = (page, path) =>
  page.evaluate((to) => {
    location.hash = to;
  }, path);

flow(
  'every page lives through a reload of the configuration and a crash',
  { scene: 'full', rate: 0 },
  async (page, mock) => {
    const call = mock.world.calls.find((c) => c.outcome === 'ok');
    await page.goto(`${mock.url}/`);
    for (const address of addresses) {
      const path = address.replace('CALL', call.id);
      await go(page, path);
      await settled(page, path.split('?')[0]);
      mock.send('config', { applied: true });
      mock.send('catalog', 'filesystem');
      const server = mock.world.servers[0];
      Object.assign(server, {
        state: 'crashed',
        reason: `It exited while ${path} was shown.`,
        pid: 0,
      });
      mock.send('server', server);
      await page.waitForTimeout(120);
      Object.assign(server, { state: 'running', reason: '', pid: 48213 });
      mock.send('server', server);
      mock.send('removed', 'memory');
      mock.send(
        'server',
        mock.world.servers.find((s) => s.id === 'memory'),
      );
      await settled(page, path.split('?')[0]);
      await inspect(page);
    }
  },
);

flow(
  'every page comes back by itself after the daemon does',
  { scene: 'full', rate: 0, port: ownPort },
  async (page, mock) => {
    const port = Number(new URL(mock.url).port);
    let daemon = mock;
    await page.goto(`${mock.url}/`);
    await live(page);
    // All pages are there by then, also those that were never seen.
    await page.waitForFunction(() =>
      ['usage', 'checks', 'clients', 'settings', 'sessions'].every((name) =>
        performance.getEntriesByType('resource').some((r) => r.name.includes(`/${name}-route`)),
      ),
    );
    for (const path of [
      '/servers/filesystem?view=debug',
      '/usage',
      '/checks',
      '/clients',
      '/settings',
      '/sessions',
    ]) {
      await daemon.close();
      await page.getByText('Drawbridge is not responding').first().waitFor();
      await go(page, path); // a page that was never seen, asked for while nobody answers
      daemon = await startMock({ scene: 'full', rate: 0, port });
      await live(page);
      await settled(page, path.split('?')[0]);
      await inspect(page);
      await page.getByText('Cannot show this page').waitFor({ state: 'detached' });
    }
    await daemon.close();
  },
);

flow(
  'every page has its heading before its content comes',
  { scene: 'full', rate: 0, delay: () => 3_600_000 },
  async (page, mock) => {
    for (const address of addresses) {
      // Anew each time: a browser asks six things at once, and none of them is answered here.
      await page.goto('about:blank');
      await page.goto(`${mock.url}/#${address.replace('CALL', '1')}`);
      // What is shown beside a list has a heading of another level.
      await becomes(() => page.locator('h1:visible').count(), 1);
    }
  },
);

flow(
  'a page that cannot be read keeps its heading, and says why',
  { scene: 'full', rate: 0 },
  async (page, mock) => {
    await page.route('**/api/v1/checks*', (route) =>
      route.fulfill({
        status: 422,
        contentType: 'application/problem+json',
        body: '{"status":422,"code":"internal","detail":"cannot read the checks: the disk is full"}',
      }),
    );
    await page.goto(`${mock.url}/#/checks`);
    await page
      .getByText(/the disk is full/)
      .first()
      .waitFor();
    await page.getByRole('heading', { name: 'Checks', level: 1 }).waitFor();
    await page.unroute('**/api/v1/checks*');
    await page.getByRole('button', { name: 'Try again' }).click();
    await settled(page, '/checks');
    await page.getByText('Cannot show this page').waitFor({ state: 'detached' });
  },
);

flow(
  'a session that ends says so on any page, and a new link goes on there',
  { scene: 'full', rate: 0 },
  async (page, mock) => {
    for (const path of ['/usage', '/servers/filesystem?view=log']) {
      await page.goto(`${mock.url}/#${path}`);
      await settled(page, path.split('?')[0]);
      mock.expire(true);
      await page.getByText('This browser is not signed in').waitFor();
      mock.expire(false);
      await page.reload();
      await settled(page, path.split('?')[0]);
    }
  },
);
