// What is reviewed before it is saved: new servers, and changes of configuration files.
import assert from 'node:assert/strict';
import { readFile, rename, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { flow } from './flow.mjs';
import { inspect } from './harness.mjs';
import { becomes, focused } from './waiting.mjs';

const paste = (page) => page.getByLabel('Paste a snippet, a command or a URL');

flow(
  'the review of a move shows the diff of each file as the daemon made it',
  'moving',
  async (page, daemon) => {
    const { clients } = await daemon.api('GET', '/takeover');
    await page.goto(`${daemon.url}/#/welcome`);
    await page.getByRole('button', { name: /^Move 4 servers/ }).press('Enter');
    const dialog = page.getByRole('dialog');
    for (const { name } of clients)
      await dialog.getByText(`Show changes for ${name}`).press('Enter');
    let shown = 0;
    for (const { name, diff } of clients)
      for (const file of diff.split(/^--- /m).slice(1)) {
        const [path, , ...lines] = file.trimEnd().split('\n');
        const region = dialog.getByRole('region', { name: `Changes for ${name}: ${path}` });
        await region.waitFor();
        const drawn = await region.locator('.cm-line').evaluateAll((all) =>
          all.map((line) => {
            const sign = getComputedStyle(line, ':before').content;
            const before = { '"+"': '+', '"−"': '-' }[sign] ?? ' ';
            return line.classList.contains('cm-hunkLine')
              ? line.textContent
              : before + line.textContent;
          }),
        );
        assert.ok(drawn.length > 5, path);
        assert.deepEqual(drawn, lines.slice(0, drawn.length)); // what is in view exists
        shown++;
      }
    assert.equal(shown, 4);
    await inspect(page, 'all');
  },
);

flow(
  'a link out of the home folder is followed only after a second confirmation that names its target',
  'moving',
  async (page, daemon) => {
    const link = join(daemon.home, '.cursor/mcp.json');
    const target = join(daemon.home, '../team.json');
    const before = await readFile(link, 'utf8');
    await rename(link, target);
    await symlink(target, link);
    const move = page.getByRole('button', { name: 'Move all' });
    const second = page.getByRole('dialog', { name: /outside your home folder/ });
    await page.goto(`${daemon.url}/#/welcome`);
    await page.getByRole('button', { name: /^Move 4 servers/ }).press('Enter');
    await move.press('Enter');
    await second.getByText(target).waitFor();
    await second.getByRole('button', { name: 'Cancel' }).press('Enter');
    assert.equal(await readFile(target, 'utf8'), before);
    await move.press('Enter');
    await second.getByRole('button', { name: 'Apply' }).press('Enter');
    const results = page.getByRole('region', { name: 'Results by client' });
    await results.waitFor();
    await becomes(() => readFile(target, 'utf8'), /drawbridge/);
    await results.getByRole('button', { name: 'Undo' }).press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: 'Undo' }).press('Enter');
    await becomes(() => readFile(target, 'utf8'), before);

    await page.goto(`${daemon.url}/#/clients`);
    const row = page.getByRole('listitem').filter({ hasText: 'Cursor' });
    await row.getByRole('button', { name: 'Connect…' }).press('Enter');
    await row.getByRole('button', { name: /^Apply/ }).press('Enter');
    await second.getByText(target).waitFor();
    assert.equal(await readFile(target, 'utf8'), before);
    await second.getByRole('button', { name: 'Apply' }).press('Enter');
    await second.waitFor({ state: 'detached' });
    await becomes(() => readFile(target, 'utf8'), /drawbridge/);
  },
);

flow('a server is not added while its text is not valid', 'full', async (page, daemon) => {
  await page.goto(`${daemon.url}/#/add`);
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
  await page.goto(`${daemon.url}/#/servers`);
  await page.goto(`${daemon.url}/#/add`);
  await entry.getByText('"tide-mcp", }').waitFor();
  assert.equal(await add.isDisabled(), true);
  await entry.fill('{ "command": "npx", "args": ["tide-mcp@2"] }');
  await becomes(() => add.isDisabled(), false);
  await done.press('Enter');
  await page.getByText('tide-mcp@2').last().waitFor();
  await add.press('Enter');
  await page.waitForURL(/servers\/tide/);
  assert.match(await daemon.config(), /tide-mcp@2/);
});

