// The tools of all servers: hiding those that are not needed, and showing them again.
import assert from 'node:assert/strict';
import { changeAnswers, changeResponse } from './answers.mjs';
import { flow } from './flow.mjs';
import { inspect, settled } from './harness.mjs';
import { becomes, closeDialog, focused } from './waiting.mjs';

const hiding = { name: 'Hide tools from all clients' };

/** Filesystem has been in use for a week with one tool, memory for a day; the others are not in use. */
const unusedTools = (page) =>
  changeAnswers(page, (value, path) => {
    if (path === 'snapshot') return { ...value, calls: [] };
    if (!path.startsWith('/usage?')) return value;
    const use = (server, tool) => ({ ...value.total, server, tool });
    return {
      ...value,
      tools: [use('filesystem', 'list_directory'), use('memory', 'search_nodes')],
      servers: [use('filesystem'), ...(path.includes('&to=') ? [] : [use('memory')])],
    };
  });

flow('unused tools are hidden from a list, and shown again', 'full', async (page, daemon) => {
  const before = await daemon.config();
  await unusedTools(page);
  await page.goto(`${daemon.url}/#/tools`);
  await page.getByText(/^4 tools not called in 30 days/).waitFor();
  await page.getByRole('button', { name: 'Hide…' }).press('Enter');
  const dialog = page.getByRole('dialog', hiding);
  // Other servers have no calls that say what is needed.
  assert.equal(await dialog.getByRole('checkbox').count(), 5);
  await dialog.getByRole('checkbox', { name: 'move_file' }).press('Space');
  await dialog.getByRole('button', { name: 'Hide 3 tools of 1 server' }).waitFor();
  await inspect(page, 'all');
  await dialog.getByRole('button', { name: 'Hide 3 tools of 1 server' }).press('Enter');
  await dialog.waitFor({ state: 'detached' });
  assert.match(
    await daemon.config(),
    /"excludeTools": \["read_text_file", "write_file", "search_files"\]/,
  );
  // What is hidden can be shown again after a reload, too.
  await page.reload();
  await page.getByText('3 tools hidden from clients').waitFor();
  await page.getByRole('button', { name: 'Show…' }).press('Enter');
  await page
    .getByRole('dialog', { name: 'Show hidden tools to clients' })
    .getByRole('button', { name: 'Show 3 tools of 1 server' })
    .press('Enter');
  await becomes(() => daemon.config(), before);
});

flow(
  'listed tools are selected to be hidden, and a hidden one says so',
  'full',
  async (page, daemon) => {
    const before = await daemon.config();
    await page.goto(`${daemon.url}/#/tools?q=file`);
    await page.getByText(/^\d+ of 16 tools/).waitFor();
    // The arrow keys lead from a search to what it found.
    for (const [place, row] of [
      ['#/calls', '[data-call]'],
      ['#/tools?q=file', 'a[data-row]'],
    ]) {
      await page.goto(`${daemon.url}/${place}`);
      await page.locator(row).first().waitFor();
      await page.keyboard.press('/');
      await focused(page.getByRole('searchbox'));
      await page.keyboard.press('ArrowDown');
      await focused(page.locator(row).first());
    }
    await page.getByRole('button', { name: 'Hide tools…' }).press('Enter');
    const dialog = page.getByRole('dialog', hiding);
    await dialog.getByRole('checkbox', { name: /^write_file/ }).press('Space');
    await inspect(page, 'all');
    await dialog.getByRole('button', { name: 'Hide 1 tool of 1 server' }).press('Enter');
    await becomes(() => daemon.config(), /"excludeTools": \["write_file"\]/);
    // A tool that is hidden on its own page stays there.
    for (const link of [
      '#/tools?tool=filesystem__write_file',
      '#/tools?tool=filesystem__move_file',
    ]) {
      await page.goto(`${daemon.url}/${link}`);
      if (link.endsWith('move_file'))
        await page.getByRole('switch', { name: 'Show move_file to clients' }).press('Enter');
      await page.getByRole('heading', { name: 'This tool is hidden from clients' }).waitFor();
      await page.getByRole('button', { name: 'Show to clients' }).press('Enter');
      await page
        .getByRole('heading', { name: /_file$/ })
        .and(page.locator('h2'))
        .waitFor();
    }
    await becomes(() => daemon.config(), before);
  },
);

flow('nothing is offered to be hidden after a few sessions', 'full', async (page, daemon) => {
  await unusedTools(page);
  await changeResponse(page, '**/api/v1/sessions?*', (list) => list.items.splice(4));
  await page.goto(`${daemon.url}/#/tools`);
  await settled(page, '/tools');
  await becomes(() => page.getByRole('button', { name: 'Hide…' }).count(), 0);
});

flow('a list without tools says that they are hidden', 'full', async (page, daemon) => {
  const tools = await daemon.items('/tools');
  await daemon.api('POST', '/tools/hide', {
    tools: tools.map(({ server, tool }) => ({ server, tool })),
    hide: true,
  });
  await page.goto(`${daemon.url}/#/tools`);
  await page.getByText('No tool is visible to clients').waitFor();
  await page.getByRole('button', { name: 'Show…' }).press('Enter');
  await inspect(page, 'all');
  await closeDialog(page);
});
