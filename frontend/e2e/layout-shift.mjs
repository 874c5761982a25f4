// No layout shift while a page loads: every page is opened in a new document, the responses of the
// daemon arrive one after another, and the browser adds up the shifts.
import assert from 'node:assert/strict';
import { sizes } from './browser.mjs';
import { startDaemon } from './daemon.mjs';
import { settled, signIn, watched } from './harness.mjs';
import { addresses, naming, pathOf } from './pages.mjs';
import { live, timeoutMs } from './waiting.mjs';

/** Most pages have no shift; browsers call 0.1 good. */
const most = 0.05;

/** Each response has its own delay, the same in each run (an ID is not): 20 to 300 ms. */
function delay(path) {
  let sum = 0;
  for (const c of path.replace(/\d+/g, '')) sum = (sum * 31 + c.charCodeAt(0)) % 29;
  return 20 + sum * 10;
}

// The skeletons are visible when the content arrives: they appear after a delay, so that on a fast
// machine the walks above do not see them move.
const eventsLast = (path) => (path.endsWith('/events') ? 900 : 20);
const detailsLast = (path) =>
  /\/(events|status|approvals|calls|servers|tools|profiles)$/.test(path) ? 20 : 800;
const details = addresses.filter((address) => /CALL|PICTURE|SESSION|TOOL|office/.test(address));

const walks = [
  { scene: 'full', size: 'desktop', of: addresses },
  { scene: 'full', size: 'phone', of: addresses },
  {
    scene: 'trouble',
    size: 'desktop',
    of: ['#/', '#/servers', '#/servers/ONE', '#/approvals', '#/clients', '#/settings'],
  },
  { scene: 'empty', size: 'desktop', of: ['#/', '#/servers', '#/calls', '#/tools', '#/clients'] },
  { scene: 'full', size: 'phone', of: details, order: 'details last', late: detailsLast },
  { scene: 'full', size: 'desktop', of: details, order: 'events last', late: eventsLast },
];

/** Jobs that open pages; they wait more than they compute. */
export function stillness(browser, tally) {
  return walks.map((one) => () => walk(browser, tally, one));
}

async function walk(browser, tally, { scene, size, of, order = '', late = delay }) {
  const nameOf = (address) => `nothing moves: ${scene} ${address} ${size} ${order}`.trim();
  const wanted = of.filter((address) => tally.wants(nameOf(address)));
  if (wanted.length === 0) return;
  const daemon = await startDaemon(scene);
  const fill = await naming(daemon);
  const context = await browser.newContext({ viewport: sizes[size], reducedMotion: 'reduce' });
  context.setDefaultTimeout(timeoutMs);
  await context.addInitScript(observe);
  const page = await watched(context);
  await signIn(page, daemon, late);
  for (const address of wanted) {
    await tally.check(nameOf(address), async () => {
      const at = fill(address);
      // Measured again if the machine was busy: a shift of the page itself occurs each time, because
      // the delays are the same each time.
      for (let left = 2; ; left--) {
        const { sum, moved } = await shifts(page, daemon.url, at, pathOf(scene, at));
        if (process.env.E2E_SHIFTS) console.log(`${sum.toFixed(4)} ${nameOf(address)}`);
        if (sum < most) break;
        if (left === 0) assert.fail(`${sum.toFixed(3)}: ${JSON.stringify(moved, null, 1)}`);
      }
    });
  }
  await context.close();
  await daemon.close();
}

/** The layout shift while a page is opened in a new document. */
async function shifts(page, url, at, path) {
  await page.goto('about:blank'); // otherwise only the hash would change
  await page.goto(`${url}/${at}`);
  await settled(page, path);
  await live(page); // the events may be the last to arrive
  // The last response has arrived and is painted.
  await page.waitForTimeout(350);
  await settled(page, path);
  const moved = await page.evaluate(() => window.moved);
  return { moved, sum: moved.reduce((total, { value }) => total + value, 0) };
}

/** Runs in the page before its scripts. */
function observe() {
  window.moved = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      window.moved.push({
        value: entry.value,
        what: entry.sources.slice(0, 3).map(({ node, previousRect: a, currentRect: b }) => {
          const element = node?.nodeType === 1 ? node : node?.parentElement;
          return `${element?.tagName} "${element?.textContent?.slice(0, 40)}" ${a.y}>${b.y} ${a.x}>${b.x}`;
        }),
      });
    }
  }).observe({ type: 'layout-shift', buffered: true });
}