flow('a pasted secret is stored as a secret, not in the file', 'full', async (page, daemon) => {
  await page.goto(`${daemon.url}/#/add`);
  await paste(page).fill(
    '{"mcpServers":{"brave":{"command":"npx","args":["-y","brave","--token","tok_pasted"],' +
      '"env":{"BRAVE_API_KEY":"BSA_pasted","LEVEL":"debug","GITHUB_TOKEN":"<your token>"}}}}',
  );
  const key = page.getByLabel('BRAVE_API_KEY', { exact: true });
  await key.waitFor();
  assert.equal(await key.getAttribute('type'), 'password');
  assert.equal(await page.getByLabel('Store LEVEL as a secret').isChecked(), false);
  await page.getByLabel('GITHUB_TOKEN', { exact: true }).fill('ghp_typed');
  await inspect(page, 'all');
  await page.getByRole('button', { name: 'Add server', exact: true }).press('Enter');
  await page.waitForURL(/servers\/brave/);
  const text = await daemon.config();
  assert.doesNotMatch(text, /pasted|typed/);
  assert.match(text, /"--token",\s*"\$\{secret:BRAVE_TOKEN\}"/);
  assert.match(text, /"BRAVE_API_KEY": ?"\$\{secret:BRAVE_API_KEY\}"/);
  assert.match(text, /"LEVEL": ?"debug"/);
  const { items } = await daemon.api('GET', '/secrets');
  assert.deepEqual(items.map((one) => one.name).sort(), [
    'BRAVE_API_KEY',
    'BRAVE_GITHUB_TOKEN',
    'BRAVE_TOKEN',
  ]);
});

flow(
  'a placeholder is neither tested nor added until it is replaced or kept on purpose',
  'full',
  async (page, daemon) => {
    const tests = [];
    page.on('request', (request) => request.url().endsWith('/api/v1/test') && tests.push(request));
    await page.goto(`${daemon.url}/#/add`);
    await paste(page).fill(
      '{"mcpServers":{"notes":{"command":"npx","args":["-y","notes-mcp","/path/to/your/data"],' +
        '"env":{"API_KEY":"<YOUR_API_KEY>"}}}}',
    );
    const key = page.getByLabel('API_KEY', { exact: true });
    const path = page.getByLabel('/path/to/your/data', { exact: true });
    const focused = (field) => () => field.evaluate((input) => input === document.activeElement);
    const add = page.getByRole('button', { name: 'Add server', exact: true });
    await page.getByText('“<YOUR_API_KEY>” is a placeholder. Enter the value.').waitFor();
    await inspect(page, 'all');
    await page.getByRole('button', { name: 'Test', exact: true }).press('Enter');
    await becomes(focused(key), true);
    await key.fill('k1');
    await page.getByRole('button', { name: 'Edit', exact: true }).press('Enter');
    await page.getByRole('textbox', { name: 'Entry in the configuration file' }).waitFor();
    await add.press('Enter'); // the editor does not hide what is missing
    await becomes(focused(path), true);
    assert.doesNotMatch(await daemon.config(), /notes-mcp/);
    assert.equal(tests.length, 0);
    await page.getByRole('button', { name: /^Use this text: \/path/ }).press('Enter');
    await becomes(() => path.inputValue(), '/path/to/your/data');
    await add.press('Enter');
    await page.waitForURL(/servers\/notes/);
    const text = await daemon.config();
    assert.match(text, /"\/path\/to\/your\/data"/);
    assert.match(text, /"API_KEY": ?"\$\{secret:NOTES_API_KEY\}"/);
  },
);

flow('a value that a test misses is asked for in the form', 'full', async (page, daemon) => {
  await page.goto(`${daemon.url}/#/add`);
  await paste(page).fill('{"mcpServers":{"acme":{"command":"npx","args":["${ACME_API_KEY}"]}}}');
  await page.getByRole('button', { name: 'Test', exact: true }).press('Enter');
  await page.getByText(/^Failed to start: .*ACME_API_KEY/).waitFor();
  await inspect(page, 'all');
  await page.getByRole('button', { name: 'Set ACME_API_KEY…' }).press('Enter');
  const key = page.getByLabel('<ACME_API_KEY>', { exact: true });
  await focused(key);
  await key.fill('acme_1');
  await page.getByRole('button', { name: 'Add server', exact: true }).press('Enter');
  await page.waitForURL(/servers\/acme/);
  const text = await daemon.config();
  assert.match(text, /"args": \[\s*"\$\{secret:ACME_API_KEY\}"\s*\]/);
});

