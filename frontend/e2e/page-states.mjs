// What is not a page: dialogs, menus, the command palette, messages, and a page that loads,
// that failed or whose daemon is away. Each is looked at in light and dark, wide and on a
// phone. With E2E_PICTURES=1 it writes screenshots to build/e2e/output/page-states.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { startMock } from '../dev/mock.mjs';
import { sizes } from './browser.mjs';
import { inspect, recolour, settled } from './harness.mjs';
import { becomes, live, textOf } from './waiting.mjs';

const output = fileURLToPath(new URL('../../build/e2e/output/page-states', import.meta.url));
const never = () => 3_600_000;
const first = (mock) => mock.world.calls.find((call) => call.outcome === 'ok');
const button = (page, name) => page.getByRole('button', { name }).locator('visible=true').first();
const dialog = (page) => page.getByRole('dialog').waitFor();
const menu = (page) => page.getByRole('menu').waitFor();

/**
 * Name, address, and how one gets there. `mock` are options of the mock daemon; rare ones are
 * for pictures only, `both` are looked at wide and on a phone each time.
 */
const states = [
  {
    name: 'palette',
    at: '#/',
    go: async (page) => {
      await page.keyboard.press('Control+k');
      await dialog(page);
    },
  },
  {
    name: 'palette-typed',
    at: '#/calls',
    go: async (page) => {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox').last().fill('file');
      await page.getByRole('option').first().waitFor();
    },
  },
  {
    name: 'palette-nothing',
    at: '#/',
    go: async (page) => {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox').last().fill('qqqqqq');
      await page.getByText('No results.').waitFor();
    },
  },
  {
    name: 'keys',
    at: '#/',
    go: async (page) => {
      await page.keyboard.press('?');
      await dialog(page);
    },
  },
  {
    name: 'more',
    at: '#/',
    only: 'phone',
    go: async (page) => {
      await button(page, /^More/).click();
      await dialog(page);
    },
  },
  {
    name: 'server-menu',
    at: '#/servers/filesystem',
    go: async (page) => {
      await page
        .getByRole('region', { name: 'filesystem' })
        .getByRole('button', { name: /^More actions/ })
        .click();
      await menu(page);
    },
  },
  {
    name: 'server-remove',
    at: '#/servers/filesystem',
    go: (page) => fromMenu(page, 'Remove'),
  },
  {
    name: 'server-rename',
    at: '#/servers/filesystem',
    go: (page) => fromMenu(page, 'Rename'),
  },
  {
    name: 'server-tags',
    at: '#/servers/github',
    go: (page) => fromMenu(page, 'Tags', 'GitHub'),
  },
  {
    name: 'server-entry',
    at: '#/servers/filesystem',
    go: (page) => fromMenu(page, 'View configuration'),
  },
  {
    name: 'call-menu',
    at: (mock) => `#/calls/${first(mock).id}`,
    go: async (page) => {
      await button(page, /^(Copy|Take)/).click();
      await menu(page);
    },
  },
  {
    name: 'call-note',
    at: (mock) => `#/calls/${first(mock).id}`,
    go: (page) => button(page, /^(Add a note|Edit)$/).click(),
  },
  {
    name: 'call-delete',
    at: (mock) => `#/calls/${first(mock).id}`,
    go: async (page) => {
      await button(page, /^Delete/).click();
      await dialog(page);
    },
  },
  {
    name: 'call-check',
    at: (mock) => `#/calls/${first(mock).id}`,
    go: async (page) => {
      await button(page, /check/i).click();
      await dialog(page);
    },
  },
  {
    name: 'call-compare',
    at: (mock) => `#/calls/${first(mock).id}?with=pick`,
    go: async () => {},
  },
  {
    name: 'export-menu',
    at: '#/calls',
    go: async (page) => {
      await button(page, /^Export/).click();
      await menu(page);
    },
  },
  {
    name: 'less',
    at: '#/settings',
    go: async (page) => {
      await page.getByLabel('Maximum size (MB)').fill('1');
      await button(page, 'Save').click();
      await dialog(page);
    },
  },
  {
    name: 'secret-delete',
    at: '#/settings',
    go: async (page) => {
      await button(page, /^Delete GITHUB/).click();
      await dialog(page);
    },
  },
  {
    name: 'token-new',
    at: '#/settings',
    go: async (page) => {
      await button(page, 'Rotate').click();
      await dialog(page);
    },
  },
  {
    name: 'config-editor',
    at: '#/settings',
    go: async (page) => {
      await button(page, 'Edit file').click();
      await page.getByLabel('Configuration file', { exact: true }).waitFor();
    },
  },
  {
    name: 'config-conflict',
    at: '#/settings',
    go: async (page, mock) => {
      await button(page, 'Edit file').click();
      const box = page.getByLabel('Configuration file', { exact: true });
      await becomes(() => textOf(box), mock.world.config.text);
      const { text } = mock.world.config;
      await box.fill(`${text}// mine\n`);
      await live(page);
      mock.world.writeConfig(`${text}// theirs\n`);
      mock.send('config', { applied: true });
      await button(page, 'Keep my version').click();
      await dialog(page);
    },
  },
  {
    name: 'leave',
    at: '#/profiles/office',
    go: async (page) => {
      await page.getByLabel('Description', { exact: true }).fill('Half a thought');
      await page
        .getByRole('button', { name: /^(Close|Back)$/ })
        .locator('visible=true')
        .first()
        .click();
      await dialog(page);
    },
  },
  {
    name: 'profile-delete',
    at: '#/profiles/office',
    go: async (page) => {
      await button(page, 'Delete profile').click();
      await dialog(page);
    },
  },
  {
    name: 'check-delete',
    rare: true,
    at: '#/checks',
    go: async (page) => {
      await button(page, /^(Remove|Delete)/).click();
      await dialog(page);
    },
  },
  {
    name: 'connect',
    rare: true,
    at: '#/clients',
    go: async (page) => {
      await button(page, /^Connect/).click();
      await page.getByRole('button', { name: 'Apply' }).waitFor();
    },
  },
  {
    name: 'toast',
    at: '#/profiles/office',
    go: async (page) => {
      await page.getByLabel('Description', { exact: true }).fill('Half a thought');
      await button(page, 'Discard changes').click();
      await page.getByText('Your input was discarded.').waitFor();
    },
  },
  {
    name: 'tool-tried',
    rare: true,
    at: '#/tools?tool=postgres__query',
    go: async (page) => {
      await button(page, 'Run tool').click();
      await page.getByText('Succeeded').first().waitFor();
      await page.getByText('Succeeded').first().scrollIntoViewIfNeeded();
    },
  },
  {
    name: 'pasted',
    at: '#/add',
    go: async (page) => {
      await page
        .getByLabel('Paste a snippet, a command or an address')
        .fill('TOKEN=x npx -y "@acme/server-weather" --home "/tmp/a b"');
      await page.getByText('/tmp/a b', { exact: true }).waitFor();
    },
  },
  ...['#/', '#/servers', '#/calls', '#/tools', '#/usage', '#/settings'].map((at) => ({
    name: `loading${at.slice(1).replace('/', '-')}`,
    at,
    rare: true,
    mock: { delay: never },
    unsettled: true,
    go: async (page) => {
      await page.locator('[data-loading]').first().waitFor();
      await page.locator('main .opacity-0').waitFor({ state: 'detached' });
    },
  })),
  ...['#/', '#/servers/filesystem', '#/usage', '#/settings'].map((at) => ({
    name: `away${at.slice(1).replaceAll('/', '-')}`,
    at,
    rare: true,
    go: async (page, mock) => {
      await mock.close();
      await page.getByText('Drawbridge is not responding').first().waitFor();
    },
  })),
  {
    name: 'reconnecting',
    both: true,
    at: '#/',
    go: async (page, mock) => {
      await live(page);
      await mock.close();
      await page.getByText('Drawbridge is not responding').first().waitFor();
      await page.getByText('Last known state', { exact: true }).waitFor();
    },
  },
  {
    name: 'failed',
    both: true,
    at: '#/',
    go: async (page) => {
      await page.route('**/api/v1/checks*', (route) =>
        route.fulfill({
          status: 422,
          contentType: 'application/problem+json',
          body: '{"status":422,"code":"internal","detail":"cannot read the checks: the disk is full"}',
        }),
      );
      await page.evaluate(() => {
        location.hash = '/checks';
      });
      await button(page, 'Try again').waitFor();
    },
  },
  {
    name: 'session-ended',
    both: true,
    at: '#/servers',
    go: async (page, mock) => {
      await live(page);
      mock.expire(true);
      await page.getByText('The session has ended').waitFor();
    },
  },
  {
    name: 'link-spent',
    rare: true,
    at: '#code=old',
    mock: { scene: 'locked' },
    unsettled: true,
    go: (page) => page.getByText('expired or was already used').waitFor(),
  },
  {
    name: 'gone',
    both: true,
    at: '#/servers/nobody',
    go: (page) => button(page, 'Go to the list').waitFor(),
  },
];

