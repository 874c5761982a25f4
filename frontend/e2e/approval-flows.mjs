// Flows on the page Approvals.
import assert from 'node:assert/strict';
import { changeItem } from './answers.mjs';
import { flow } from './flow.mjs';
import { inspect, settled } from './harness.mjs';
import { becomes, focused, live, pause, pressDefault } from './waiting.mjs';

/** Calls these tools as a client; each call then waits. Returns the responses so far, by tool. */
async function pendingCalls(daemon, ...tools) {
  await daemon.api('POST', '/servers/filesystem/tools', { tools, set: { approval: 'ask' } });
  await daemon.watch();
  const said = {};
  for (const [count, tool] of tools.entries()) {
    daemon.call('claude-code', 'filesystem', tool, {}).then((text) => {
      said[tool] = /Done/.test(text) ? 'Done' : 'denied';
    });
    await daemon.waiting(count + 1); // in this order
  }
  return said;
}

/** Answers a pending call, as another tab does. */
const answer = (daemon, id, action = 'decline') =>
  daemon.api('POST', `/approvals/${id}`, { action });

const idOf = async (daemon, tool) =>
  (await daemon.items('/approvals')).find((one) => one.original === tool || one.tool === tool).id;

const cardOf = (page, tool) =>
  page.getByRole('listitem').filter({ hasText: `wants to call "${tool}" on` });

async function openApprovals(page, daemon) {
  await page.goto(`${daemon.url}/#/approvals`);
  await settled(page, '/approvals');
  await live(page);
}

/** Clicks where an element was, without waiting for anything. */
const clickAt = (page, { x, y, width, height }) => page.mouse.click(x + width / 2, y + height / 2);

flow(
  'a click where the button of an approval was never answers the next one',
  'full',
  async (page, daemon) => {
    const [one, two, three, four] = ['write_file', 'move_file', 'read_text_file', 'list_directory'];
    const said = await pendingCalls(daemon, one, two, three, four);
    await openApprovals(page, daemon);
    const allow = (tool) => cardOf(page, tool).getByRole('button', { name: 'Allow once' });
    // An approval is answered in another tab while the pointer is over its button.
    await allow(one).hover();
    await pause(1000);
    const place = await allow(one).boundingBox();
    await answer(daemon, await idOf(daemon, one));
    await page.getByText('Denied', { exact: true }).waitFor();
    await clickAt(page, place);
    await inspect(page, 'colours');
    // One ends while the pointer is elsewhere, so that the next one moves.
    await page.mouse.move(2, 2);
    await cardOf(page, one).waitFor({ state: 'detached' });
    await pause(1000);
    const moved = allow(three);
    // In the page, because the state lasts for less than a second.
    const pressed = moved.evaluate(async (button) => {
      while (button.ariaDisabled !== 'true') await new Promise(requestAnimationFrame);
      button.dispatchEvent(new MouseEvent('click', { bubbles: true, detail: 1 }));
    });
    await answer(daemon, await idOf(daemon, two));
    await cardOf(page, two).waitFor({ state: 'detached' });
    await pressed;
    await pause(300);
    assert.deepEqual(said, { [one]: 'denied', [two]: 'denied' });
    // Two quick clicks answer one call.
    await moved.click();
    await pause(180);
    await clickAt(page, place);
    await page.getByText('Allowed', { exact: true }).waitFor();
    await pause(300);
    assert.deepEqual(Object.keys(said), [one, two, three]);
    await allow(four).click();
    await becomes(() => said[four], 'Done');
    assert.equal(said[three], 'Done');
    await page.mouse.move(2, 2);
    await cardOf(page, four).waitFor({ state: 'detached' });
  },
);

