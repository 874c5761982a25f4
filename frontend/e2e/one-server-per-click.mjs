// No click and no key changes the configuration of more than one server without a question that names
// their number: everything that can be clicked is, on each page.
import assert from 'node:assert/strict';
import { changeResponse } from './answers.mjs';
import { flow } from './flow.mjs';
import { settled } from './harness.mjs';
import { pause } from './waiting.mjs';

const pages = [
  '#/',
  '#/servers',
  '#/servers/filesystem',
  '#/servers/filesystem?view=tools',
  '#/servers/filesystem?view=config',
  '#/tools',
  '#/tools?tool=filesystem__write_file',
  '#/clients',
  '#/profiles',
  '#/approvals',
  '#/usage',
  '#/settings',
  '#/configuration',
];

/** The entries of the servers in the file, by name. */
async function entries(daemon) {
  const text = (await daemon.config()).replace(/^\s*\/\/.*$/gm, '');
  return Object.entries(JSON.parse(text).mcpServers ?? {}).map(
    ([name, entry]) => `${name} ${JSON.stringify(entry)}`,
  );
}

/** In the page: clicks the first control that was not clicked yet, and returns its name. */
function clickNext(done) {
  const layer =
    document.querySelector('[role=menu]') ??
    document.querySelector('dialog[open]') ??
    document.body;
  // The last one first: what has just opened is below its button, which would close it.
  const controls = [...layer.querySelectorAll('button, [role=menuitem], [role=switch], select')];
  for (const control of controls.reverse()) {
    if (control.closest('nav, [role=tablist]') || control.disabled) continue;
    if (control.getClientRects().length === 0) continue;
    const label = control.getAttribute('aria-label') ?? control.textContent ?? '';
    const where = layer.getAttribute('aria-label') ?? layer.tagName;
    const name = `${where}: ${label.replace(/\d+/g, '#')}`;
    if (done.includes(name)) continue;
    const question = layer.tagName === 'DIALOG' ? layer.innerText : label;
    if (control.tagName === 'SELECT') {
      control.selectedIndex = control.options.length - 1;
      control.dispatchEvent(new Event('change', { bubbles: true }));
    } else {
      // A menu opens when the button is pressed, not when it is released.
      const options = { bubbles: true, button: 0, pointerType: 'mouse' };
      control.dispatchEvent(new PointerEvent('pointerdown', options));
      control.click();
    }
    return { name, question };
  }
  return undefined;
}

/** In the page: waits until the browser has nothing to do. */
const idle = () => new Promise((done) => requestIdleCallback(done, { timeout: 5000 }));

/** Clicks everything on a page, and what opens then; returns how many controls there were. */
async function clickAll(page, daemon, address) {
  const done = [];
  const requests = new Set();
  const begin = (request) => !request.url().endsWith('/events') && requests.add(request);
  const end = (request) => requests.delete(request);
  page.on('request', begin).on('requestfinished', end).on('requestfailed', end);
  // One request may follow another, late on a busy machine: a change is not that of the next click.
  const answered = async () => {
    for (let still = 0, tries = 0; still < 3 && tries < 1000; tries++) {
      await pause(40);
      await page.evaluate(idle);
      still = requests.size > 0 ? 0 : still + 1;
    }
  };
  const open = async () => {
    await page.goto('about:blank');
    await page.goto(`${daemon.url}/${address}`);
    await settled(page, address.slice(1).split('?')[0]);
  };
  await open();
  let before = await entries(daemon);
  const file = await daemon.config();
  for (;;) {
    const clicked = await page.evaluate(clickNext, done);
    if (!clicked) {
      // Closes what is open, or ends with the page.
      if (!(await page.locator('[role=menu], dialog[open]').count())) break;
      await open();
      continue;
    }
    done.push(clicked.name);
    await answered();
    const now = await entries(daemon);
    const changed = new Set(
      [
        ...now.filter((one) => !before.includes(one)),
        ...before.filter((one) => !now.includes(one)),
      ].map((one) => one.split(' ')[0]),
    );
    const named = [...clicked.question.matchAll(/(\d+) servers/g)].map(([, n]) => Number(n));
    assert.ok(
      changed.size <= Math.max(1, ...named),
      `${address}, ${clicked.name}: changes ${[...changed]} after “${clicked.question.slice(0, 200)}”`,
    );
    if ((await daemon.config()) !== file) {
      await daemon.writeConfig(file);
      await pause(300);
      before = await entries(daemon);
      await open();
    } else if (!(await page.evaluate(() => location.hash)).startsWith(address.split('?')[0]))
      await open();
  }
  page.off('request', begin).off('requestfinished', end).off('requestfailed', end);
  page.troubles.length = 0; // leaving typed text asks
  return done.length;
}

for (const address of pages)
  flow(`one server per click on ${address}`, 'full', async (page, daemon) => {
    await changeResponse(page, '**/api/v1/usage?*', (report) => {
      report.tools = [];
    });
    const controls = await clickAll(page, daemon, address);
    assert.ok(controls > 1, `only ${controls} controls`);
  });

flow('one server per click where servers are moved', 'moving', async (page, daemon) => {
  await clickAll(page, daemon, '#/welcome');
});

flow('one server per click after servers were moved', 'moving', async (page, daemon) => {
  await page.goto(`${daemon.url}/#/welcome`);
  await page.getByRole('button', { name: /^Move \d+ servers/ }).press('Enter');
  await page.getByRole('dialog').getByRole('button', { name: 'Move all' }).press('Enter');
  await page.getByRole('region', { name: 'Results by client' }).waitFor();
  await clickAll(page, daemon, '#/clients');
});

flow('one server per key', 'full', async (page, daemon) => {
  const before = await daemon.config();
  const keys = [...'abcdefhijklmnopqrstuvwxyz', 'Delete', 'Backspace', 'Enter', ' ', 'Escape'];
  for (const address of pages) {
    await page.goto(`${daemon.url}/${address}`);
    await settled(page, address.slice(1).split('?')[0]);
    for (const key of keys) await page.keyboard.press(key);
  }
  await pause(300);
  assert.equal(await daemon.config(), before);
});
