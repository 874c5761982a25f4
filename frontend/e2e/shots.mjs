// Takes a screenshot of every page: node e2e/shots.mjs FOLDER [page ...]
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startMock } from '../dev/mock.mjs';
import { launch, sizes } from './browser.mjs';

const [folder = 'shots', ...only] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const browser = await launch();

const shots = [
  ['overview', '#/', ['full', 'empty', 'trouble']],
  ['servers', '#/servers', ['full', 'empty', 'trouble']],
  ['server', '#/servers/filesystem', ['full']],
  ['server-crashed', '#/servers/browser', ['trouble']],
  ['calls', '#/calls', ['full', 'empty']],
  ['call', '#/calls/NEWEST', ['full']],
  ['tools', '#/tools', ['full', 'empty', 'hostile']],
  ['tool', '#/tools?tool=filesystem__search_files', ['full']],
  ['clients', '#/clients', ['full', 'empty']],
  ['settings', '#/settings', ['full', 'trouble']],
  ['locked', '#/', ['locked']],
];
for (const scene of ['full', 'empty', 'trouble', 'hostile', 'locked']) {
  const mock = await startMock({ scene, rate: 0 });
  for (const [size, viewport] of Object.entries(sizes)) {
    for (const colorScheme of ['light', 'dark']) {
      const context = await browser.newContext({ viewport, colorScheme });
      for (const [name, address, scenes] of shots) {
        if (!scenes.includes(scene) || (only.length > 0 && !only.includes(name))) continue;
        const page = await context.newPage();
        const ended = mock.world.calls.find((c) => c.outcome === 'ok' && c.server === 'postgres');
        await page.goto(`${mock.url}/${address.replace('NEWEST', ended?.id ?? '0')}`);
        await page.waitForTimeout(600);
        await page.screenshot({
          path: join(folder, `${name}-${scene}-${size}-${colorScheme}.png`),
        });
        await page.close();
      }
      await context.close();
    }
  }
  await mock.close();
}
await browser.close();
