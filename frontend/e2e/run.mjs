// Drives the built page in chromium against the mock daemon: node e2e/run.mjs
// Every page must be free of axe findings, policy reports, errors and sideways
// scrolling, in light and dark, from 320 px up; and the flows below must work.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { startMock } from '../dev/mock.mjs';
import { launch, sizes } from './browser.mjs';

const axe = readFileSync(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
const browser = await launch();
let passed = 0;
const failures = [];

const only = process.argv[2]; // a part of a name runs just those

async function check(name, run) {
  if (only && !name.includes(only)) return;
  try {
    await run();
    passed++;
  } catch (error) {
    failures.push(name);
    console.error(`FAIL ${name}\n  ${String(error.message).split('\n').slice(0, 25).join('\n  ')}`);
  }
}

/** A page that remembers everything that should not happen. */
async function watched(context) {
  const page = await context.newPage();
  page.troubles = [];
  page.on('pageerror', (error) => page.troubles.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => {
    page.troubles.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on('console', (message) => {
    // A refused or failed request is logged by the browser itself; the flows ask for some.
    if (message.type() === 'error' && !/Failed to load resource|net::ERR/.test(message.text())) {
      page.troubles.push(`console: ${message.text()}`);
    }
  });
  return page;
}

async function inspect(page) {
  const wide = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  assert.ok(wide <= 0, `the page is ${wide} px too wide`);
  // Through the debugger, which the page's policy does not bind.
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
    return violations.map((v) => `${v.id}: ${v.nodes[0]?.html.slice(0, 200)} (${v.nodes.length})`);
  });
  assert.deepEqual(found, []);
  assert.deepEqual(page.troubles, []);
}

const pages = [
  '#/',
  '#/servers',
  '#/servers/ONE',
  '#/calls',
  '#/calls/CALL',
  '#/calls/1',
  '#/tools',
  '#/tools?tool=TOOL',
  '#/clients',
  '#/settings',
  '#/nowhere',
];
const views = {
  ...sizes,
  narrow: { width: 320, height: 640 },
  large: { width: 3840, height: 2160 },
};

for (const scene of ['full', 'empty', 'trouble', 'hostile', 'locked']) {
  const mock = await startMock({ scene, rate: 0 });
  const one = mock.world.servers.find((s) => s.state === 'crashed') ?? mock.world.servers[0];
  for (const [size, viewport] of Object.entries(views)) {
    for (const colorScheme of size === 'desktop'
      ? ['light', 'dark']
      : [size === 'phone' ? 'dark' : 'light']) {
      const context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce' });
      context.setDefaultTimeout(6000);
      for (const address of scene === 'locked' ? ['#/'] : pages) {
        await check(`${scene} ${address} ${size} ${colorScheme}`, async () => {
          const page = await watched(context);
          try {
            const call = mock.world.calls.find((c) => c.outcome === 'ok');
            await page.goto(
              `${mock.url}/${address
                .replace('ONE', one?.id ?? 'none')
                .replace('CALL', call?.id ?? '0')
                .replace('TOOL', encodeURIComponent(mock.world.tools[0]?.name ?? 'none'))}`,
            );
            await page.locator('h1:visible, h2:visible').first().waitFor();
            await page.waitForTimeout(address === '#/calls/1' ? 1500 : 250);
            await inspect(page);
          } finally {
            await page.close(); // each page holds a stream, and a browser opens only six to one address
          }
        });
      }
      await context.close();
    }
  }
  await mock.close();
}

async function flow(name, options, run) {
  await check(name, async () => {
    const mock = await startMock(options);
    const context = await browser.newContext({ viewport: sizes.desktop });
    context.setDefaultTimeout(6000);
    const page = await watched(context);
    try {
      await run(page, mock, context);
      assert.deepEqual(page.troubles, []);
    } finally {
      await context.close();
      await mock.close();
    }
  });
}

await flow(
  'a one-time code lets the browser in and leaves the address',
  { scene: 'locked', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/`);
    await page.getByText('This browser has not been let in').waitFor();
    await page.goto(`${mock.url}/#code=good`);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    assert.ok(!page.url().includes('good'), page.url());
  },
);

await flow(
  'another tab that was let in unlocks this one',
  { scene: 'locked', rate: 0 },
  async (page, mock, context) => {
    await page.goto(`${mock.url}/`);
    await page.getByText('This browser has not been let in').waitFor();
    const other = await context.newPage();
    await other.goto(`${mock.url}/#code=good`);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  },
);

await flow('a spent code says so', { scene: 'locked', rate: 0 }, async (page, mock) => {
  await page.goto(`${mock.url}/#code=old`);
  await page.getByText('already used or has expired').waitFor();
});

await flow(
  'a call is seen from its start to its end',
  { scene: 'full', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/#/calls`);
    await page.getByText('Live').locator('visible=true').first().waitFor();
    const call = {
      ...mock.world.calls[5],
      id: String(Date.now() * 1000),
      at: new Date().toISOString(),
      tool: 'brand_new',
      outcome: '',
    };
    mock.send('call', call);
    const row = page.getByRole('listitem').filter({ hasText: 'brand_new' });
    await row.getByText('Running').waitFor();
    mock.send('call', { ...call, outcome: 'ok', tookNs: 1_234_000_000 });
    await row.getByText('1.23 s').waitFor();
  },
);

await flow(
  'numbers beyond 2^53 are shown as sent',
  { scene: 'full', rate: 0 },
  async (page, mock) => {
    const call = mock.world.calls.find((c) => c.outcome === 'ok');
    await page.goto(`${mock.url}/#/calls/${call.id}`);
    await page.getByText('9007199254740993').first().waitFor();
    await page.getByText('1.0', { exact: true }).waitFor();
  },
);

await flow(
  'the page recovers by itself when the daemon restarts',
  { scene: 'full', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/#/servers`);
    await page.getByText('Live').locator('visible=true').first().waitFor();
    const port = Number(new URL(mock.url).port);
    await mock.close();
    await page.getByText('Drawbridge does not answer').waitFor();
    await page.getByRole('link', { name: 'GitHub' }).waitFor(); // the last known state stays
    const again = await startMock({ scene: 'trouble', rate: 0, port });
    try {
      await page.getByRole('link', { name: 'Browser automation' }).waitFor({ timeout: 15_000 });
      assert.equal(await page.getByText('Drawbridge does not answer').count(), 0);
    } finally {
      await again.close();
    }
  },
);

await flow(
  'a server is stopped and started from its row',
  { scene: 'full', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/#/servers`);
    const row = page.getByRole('listitem').filter({ hasText: 'memory' });
    await row.getByRole('button', { name: 'More actions for memory' }).click();
    await page.getByRole('menuitem', { name: 'Stop' }).click();
    await row.getByText('Stopped').waitFor();
    await row.getByRole('button', { name: 'Start memory' }).click();
    await row.getByText('Running').waitFor();
  },
);

await flow(
  'filters live in the address and survive a reload',
  { scene: 'full', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/#/calls`);
    await page.getByLabel('Outcome').selectOption('failed');
    await page.getByLabel('Server').selectOption('github');
    await page.waitForURL(/outcome=failed.*server=github|server=github.*outcome=failed/);
    await page.reload();
    await page.getByRole('listitem').first().waitFor();
    assert.equal(await page.getByLabel('Server').inputValue(), 'github');
    for (const text of await page.getByRole('listitem').allTextContents())
      assert.match(text, /^(?=.*github)(?!.*\bOK\b)/);
  },
);

await flow(
  'the keyboard walks the calls and closes the detail',
  { scene: 'full', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/#/calls`);
    await page.getByRole('listitem').first().getByRole('link').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.waitForTimeout(150);
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(mock.world.calls[2].id));
    await page.keyboard.press('ArrowDown');
    await page.waitForURL(new RegExp(mock.world.calls[3].id));
    await page.keyboard.press('Escape');
    await page.waitForURL(/#\/calls$/);
  },
);

await flow(
  'the history is read to its end while scrolling',
  { scene: 'full', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/#/calls`);
    await page.getByRole('listitem').first().waitFor();
    const scroller = page.locator('.scroll-area').first();
    for (let i = 0; i < 60 && (await page.getByText('That is all there is.').count()) === 0; i++) {
      await scroller.evaluate((element) => element.scrollTo(0, element.scrollHeight));
      await page.waitForTimeout(80);
    }
    assert.ok(await page.getByText('That is all there is.').count());
    assert.ok((await page.getByRole('listitem').count()) < 80, 'only what is in view exists');
    const last = mock.world.calls.at(-1).id;
    await page.locator(`[data-call="${last}"]`).waitFor();
  },
);

await flow(
  'a tool is tried, with arguments as typed',
  { scene: 'full', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/#/tools?tool=postgres__query`);
    const box = page.getByLabel('Arguments (JSON)');
    await box.fill('{"sql": }');
    await page.getByText('see line 1, column 9').waitFor();
    await box.fill('{"sql": "select 1", "n": 9007199254740993}');
    const [request] = await Promise.all([
      page.waitForRequest((r) => r.url().endsWith('/api/v1/call')),
      page.getByRole('button', { name: 'Run tool' }).click(),
    ]);
    assert.match(request.postData(), /"n": 9007199254740993/);
    await page.getByText('Succeeded').waitFor();
    await page.getByText('9007199254740993', { exact: false }).nth(1).waitFor();
  },
);

await flow(
  'a thousand calls a second do not freeze the page',
  { scene: 'full', rate: 1000 },
  async (page, mock) => {
    await page.goto(`${mock.url}/#/calls`);
    await page.getByText('Live').locator('visible=true').first().waitFor();
    await page.waitForTimeout(1500);
    const longest = await page.evaluate(
      () =>
        new Promise((resolve) => {
          let last = performance.now();
          let worst = 0;
          const end = last + 4000;
          const tick = () => {
            const now = performance.now();
            worst = Math.max(worst, now - last);
            last = now;
            if (now < end) setTimeout(tick, 0);
            else resolve(worst);
          };
          tick();
        }),
    );
    console.log(`  longest pause at 1,000 calls/s: ${Math.round(longest)} ms`);
    assert.ok(longest < 700, `the page stood still for ${longest} ms`);
  },
);

await browser.close();
console.log(`${passed} passed, ${failures.length} failed`);
process.exit(failures.length > 0 ? 1 : 0);
