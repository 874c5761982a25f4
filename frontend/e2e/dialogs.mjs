// Dialogs, menus, the command palette, messages, and pages that load, failed or lost the daemon.
// Each is checked wide and dark, or on a phone and light. With E2E_PICTURES=1 it writes screenshots of
// both colours to build/e2e/output/dialogs.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { refuse } from './answers.mjs';
import { sizes } from './browser.mjs';
import { startDaemon } from './daemon.mjs';
import { inspect, recolour, settled, signIn } from './harness.mjs';
import { becomes, live, textOf } from './waiting.mjs';

const output = fileURLToPath(new URL('../../build/e2e/output/dialogs', import.meta.url));
const button = (page, name) => page.getByRole('button', { name }).locator('visible=true').first();
const configuration = (page) => page.getByLabel('Configuration file', { exact: true });
const call = async (daemon) => `#/calls/${(await daemon.items('/calls?outcome=ok&limit=1'))[0].id}`;

/** Clicks a button that opens an element of that role. */
const press =
  (name, role = 'dialog') =>
  async (page) => {
    await button(page, name).click();
    await page.getByRole(role).waitFor();
  };

/** Selects an item of a server's menu that opens a dialog. */
const choose =
  (item, server = 'filesystem') =>
  async (page) => {
    const detail = page.getByRole('region', { name: server });
    await detail.getByRole('button', { name: /^More actions/ }).click();
    await page.getByRole('menuitem', { name: new RegExp(`^${item}`) }).click();
    await page.getByRole('dialog').waitFor();
  };

/** Opens the palette, types into it and waits for the results. */
const palette = (text, result) => async (page) => {
  await page.keyboard.press('Control+k');
  if (text) await page.getByRole('combobox').last().fill(text);
  await result(page).first().waitFor();
};

async function describe(page) {
  await page.getByLabel('Description', { exact: true }).fill('Half a thought');
}

async function disconnect(page, daemon) {
  await live(page);
  await daemon.stop();
  await page.getByText('Drawbridge is not responding').first().waitFor();
  await page.getByText('Last known state', { exact: true }).waitFor();
}

async function conflict(page, daemon) {
  await button(page, 'Edit file').click();
  const text = await daemon.config();
  await becomes(() => textOf(configuration(page)), text);
  await configuration(page).fill(`${text}// mine\n`);
  await live(page);
  await daemon.writeConfig(`${text}// theirs\n`);
  await press('Overwrite…')(page);
}

async function fail(page) {
  await refuse(page, '**/api/v1/sessions*', 422, 'cannot read the history: the disk is full');
  await page.evaluate(() => {
    location.hash = '/sessions';
    location.reload(); // what other pages have read is not shown
  });
  await button(page, 'Try again').waitFor();
}

