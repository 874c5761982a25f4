// The page under load.
import assert from 'node:assert/strict';
import { changeResponse } from './answers.mjs';
import { sizes } from './browser.mjs';
import { startDaemon } from './daemon.mjs';
import { signIn, watched } from './harness.mjs';
import { live, timeoutMs } from './waiting.mjs';

/** The machine may be busy, so only a long freeze is a failure. */
const slack = Number(process.env.DRAWBRIDGE_TIME_FACTOR ?? 5);

export async function load(browser, check) {
  await check('a thousand calls a second do not freeze the page', () => flood(browser));
  await check('100,000 calls scroll smoothly', () => scroll(browser));
}

/** Opens the calls of a daemon with a client that makes `rate` calls per second. */
async function open(browser, rate, prepare) {
  const daemon = await startDaemon();
  const context = await browser.newContext({ viewport: sizes.desktop });
  context.setDefaultTimeout(timeoutMs);
  const page = await watched(context);
  await signIn(page, daemon);
  await prepare?.(page);
  await page.goto(`${daemon.url}/#/calls`);
  await live(page);
  const call = await daemon.client('claude-code', 'filesystem');
  let sent = 0;
  const timer = setInterval(
    () => {
      for (let i = 0; i < Math.max(1, rate / 50); i++, sent++)
        call('list_directory', {}).catch(() => {});
    },
    Math.max(20, 1000 / rate),
  );
  const close = async () => {
    clearInterval(timer);
    await context.close();
    await daemon.close();
    return sent;
  };
  return { page, close };
}

async function flood(browser) {
  const { page, close } = await open(browser, 1000);
  await page.waitForTimeout(1000); // the first paint is not measured
  // Measured again if the machine was busy.
  let longest = await longestPause(page);
  for (let i = 0; i < 3 && longest >= 700 * slack; i++) longest = await longestPause(page);
  const sent = await close();
  console.log(`longest pause at 1,000 calls/s: ${Math.round(longest)} ms (${sent} calls)`);
  assert.ok(longest < 700 * slack, `the page stood still for ${longest} ms`);
  assert.deepEqual(page.troubles, []);
}

function longestPause(page) {
  return page.evaluate(
    () =>
      new Promise((resolve) => {
        let last = performance.now();
        let worst = 0;
        const end = last + 3000;
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
}

const many = 100_000;

async function scroll(browser) {
  const start = Date.now() * 1000;
  const { page, close } = await open(browser, 20, (page) =>
    changeResponse(page, '**/api/v1/calls?*', (answer, { searchParams }) => {
      const [sample] = answer.items;
      const before = Number(searchParams.get('before') ?? start);
      // Loading up to the end must not be measured.
      answer.items = Array.from({ length: 5000 }, (_, i) => {
        const at = before - i - 1;
        return { ...sample, id: String(at), at: new Date(at / 1000).toISOString() };
      });
      answer.next = before - 5000 > start - many ? String(before - 5000) : '';
    }),
  );
  const list = '.scroll-area:has([aria-label=Calls])';
  const rows = () =>
    page.locator(`${list} [aria-label=Calls]`).evaluate((all) => Math.round(all.offsetHeight / 48));
  await page.locator('[data-call]').first().waitFor();
  // The speed of the machine, with a list of one page.
  const few = await frames(page, list);
  while ((await rows()) < many) {
    await page.locator(list).evaluate((box) => box.scrollTo(0, box.scrollHeight));
    await page.waitForTimeout(30);
  }
  // Measured again if the machine was busy.
  let full = await frames(page, list);
  const most = 12 * slack + 1.5 * few.late;
  for (let i = 0; i < 3 && full.late > most; i++) full = await frames(page, list);
  const elements = await page.locator('[data-call]').count();
  await close();
  console.log(
    `scrolling ${many} calls: ${full.late} of 239 frames late (over 50 ms), worst ${Math.round(full.worst)} ms, with few calls ${few.late} and ${Math.round(few.worst)} ms; ${elements} rows exist`,
  );
  assert.ok(elements < 100, 'only what is in view exists');
  assert.ok(full.late <= most, `${full.late} of 239 frames were late, with few calls ${few.late}`);
  assert.deepEqual(page.troubles, []);
}

/** The intervals between frames while a list is scrolled quickly. */
function frames(page, list) {
  return page.locator(list).evaluate(
    (box) =>
      new Promise((resolve) => {
        const gaps = [];
        let last = performance.now();
        let at = 0;
        box.scrollTop = 0;
        const frame = (now) => {
          gaps.push(now - last);
          last = now;
          at += 400;
          if (at > box.scrollHeight) at = 0;
          box.scrollTop = at;
          if (gaps.length < 240) requestAnimationFrame(frame);
          else {
            gaps.shift();
            resolve({ worst: Math.max(...gaps), late: gaps.filter((gap) => gap > 50).length });
          }
        };
        requestAnimationFrame(frame);
      }),
  );
}