async function fromMenu(page, item, server = 'filesystem') {
  await page
    .getByRole('region', { name: server })
    .getByRole('button', { name: /^More actions/ })
    .click();
  await page.getByRole('menuitem', { name: new RegExp(`^${item}`) }).click();
  await dialog(page);
}

/** One job for each; they take turns in being wide and on a phone, unless all pictures are wanted. */
export function pageStates(lend, tally) {
  return states.flatMap(({ name, at, only, rare, both, mock: options, unsettled, go }, index) =>
    ['desktop', 'phone']
      .filter((size) =>
        process.env.E2E_PICTURES === 'all'
          ? only === undefined || only === size
          : !rare && (both || size === (only ?? ['desktop', 'phone'][index % 2])),
      )
      .map(
        (size) => () =>
          tally.check(`moment ${name} ${size}`, async () => {
            const mock = await startMock({ scene: 'full', rate: 0, ...options });
            try {
              await lend(sizes[size], async (page) => {
                const address = typeof at === 'function' ? at(mock) : at;
                await page.goto(`${mock.url}/${address}`);
                if (!unsettled) await settled(page, address.slice(1).split('?')[0]);
                await go(page, mock);
                mkdirSync(output, { recursive: true });
                for (const colorScheme of ['light', 'dark']) {
                  await recolour(page, colorScheme);
                  // axe looks at one of them: at the dark one where it is wide, at the light one on a phone.
                  await inspect(
                    page,
                    !unsettled && (size === 'desktop') === (colorScheme === 'dark') && 'all',
                  );
                  assert.equal(await outside(page), '');
                  if (process.env.E2E_PICTURES) {
                    await page.screenshot({ path: `${output}/${name}-${size}-${colorScheme}.png` });
                  }
                }
              });
            } finally {
              await mock.close();
            }
          }),
      ),
  );
}

/** What of an open dialog or menu stands outside of the window, where nobody sees it. */
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