flow('a disabled server is reviewed and added as disabled', 'full', async (page, daemon) => {
  await page.goto(`${daemon.url}/#/add`);
  await paste(page).fill('{"mcpServers":{"tide":{"command":"npx","disabled":true}}}');
  await page.getByText('This server is added as disabled').waitFor();
  await inspect(page, 'all');
  await page.getByRole('button', { name: 'Add server', exact: true }).press('Enter');
  await page.waitForURL(/servers\/tide/);
  assert.match(await daemon.config(), /"tide": \{[^}]*"disabled": true/);
});

flow('text that is no server is refused with a reason', 'full', async (page, daemon) => {
  await page.goto(`${daemon.url}/#/add`);
  await paste(page).fill('hello world this is not a thing');
  await page.getByText(/^No server found in this text/).waitFor();
  await paste(page).fill('{"mcpServers":{"a":{"command":"x"');
  await page.getByText(/^The JSON ends too early or has an error at line 1, column/).waitFor();
  await paste(page).fill('cd /x; npx -y foo');
  await page.getByText(/^Paste only the command/).waitFor();
  await paste(page).fill('zed://unknown/link');
  await page.getByText(/^This link cannot be read/).waitFor();
  await inspect(page, 'all');
});

flow(
  'a name that is taken is replaced by a free one with a click',
  'full',
  async (page, daemon) => {
    await page.goto(`${daemon.url}/#/add`);
    await paste(page).fill('export MODE=dry; npx -y github');
    await page.getByText('A server with this name already exists.').waitFor();
    await inspect(page, 'all');
    await page.getByRole('button', { name: 'Use “github-2”' }).press('Enter');
    await page.getByRole('button', { name: 'Add server', exact: true }).press('Enter');
    await page.waitForURL(/servers\/github-2/);
    assert.match(await daemon.config(), /"github-2": \{[^}]*"MODE": ?"dry"/);
  },
);

flow(
  'the link from a tool leads to its settings, and no choice is cut',
  'full',
  async (page, daemon) => {
    await page.setViewportSize({ width: 1280, height: 800 });
    const tool = (await daemon.items('/tools')).filter((one) => one.server === 'github').at(-1);
    await page.goto(`${daemon.url}/#/tools?tool=${encodeURIComponent(tool.name)}`);
    await page.getByRole('link', { name: 'Approval, limits, recording' }).click();
    const row = page.locator('tbody[aria-current="true"]', { hasText: tool.tool });
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

flow(
  'the numbers of the overview and of the usage fit their boxes',
  'full',
  async (page, daemon) => {
    for (const [width, path] of [
      [1280, '/'],
      [768, '/usage'],
      [640, '/usage'],
      [1024, '/usage'],
    ]) {
      await page.setViewportSize({ width, height: 800 });
      await page.goto(`${daemon.url}/#${path}`);
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
  },
);

flow('a guest is added, explained and removed', 'full', async (page, daemon) => {
  await page.goto(`${daemon.url}/#/clients`);
  const name = page.getByLabel('Guest name');
  await name.fill('../x');
  const add = page.getByRole('button', { name: 'Add guest' });
  assert.equal(await add.isDisabled(), true);
  await name.fill('blog');
  await add.click();
  const row = page.getByRole('listitem').filter({ hasText: 'Ask for each call' });
  await row.getByRole('heading', { name: 'blog' }).waitFor();
  await row.getByText('Set up').click();
  await row.getByText('target=/run/drawbridge').first().waitFor();
  await inspect(page, 'all');
  await row.getByRole('button', { name: 'Remove' }).click();
  const question = page.getByRole('dialog', { name: 'Remove the guest blog?' });
  await question.getByRole('button', { name: 'Remove', exact: true }).click();
  await row.waitFor({ state: 'detached' });
});
