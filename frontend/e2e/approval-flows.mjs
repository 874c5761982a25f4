// Flows on the page Approvals.
import assert from 'node:assert/strict';
import { flow } from './flow.mjs';
import { inspect, settled } from './harness.mjs';
import { becomes, focused, live, pause } from './waiting.mjs';

/** Replaces the pending approvals by calls to the tools with these names. */
function pendingCalls(mock, ...tools) {
  const one = mock.world.approvals.find(({ kind }) => kind === 'call');
  mock.world.approvals = tools.map((tool) => ({
    ...one,
    id: `call-${tool}`,
    tool: `filesystem__${tool}`,
    original: tool,
    message: `cursor wants to call ${tool} on filesystem`,
    expires: new Date(Date.now() + 600_000).toISOString(),
  }));
  return mock.world.approvals;
}

/** Ends a pending approval, as another tab or the clock does. */
function end(mock, approval, state) {
  mock.world.approvals = mock.world.approvals.filter(({ id }) => id !== approval.id);
  mock.send('approval', { ...approval, state });
}

const cardOf = (page, tool) =>
  page.getByRole('listitem').filter({ hasText: `wants to call ${tool} on` });

async function openApprovals(page, mock) {
  await page.goto(`${mock.url}/#/approvals`);
  await settled(page, '/approvals');
  await live(page);
}

/** Clicks where an element was, without waiting for anything. */
const clickAt = (page, { x, y, width, height }) => page.mouse.click(x + width / 2, y + height / 2);

const answers = (mock) => mock.world.answers.map(({ id, action }) => `${action} ${id}`);

flow(
  'a click where the button of an approval was never answers the next one',
  { scene: 'trouble' },
  async (page, mock) => {
    const [first, second] = pendingCalls(mock, 'one', 'two', 'three', 'four');
    await openApprovals(page, mock);
    const allow = (tool) => cardOf(page, tool).getByRole('button', { name: 'Allow once' });
    // An approval is answered in another tab while the pointer is over its button.
    await allow('one').hover();
    await pause(1000);
    const place = await allow('one').boundingBox();
    end(mock, first, 'decline');
    await page.getByText('Denied', { exact: true }).waitFor();
    await clickAt(page, place);
    await inspect(page, 'colours');
    // One expires while the pointer is elsewhere, so that the next one moves.
    await page.mouse.move(2, 2);
    await cardOf(page, 'one').waitFor({ state: 'detached' });
    await pause(1000);
    end(mock, second, 'expired');
    await page.getByText('Denied: nobody answered in time').waitFor();
    await cardOf(page, 'two').waitFor({ state: 'detached' });
    const moved = allow('three');
    await becomes(() => moved.getAttribute('aria-disabled'), 'true');
    await clickAt(page, place);
    await pause(300);
    assert.deepEqual(answers(mock), []);
    // Two quick clicks answer one call.
    await moved.click();
    await pause(180);
    await clickAt(page, place);
    await page.getByText('Allowed', { exact: true }).waitFor();
    await pause(300);
    assert.deepEqual(answers(mock), ['accept call-three']);
    await allow('four').click();
    await becomes(() => answers(mock), ['accept call-three', 'accept call-four']);
    await page.mouse.move(2, 2);
    await page.getByText('No pending approvals').waitFor();
  },
);

flow(
  'after an answer the next approval has the focus, and the keyboard answers it at once',
  { scene: 'trouble' },
  async (page, mock) => {
    const [, , third] = pendingCalls(mock, 'one', 'two', 'three');
    await openApprovals(page, mock);
    const allow = (tool) => cardOf(page, tool).getByRole('button', { name: 'Allow once' });
    await allow('one').press('Enter');
    await focused(cardOf(page, 'two'));
    await page.keyboard.press('Enter'); // a second Enter answers nothing
    await allow('two').press('Enter');
    await focused(cardOf(page, 'three'));
    assert.deepEqual(answers(mock), ['accept call-one', 'accept call-two']);
    await cardOf(page, 'three').getByRole('button', { name: 'Deny' }).focus();
    end(mock, third, 'withdrawn');
    await page.getByText('No longer pending').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Allow once' }).count(), 0);
    await focused(page.getByRole('region', { name: 'Approvals', exact: true }));
    await page.getByText('No pending approvals').waitFor();
    await inspect(page, 'all');
  },
);

flow(
  'Always allow can be undone, is shown with the tool, and is revoked there',
  { scene: 'trouble' },
  async (page, mock) => {
    pendingCalls(mock, 'write_file', 'move_file');
    await openApprovals(page, mock);
    const always = (tool) => cardOf(page, tool).getByRole('button', { name: 'Always allow' });
    const revoke = (tool) =>
      page.getByRole('button', { name: `Require approval again when cursor calls ${tool}` });
    await always('write_file').click();
    const toast = page.getByText('cursor can now call write_file without approval.');
    await toast.waitFor();
    await always('move_file').click();
    await page.getByText('cursor can now call move_file without approval.').waitFor();
    await inspect(page, 'colours');
    const undo = page.getByRole('listitem').filter({ has: toast });
    await undo.getByRole('button', { name: 'Undo' }).press('Enter');
    await page.getByText('Saved', { exact: false }).first().waitFor();
    await page.goto(`${mock.url}/#/servers/filesystem?view=tools`);
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
  'the page of a call says how long it waited for approval, and what was answered',
  { scene: 'full', rate: 0 },
  async (page, mock) => {
    const call = mock.world.calls.find(({ outcome }) => outcome === 'ok');
    Object.assign(call, { approval: 'minutes', tookNs: 15e9, queuedNs: 14.9e9 });
    await page.goto(`${mock.url}/#/calls/${call.id}`);
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
  { scene: 'full', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/#/calls`);
    const links = page.locator('[data-call]');
    await links.nth(2).waitFor();
    const ids = await links.evaluateAll((all) => all.map((one) => one.dataset.call));
    await links.nth(1).press('Enter');
    const panel = page
      .getByRole('region', { name: /./ })
      .filter({ has: page.locator('#detail-title') });
    await panel.getByRole('button', { name: 'Delete' }).press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await focused(page.locator(`[data-call="${ids[2]}"]`));
  },
);
