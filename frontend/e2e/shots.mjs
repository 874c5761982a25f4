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
  ['calls-filtered', '#/calls?outcome=timeout&range=24h&q=a', ['full', 'trouble']],
  ['sessions', '#/sessions', ['full', 'empty']],
  ['session', '#/sessions/SESSION', ['full']],
  ['usage', '#/usage', ['full', 'empty']],
  ['tools', '#/tools', ['full', 'empty', 'hostile']],
  ['tool', '#/tools?tool=filesystem__search_files', ['full']],
  ['tools-effect', '#/tools?group=effect', ['full']],
  ['compare', '#/calls/NEWEST?with=OTHER', ['full']],
  ['picture', '#/calls/PICTURE', ['full']],
  ['add', '#/add', ['full']],
  ['questions', '#/questions', ['full', 'trouble', 'hostile']],
  ['clients', '#/clients', ['full', 'empty', 'trouble']],
  ['settings', '#/settings', ['full', 'trouble']],
  ['locked', '#/', ['locked']],
];
const snippet = `{
  "mcpServers": {
    "weather": {
      "command": "npx",
      "args": ["-y", "@acme/server-weather", "--home", "/path/to/places"],
      "env": { "WEATHER_KEY": "\${WEATHER_KEY}", "LANG": "en" }
    },
    "github": { "url": "https://api.githubcopilot.com/mcp/" }
  }
}`;
for (const scene of ['full', 'empty', 'trouble', 'hostile', 'locked']) {
  const mock = await startMock({ scene, rate: 0 });
  for (const [size, viewport] of Object.entries(sizes)) {
    for (const colorScheme of ['light', 'dark']) {
      const context = await browser.newContext({ viewport, colorScheme });
      for (const [name, address, scenes] of shots) {
        if (!scenes.includes(scene) || (only.length > 0 && !only.includes(name))) continue;
        const page = await context.newPage();
        const ended = mock.world.calls.find((c) => c.outcome === 'ok' && c.server === 'postgres');
        const others = mock.world.calls.filter((c) => c.tool === ended?.tool && c.id !== ended?.id);
        const read = mock.world.calls.find((c) => c.outcome === 'ok' && c.tool.startsWith('read'));
        await page.goto(
          `${mock.url}/${address
            .replace('NEWEST', ended?.id ?? '0')
            .replace('SESSION', mock.world.calls[0]?.session ?? '0')
            .replace('OTHER', others[0]?.id ?? '0')
            .replace('PICTURE', read?.id ?? '0')}`,
        );
        await page.waitForTimeout(600);
        if (name === 'add') {
          await page.getByRole('textbox').first().fill(snippet);
        }
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
