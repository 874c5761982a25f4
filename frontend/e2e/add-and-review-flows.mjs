// What is reviewed before it is saved: new servers, and changes of configuration files.
import assert from 'node:assert/strict';
import { makeScene } from '../dev/mock-scenes.mjs';
import { flow } from './flow.mjs';
import { inspect } from './harness.mjs';
import { becomes } from './waiting.mjs';

const empty = { scene: 'empty', rate: 0 };
const quiet = { scene: 'full', rate: 0 };

const paste = (page) => page.getByLabel('Paste a snippet, a command or a URL');

flow(
  'the review of a move shows the diff of each file as the daemon made it',
  empty,
  async (page, mock) => {
    mock.world.connections.push(...makeScene('full').connections);
    const files = {
      '/home/ada/.config/drawbridge/config.json': [
        '@@ -1,4 +1,8 @@',
        ' {',
        '   // servers of everyone',
        '   "mcpServers": {',
        '+    "files": {',
        '+      "command": "npx",',
        '+      "args": ["files-mcp"]',
        '+    },',
        '   }',
      ],
      '/home/ada/.claude.json': [
        '@@ -1,6 +1,6 @@',
        ' {',
        '   "numStartups": 3,',
        '   "mcpServers": {',
        '-    "files": {',
        '-      "command": "npx",',
        '+    "files": {',
        '+      "command": "/usr/bin/drawbridge",',
        '     },',
      ],
    };
    const diff = Object.entries(files)
      .map(([path, lines]) => `--- ${path}\n+++ ${path}\n${lines.join('\n')}\n`)
      .join('');
    const { takeover } = mock.world;
    mock.world.takeover = function () {
      const plan = takeover.call(this);
      return { ...plan, clients: plan.clients.map((one) => ({ ...one, diff })) };
    };
    await page.goto(`${mock.url}/#/welcome`);
    await page.getByRole('button', { name: /^Move 4 servers/ }).press('Enter');
    const dialog = page.getByRole('dialog');
    for (const [path, lines] of Object.entries(files)) {
      const region = dialog.getByRole('region', { name: `Changes for Cursor: ${path}` });
      await region.waitFor();
      assert.deepEqual(
        await region.locator('.cm-line').evaluateAll((all) =>
          all.map((line) => {
            const sign = getComputedStyle(line, ':before').content;
            const before = { '"+"': '+', '"−"': '-' }[sign] ?? ' ';
            return line.classList.contains('cm-hunkLine')
              ? line.textContent
              : before + line.textContent;
          }),
        ),
        lines,
      );
    }
    await inspect(page, 'all');
  },
);

flow(
  'a link out of the home folder is followed only after a second confirmation that names its target',
  empty,
  async (page, mock) => {
    mock.world.connections.push(...makeScene('full').connections);
    mock.world.outside.cursor = '/mnt/team/mcp.json';
    const move = page.getByRole('button', { name: 'Move all' });
    const second = page.getByRole('dialog', { name: /outside your home folder/ });
    await page.goto(`${mock.url}/#/welcome`);
    await page.getByRole('button', { name: /^Move 4 servers/ }).press('Enter');
    await move.press('Enter');
    await second.getByText('/mnt/team/mcp.json').waitFor();
    await second.getByRole('button', { name: 'Cancel' }).press('Enter');
    await move.press('Enter');
    await second.getByRole('button', { name: 'Apply' }).press('Enter');
    await page.getByRole('region', { name: 'Results by client' }).waitFor();

    mock.world.connect('cursor', false);
    const plan = { diff: '+ x', outside: '/mnt/team/mcp.json', reload: '', warnings: [] };
    const written = [];
    const answer = (route) => route.fulfill({ json: plan });
    await page.route('**/connections/cursor/servers', (route) =>
      route.fulfill({ json: { items: [], next: '' } }),
    );
    await page.route('**/connections/cursor/plan', answer);
    await page.route('**/connections/cursor/connect', (route) => {
      written.push(route.request().postDataJSON().outside);
      return answer(route);
    });
    await page.goto(`${mock.url}/#/clients`);
    await page.getByRole('button', { name: 'Connect…' }).first().press('Enter');
    await page.getByRole('button', { name: 'Apply' }).press('Enter');
    await second.getByText('/mnt/team/mcp.json').waitFor();
    assert.deepEqual(written, []);
    await second.getByRole('button', { name: 'Apply' }).press('Enter');
    await second.waitFor({ state: 'detached' });
    await becomes(() => written.flat().join(), '/mnt/team/mcp.json');
  },
);