/** Name, path, and how it is opened; `both` are always checked in both sizes. */
const states = [
  { name: 'palette', at: '#/', open: palette('', (page) => page.getByRole('dialog')) },
  {
    name: 'palette-results',
    at: '#/calls',
    open: palette('file', (page) => page.getByRole('option')),
  },
  {
    name: 'palette-empty',
    at: '#/',
    open: palette('qqqqqq', (page) => page.getByText('Search calls for “qqqqqq”')),
  },
  {
    name: 'shortcuts',
    at: '#/',
    open: async (page) => {
      await page.keyboard.press('?');
      await page.getByRole('dialog').waitFor();
    },
  },
  { name: 'more', at: '#/', only: 'phone', open: press(/^More/) },
  { name: 'server-menu', at: '#/servers/filesystem', open: press(/^More actions/, 'menu') },
  { name: 'server-remove', at: '#/servers/filesystem', open: choose('Remove') },
  { name: 'server-rename', at: '#/servers/filesystem', open: choose('Rename') },
  { name: 'server-tags', at: '#/servers/github', open: choose('Tags', 'github') },
  { name: 'call-menu', at: call, open: press(/^Copy or save/, 'menu') },
  { name: 'call-note', at: call, open: (page) => button(page, /^(Add a note|Edit)$/).click() },
  { name: 'call-delete', at: call, open: press(/^Delete/) },
  {
    name: 'call-compare',
    at: async (daemon) => `${await call(daemon)}?with=pick`,
    open: async () => {},
  },
  { name: 'export-menu', at: '#/calls', open: press(/^Export/, 'menu') },
  {
    name: 'history-limit',
    at: '#/settings',
    open: async (page) => {
      await page.getByLabel('Maximum size (MB)').fill('1');
      await press('Save')(page);
    },
  },
  {
    name: 'secret-delete',
    at: async (daemon) => {
      await daemon.api('PUT', '/secrets/GITHUB_TOKEN', { value: 'ghp_abcdefabcdefabcdef' });
      return '#/settings';
    },
    open: press(/^Delete GITHUB/),
  },
  { name: 'token-rotate', at: '#/clients', open: press('Rotate') },
  {
    name: 'config-editor',
    at: '#/configuration',
    open: async (page) => {
      await button(page, 'Edit file').click();
      await configuration(page).waitFor();
    },
  },
  { name: 'config-conflict', at: '#/configuration', open: conflict },
  {
    name: 'leave',
    at: '#/profiles/office',
    open: async (page) => {
      await describe(page);
      await press(/^(Close|Back)$/)(page);
    },
  },
  { name: 'profile-delete', at: '#/profiles/office', open: press('Delete profile') },
  {
    name: 'message',
    at: '#/profiles/office',
    open: async (page) => {
      await describe(page);
      await button(page, 'Discard changes').click();
      await page.getByText('Your input was discarded.').waitFor();
    },
  },
  {
    name: 'pasted',
    at: '#/add',
    open: async (page) => {
      await page
        .getByLabel('Paste a snippet, a command or a URL')
        .fill('TOKEN=x npx -y "@acme/server-weather" --home "/tmp/a b"');
      await page.getByText(/--home '\/tmp\/a b'$/).waitFor();
      await page.getByLabel('Store TOKEN as a secret').waitFor();
    },
  },
  { name: 'reconnecting', both: true, at: '#/', open: disconnect },
  { name: 'failed', both: true, at: '#/', open: fail },
  {
    name: 'session-ended',
    both: true,
    at: '#/servers',
    open: async (page) => {
      await live(page);
      await refuse(page, '**/api/**', 401, 'not signed in');
      await page.getByText('The session has ended').waitFor();
    },
  },
  {
    name: 'not-found',
    both: true,
    at: '#/servers/nobody',
    open: (page) => button(page, 'Back to the list').waitFor(),
  },
];

/** One job for each state; sizes alternate, unless all screenshots are taken. */
export function dialogs(lend, tally) {
  return states.flatMap((state, index) =>
    ['desktop', 'phone']
      .filter((size) =>
        state.only
          ? size === state.only
          : state.both ||
            process.env.E2E_PICTURES === 'all' ||
            size === ['desktop', 'phone'][index % 2],
      )
      .map((size) => () => {
        const run = () => show(lend, state, size);
        return tally.check(`dialog ${state.name} ${size}`, run, { repeatable: true });
      }),
  );
}

async function show(lend, { name, at, open }, size) {
  const daemon = await startDaemon();
  try {
    await lend(sizes[size], async (page) => {
      const address = typeof at === 'function' ? await at(daemon) : at;
      await signIn(page, daemon);
      const checked = size === 'desktop' ? 'dark' : 'light';
      await page.emulateMedia({ colorScheme: checked });
      await page.goto(`${daemon.url}/${address}`);
      await settled(page, address.slice(1).split('?')[0]);
      await open(page, daemon);
      await inspect(page, 'all');
      assert.equal(await outside(page), '');
      for (const colorScheme of process.env.E2E_PICTURES ? ['light', 'dark'] : []) {
        await recolour(page, colorScheme);
        mkdirSync(output, { recursive: true });
        await page.screenshot({ path: `${output}/${name}-${size}-${colorScheme}.png` });
      }
    });
  } finally {
    await daemon.close();
  }
}

/** The open dialog or menu that is partly outside of the window. */
function outside(page) {
  return page.evaluate(() => {
    for (const box of document.querySelectorAll('dialog[open], [role=menu]')) {
      const { left, top, right, bottom } = box.getBoundingClientRect();
      if (left < 0 || top < 0 || right > innerWidth || bottom > innerHeight)
        return `${box.tagName} ${box.ariaLabel}: ${[left, top, right, bottom].join(' ')}`;
    }
    return '';
  });
}
