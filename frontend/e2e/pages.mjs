// Every page in every scene: no axe findings, policy reports, errors or horizontal scrolling, in
// light and dark, from 320 px up to 4K, and at 200 %. With E2E_PICTURES=1 it writes screenshots of
// desktop and phone to build/e2e/output/pages, with E2E_PICTURES=all of the other sizes as well.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { changeAnswers } from './answers.mjs';
import { sizes } from './browser.mjs';
import { startDaemon } from './daemon.mjs';
import { inspect, settled, signIn, watched } from './harness.mjs';
import { corpus, evil, mangle } from './hostile-strings.mjs';
import { findInjections, watchForInjection } from './injection.mjs';
import { timeoutMs } from './waiting.mjs';

export const addresses = [
  '#/',
  '#/approvals', // early, because its calls wait for two minutes
  '#/servers',
  '#/servers/ONE',
  '#/servers/ONE?view=tools',
  '#/servers/ONE?view=calls',
  '#/servers/ONE?view=log',
  '#/servers/ONE?view=config',
  '#/servers/github?view=config', // with accounts

  '#/servers/ONE?view=diagnostics',
  '#/servers/memory/update',
  '#/welcome',
  '#/welcome?step=clients',
  '#/welcome?step=call',
  '#/add',
  '#/calls',
  '#/calls/CALL',
  '#/calls/CALL?with=OTHER',
  '#/calls/1',
  '#/calls/PICTURE',
  '#/calls?range=24h&q=a&slow=1',
  '#/sessions',
  '#/sessions/SESSION',
  '#/usage',
  '#/directory',
  '#/directory?name=io.github.brave%2Fbrave-search-mcp-server',
  '#/directory?file=1',
  '#/profiles',
  '#/profiles/office',
  '#/profiles?make=1',
  '#/tools',
  '#/tools?tool=TOOL',
  '#/clients',
  '#/settings',
  '#/configuration',
  '#/nowhere',
];

// Hostile texts in every field with text from servers and clients, also those that no server can
// fill. Long strings and many tools are in build/e2e/page_hostile_test.go.
const hostile = {
  hostile: { everywhere: evil },
  'hostile: 200 strings in every field': { corpus },
  'hostile: half of a surrogate pair in every field': { everywhere: '\ud800 lone high' },
};

// axe's findings depend on colours and on what a size hides, and not on texts. The scenes show the same
// components, so in dark colours axe checks on a desktop only contrast in one scene, and on a phone two
// scenes. The other sizes check the layout.
const views = [
  {
    size: 'desktop',
    viewport: sizes.desktop,
    colorScheme: 'light',
    rules: 'all',
    only: ['full', 'empty', 'trouble', 'locked'],
  },
  {
    size: 'desktop',
    viewport: sizes.desktop,
    colorScheme: 'light',
    only: Object.keys(hostile),
  },
  {
    size: 'desktop',
    viewport: sizes.desktop,
    colorScheme: 'dark',
    rules: 'colours',
    only: ['full'],
  },
  {
    size: 'phone',
    viewport: sizes.phone,
    colorScheme: 'dark',
    rules: 'all',
    only: ['full', 'trouble'],
  },
  {
    size: 'phone',
    viewport: sizes.phone,
    colorScheme: 'light',
    only: ['full', 'hostile'],
  },
  {
    size: 'narrow',
    viewport: { width: 320, height: 640 },
    colorScheme: 'light',
    only: ['full', 'trouble', 'hostile'],
  },
  {
    size: 'zoomed', // 1280x800 at 200 %
    viewport: { width: 640, height: 400 },
    colorScheme: 'light',
    only: ['full'],
  },
  {
    size: 'large',
    viewport: { width: 3840, height: 2160 },
    colorScheme: 'light',
    only: ['full'],
  },
];

const output = fileURLToPath(new URL('../../build/e2e/output/pages', import.meta.url));

/** Takes a screenshot, named after scene, page and colours. */
function picture(page, scene, address, size, colorScheme) {
  mkdirSync(output, { recursive: true });
  const place = address
    .replace(/^#\//, '')
    .replace(/[^a-zA-Z0-9]+/g, '-')
    .replace(/-$/, '')
    .toLowerCase();
  return page.screenshot({
    path: `${output}/${scene}-${place || 'overview'}-${size}-${colorScheme}.png`,
  });
}

/** One job for each scene and view: one page visits all paths, as a user would. */
export function pages(browser, tally) {
  return views.flatMap((view) => view.only.map((scene) => () => walk(browser, tally, scene, view)));
}

/** Returns a function that puts the names of this daemon into an address. */
export async function naming(daemon) {
  const servers = await daemon.items('/servers');
  const ended = await daemon.items('/calls?outcome=ok&limit=2');
  const [shown] = await daemon.items('/calls?outcome=ok&tool=read_text_file&limit=1');
  const [tool] = await daemon.items('/tools');
  const one = servers.find((server) => server.state === 'crashed') ?? servers[0];
  return (address) =>
    address
      .replace('PICTURE', shown?.id ?? '0')
      .replace('ONE', one?.id ?? 'none')
      .replace('SESSION', encodeURIComponent(ended[0]?.session ?? 'none'))
      .replace('CALL', ended[0]?.id ?? '0')
      .replace('OTHER', ended[1]?.id ?? '0')
      .replace('TOOL', encodeURIComponent(tool?.name ?? 'none'));
}

/** The path that is shown for a path: a new installation shows the first steps. */
export function pathOf(scene, address) {
  if (scene === 'empty' && address === '#/') return '/welcome';
  return address.slice(1).split('?')[0];
}

async function walk(browser, tally, scene, { size, viewport, colorScheme, rules }) {
  const nameOf = (address) => `${scene} ${address} ${size} ${colorScheme}`;
  const wanted = (scene === 'locked' ? ['#/'] : addresses).filter((a) => tally.wants(nameOf(a)));
  if (wanted.length === 0) return;
  const strings = hostile[scene];
  const daemon = await startDaemon(strings ? 'trouble' : scene === 'locked' ? 'empty' : scene);
  const context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce' });
  context.setDefaultTimeout(timeoutMs);
  const fill = await naming(daemon);
  const open = async () => {
    const page = await watched(context);
    if (scene !== 'locked') await signIn(page, daemon);
    if (strings) {
      await watchForInjection(page, daemon.url);
      await changeAnswers(page, mangle, strings);
    }
    await page.goto(`${daemon.url}/`);
    return page;
  };
  let page = await open();
  for (const address of wanted) {
    await tally.check(nameOf(address), async () => {
      try {
        await page.evaluate((hash) => {
          location.hash = hash;
        }, fill(address));
        const path = pathOf(scene, fill(address));
        await settled(page, scene === 'locked' ? undefined : path);
        await inspect(page, rules);
        if (strings) {
          assert.deepEqual([...(await findInjections(page)), ...page.strange], []);
          assert.ok(await page.evaluate(() => window.mangled > 100), 'few strings are shown');
        }
        const pictures = process.env.E2E_PICTURES;
        if (pictures === 'all' || (pictures && sizes[size])) {
          // Without axe, the previous page may still be shown.
          if (!rules) await page.waitForTimeout(150);
          await settled(page, scene === 'locked' ? undefined : path);
          await picture(page, scene, address, size, colorScheme);
        }
      } catch (error) {
        // A failure must not affect the next path.
        await page.close();
        page = await open();
        throw error;
      }
    });
  }
  await context.close();
  await daemon.close();
}