flow(
  'after an answer the next approval has the focus, and the keyboard answers it at once',
  'full',
  async (page, daemon) => {
    const [one, two, three] = ['write_file', 'move_file', 'read_text_file'];
    const said = await pendingCalls(daemon, one, two, three);
    await openApprovals(page, daemon);
    const allow = (tool) => cardOf(page, tool).getByRole('button', { name: 'Allow once' });
    await focused(cardOf(page, one));
    await becomes(() => page.title(), '(3) Approvals · Drawbridge');
    await pause(800);
    // A second A comes as soon as the next card has the focus: it is not meant for that.
    await page.evaluate(() => {
      const press = () =>
        document.activeElement.dispatchEvent(
          new KeyboardEvent('keydown', { key: 'a', bubbles: true }),
        );
      addEventListener('focusin', press, { once: true });
      press();
    });
    await focused(cardOf(page, two));
    await page.keyboard.press('Enter'); // a second Enter answers nothing
    await allow(two).press('Enter');
    await focused(cardOf(page, three));
    await becomes(() => said, { [one]: 'Done', [two]: 'Done' });
    await becomes(() => page.title(), '(1) Approvals · Drawbridge');
    await pause(800);
    await page.keyboard.press('d');
    await page.getByText('Denied', { exact: true }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Allow once' }).count(), 0);
    await focused(page.getByRole('region', { name: 'Approvals', exact: true }));
    await inspect(page, 'all');
    // The first card of an empty list gets the focus, and the hints of its keys appear with it.
    const later = await pendingCalls(daemon, 'search_files');
    await focused(cardOf(page, 'search_files'));
    await pause(800);
    await page.keyboard.press('a');
    await becomes(() => later.search_files, 'Done');
  },
);

flow(
  'Always allow can be undone, is shown with the tool, and is revoked there',
  'full',
  async (page, daemon) => {
    await pendingCalls(daemon, 'write_file', 'move_file');
    await openApprovals(page, daemon);
    const always = async (tool) => {
      await cardOf(page, tool).getByRole('button', { name: 'More ways to allow' }).press('Enter');
      await page.getByRole('menuitem', { name: 'Always allow' }).press('Enter');
    };
    const revoke = (tool) =>
      page.getByRole('button', { name: `Require approval again when claude-code calls ${tool}` });
    await always('write_file');
    const toast = page.getByText('claude-code can now call write_file without approval.');
    await toast.waitFor();
    await always('move_file');
    await page.getByText('claude-code can now call move_file without approval.').waitFor();
    await inspect(page, 'colours');
    const undo = page.getByRole('listitem').filter({ has: toast });
    await undo.getByRole('button', { name: 'Undo' }).press('Enter');
    await page.getByText('Saved', { exact: false }).first().waitFor();
    await page.goto(`${daemon.url}/#/servers/filesystem?view=tools`);
    for (const tool of ['write_file', 'move_file'])
      await page.getByRole('button', { name: `settings of ${tool}` }).press('Enter');
    await revoke('move_file').waitFor();
    await page.getByText('No approval needed for').waitFor();
    assert.equal(await revoke('write_file').count(), 0);
    await inspect(page, 'all');
    if (process.env.E2E_SHOT) await page.screenshot({ path: process.env.E2E_SHOT });
    await revoke('move_file').press('Enter');
    await page.getByText('No approval needed for').waitFor({ state: 'detached' });
  },
);

flow(
  'a call that waits for the user says so, with its arguments and a link',
  'full',
  async (page, daemon) => {
    await daemon.api('POST', '/servers/filesystem/tools', {
      tools: ['write_file'],
      set: { approval: 'ask' },
    });
    await daemon.watch();
    const ends = daemon.call('claude-code', 'filesystem', 'write_file', {
      path: '/a/plan.md',
      content: '# Plan\n\n- milk\n',
    });
    await daemon.waiting(1);
    await page.goto(`${daemon.url}/#/calls`);
    const row = page.locator('[data-row]').filter({ hasText: 'Waiting for you' });
    await row.getByText('/a/plan.md').waitFor();
    await row.getByRole('link').click();
    await page.getByText('This call waits for you.').waitFor();
    await page.getByText('"/a/plan.md"', { exact: true }).waitFor();
    await inspect(page, 'all');
    await page.getByRole('link', { name: 'Review', exact: true }).last().click();
    // Lines are lines, and not "\\n".
    await becomes(() => cardOf(page, 'write_file').locator('pre').innerText(), /# Plan\n\n- milk/);
    await inspect(page, 'all');
    await page.keyboard.press('d');
    await ends;
    const [call] = await daemon.items('/calls?tool=write_file&limit=1');
    const usage = await daemon.api('GET', '/usage?server=filesystem&tool=write_file');
    assert.ok(usage.total.rejected > 0);
    await page.goto(`${daemon.url}/#/calls/${call.id}`);
    await page.getByText('No result: the server was not called.').waitFor();
    await page.getByText('Not called', { exact: true }).waitFor();
  },
);

flow(
  'notices wait behind a bell, and only what needs a decision is a bar',
  'trouble',
  async (page, daemon) => {
    await page.goto(`${daemon.url}/#/servers`);
    await settled(page, '/servers');
    await page.getByText('problem in the configuration').waitFor();
    assert.equal(await page.getByText(/without an access token/).count(), 0);
    await page
      .getByRole('button', { name: /^\d+ notices?$/ })
      .locator('visible=true')
      .click();
    const list = page.getByRole('dialog', { name: 'Notices' });
    await list.getByText(/without an access token/).waitFor();
    await inspect(page, 'all');
  },
);

flow(
  'the page of a call says how long it waited for approval, and what was answered',
  'full',
  async (page, daemon) => {
    const [call] = await daemon.items('/calls?outcome=ok&limit=1');
    await changeItem(page, call.id, { approval: 'minutes', tookNs: 15e9, queuedNs: 14.9e9 });
    await page.goto(`${daemon.url}/#/calls/${call.id}`);
    const timing = page
      .locator('section')
      .filter({ has: page.getByRole('heading', { name: 'Timing' }) })
      .last();
    await becomes(() => timing.innerText(), /Waited for approval\s+14\.9 s/);
    await becomes(() => timing.innerText(), /Approval\s+Allowed for 10 minutes/);
    assert.doesNotMatch(await timing.innerText(), /Queued/);
  },
);

flow(
  'after a call was deleted, the call below it in the list has the focus',
  'full',
  async (page, daemon) => {
    await page.goto(`${daemon.url}/#/calls`);
    const links = page.locator('[data-call]');
    await links.nth(2).waitFor();
    const ids = await links.evaluateAll((all) => all.map((one) => one.dataset.call));
    await links.nth(1).press('Enter');
    const panel = page
      .getByRole('region', { name: /./ })
      .filter({ has: page.locator('#detail-title') });
    await panel.getByRole('button', { name: 'Delete' }).press('Enter');
    await pressDefault(page); // which deletes nothing
    await panel.getByRole('button', { name: 'Delete' }).press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await focused(page.locator(`[data-call="${ids[2]}"]`));
  },
);
