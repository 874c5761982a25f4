// Takes the pictures of docs/pictures and the animation of the README from the page, with a
// daemon: make daemon, then npm run pictures. Needs chromium; the animation also ffmpeg and gifsicle.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch } from '../e2e/browser.mjs';
import { startDaemon } from '../e2e/daemon.mjs';
import { signIn } from '../e2e/harness.mjs';
import { settled } from '../e2e/waiting.mjs';

const target = fileURLToPath(new URL('../../docs/pictures/', import.meta.url));
const frames = mkdtempSync(join(tmpdir(), 'pictures-'));
const framesPerSecond = 4;
const browser = await launch();

/** A page of a daemon with a client that makes `rate` calls per second. */
async function open(rate, viewport) {
  const daemon = await startDaemon('full');
  const context = await browser.newContext({ viewport, colorScheme: 'light' });
  const page = await context.newPage();
  await signIn(page, daemon);
  const call = await daemon.client('claude-code', 'filesystem');
  const timer = rate && setInterval(call, 1000 / rate, 'search_files', { pattern: '**/*.md' });
  const go = async (path) => {
    await page.goto(`${daemon.url}/#${path}`);
    await settled(page);
  };
  const close = () => {
    clearInterval(timer);
    return daemon.close();
  };
  return { close, page, go };
}

async function takePictures() {
  const { close, page, go } = await open(0, { width: 1280, height: 800 });
  for (const [name, path] of [
    ['overview', '/'],
    ['tools', '/tools'],
    ['usage', '/usage'],
  ]) {
    await go(path);
    await page.screenshot({ path: `${target}${name}.png` });
  }
  await go('/calls');
  await page
    .getByRole('table', { name: 'Calls' })
    .getByRole('row')
    .nth(4)
    .getByRole('link')
    .first()
    .click();
  await settled(page);
  await page.screenshot({ path: `${target}calls.png` });
  await close();
}

async function takeAnimation() {
  const { close, page, go } = await open(2, { width: 1000, height: 640 });
  let count = 0;
  const hold = async (seconds) => {
    for (let i = 0; i < seconds * framesPerSecond; i++) {
      await page.screenshot({ path: join(frames, `${String(count++).padStart(4, '0')}.png`) });
      await page.waitForTimeout(1000 / framesPerSecond - 100);
    }
  };
  const navigation = page.getByRole('navigation').first();
  const visit = (name) => navigation.getByRole('link', { name }).first().click();
  const typeSlowly = async (field, text, step) => {
    for (let i = step; i < text.length + step; i += step) {
      await field.fill(text.slice(0, i));
      await hold(1 / framesPerSecond);
    }
  };

  await go('/');
  await hold(5);
  await visit('Servers');
  await hold(4);
  await visit('Tools');
  await hold(2);
  await page.getByRole('searchbox').first().fill('search');
  await hold(3);
  await visit('Calls');
  await hold(5);
  await typeSlowly(page.getByRole('searchbox').first(), 'outcome:error ', 4);
  await hold(2);
  await page
    .getByRole('table', { name: 'Calls' })
    .getByRole('row')
    .nth(4)
    .getByRole('link')
    .first()
    .click();
  await hold(5);
  await visit('Clients');
  await hold(3);
  const raw = join(frames, 'raw.gif');
  execFileSync('ffmpeg', [
    ...['-loglevel', 'error', '-y', '-framerate', String(framesPerSecond)],
    ...['-i', join(frames, '%04d.png')],
    ...[
      '-vf',
      'split[a][b];[a]palettegen=max_colors=96:stats_mode=full[p];[b][p]paletteuse=dither=none:diff_mode=rectangle',
      raw,
    ],
  ]);
  execFileSync('gifsicle', ['-O3', '--lossy=30', raw, '-o', `${target}drawbridge.gif`]);
  await close();
}

try {
  await takePictures();
  await takeAnimation();
} finally {
  await browser.close();
  rmSync(frames, { recursive: true });
}
process.exit(0);