flow('a server is not added while its text is not valid', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/add`);
  await paste(page).fill('{"mcpServers":{"tide":{"command":"npx","args":["tide-mcp"]}}}');
  await page.getByRole('button', { name: 'Edit', exact: true }).press('Enter');
  const entry = page.getByRole('textbox', { name: 'Entry in the configuration file' });
  await entry.fill('{ "command": "npx", "args": ["tide-mcp", }');
  await page.getByText(/^Not valid JSON/).waitFor();
  const add = page.getByRole('button', { name: 'Add server', exact: true });
  const done = page.getByRole('button', { name: 'Done', exact: true });
  assert.equal(await add.isDisabled(), true);
  assert.equal(await done.isDisabled(), true);
  await page.getByText('The entry of “tide” is not a JSON object. Correct it first.').waitFor();
  await inspect(page, 'all');
  // The text survives another page.
  await page.goto(`${mock.url}/#/servers`);
  await page.goto(`${mock.url}/#/add`);
  await entry.getByText('"tide-mcp", }').waitFor();
  assert.equal(await add.isDisabled(), true);
  await entry.fill('{ "command": "npx", "args": ["tide-mcp@2"] }');
  await becomes(() => add.isDisabled(), false);
  await done.press('Enter');
  await page.getByText('tide-mcp@2').last().waitFor();
  await add.press('Enter');
  await page.waitForURL(/servers\/tide/);
  assert.match(mock.world.config.text, /tide-mcp@2/);
});

flow('a disabled server is reviewed and added as disabled', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/add`);
  await paste(page).fill('{"mcpServers":{"tide":{"command":"npx","disabled":true}}}');
  await page.getByText('This server is added as disabled').waitFor();
  await inspect(page, 'all');
  await page.getByRole('button', { name: 'Add server', exact: true }).press('Enter');
  await page.waitForURL(/servers\/tide/);
  assert.match(mock.world.config.text, /"tide": \{[^}]*"disabled": true/);
});

flow('text that is no server is refused with a reason', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/add`);
  await paste(page).fill('hello world this is not a thing');
  await page.getByText(/^No server found in this text/).waitFor();
  await paste(page).fill('zed://unknown/link');
  await page.getByText(/^This link cannot be read/).waitFor();
  await inspect(page, 'all');
});

flow(
  'the link from a tool leads to its settings, and no choice is cut',
  quiet,
  async (page, mock) => {
    await page.setViewportSize({ width: 1280, height: 800 });
    const tool = mock.world.tools.filter((one) => one.server === 'github').at(-1);
    await page.goto(`${mock.url}/#/tools?tool=${encodeURIComponent(tool.name)}`);
    await page.getByRole('link', { name: 'Approval, limits, recording' }).click();
    const row = page.locator('li[aria-current="true"]', { hasText: tool.tool });
    await row.waitFor();
    await becomes(
      () =>
        row.evaluate((element) => {
          const { top, bottom } = element.getBoundingClientRect();
          return top >= 0 && bottom <= innerHeight;
        }),
      true,
    );
    const cut = await row.getByRole('combobox').evaluateAll((all) =>
      all
        .filter((select) => {
          const { fontSize, fontFamily, paddingLeft, paddingRight } = getComputedStyle(select);
          const context = document.createElement('canvas').getContext('2d');
          context.font = `${fontSize} ${fontFamily}`;
          const widest = Math.max(
            ...[...select.options].map((option) => context.measureText(option.text).width),
          );
          return (
            widest > select.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight) + 1
          );
        })
        .map((select) => select.ariaLabel),
    );
    assert.deepEqual(cut, []);
    await inspect(page, 'all');
  },
);

flow('the numbers of the overview and of the usage fit their boxes', quiet, async (page, mock) => {
  for (const [width, path] of [
    [1280, '/'],
    [768, '/usage'],
    [640, '/usage'],
    [1024, '/usage'],
  ]) {
    await page.setViewportSize({ width, height: 800 });
    await page.goto(`${mock.url}/#${path}`);
    const list = page.locator('dl.grid.bg-line').first();
    await list
      .getByText(path === '/' ? /of \d/ : 'Median')
      .first()
      .waitFor();
    const wrong = () =>
      list.locator('dd span:not(:has(span))').evaluateAll((all) =>
        all
          .filter((span) => {
            const lines = new Set();
            const range = document.createRange();
            range.selectNodeContents(span);
            for (const { top } of range.getClientRects()) lines.add(Math.round(top));
            const box = span.closest('div').getBoundingClientRect();
            const { right } = range.getBoundingClientRect();
            return lines.size > 1 || right > box.right - 8;
          })
          .map((span) => span.textContent),
      );
    await becomes(wrong, []); // the fonts and the columns may still change
  }
});
