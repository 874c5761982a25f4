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
    await focused(page.getByRole('region', { name: 'Approvals', exact: true }));
    await page.getByText('No pending approvals').waitFor();
    await inspect(page, 'all');
  },
);
