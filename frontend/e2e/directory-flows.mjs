// What the user does in "Browse servers": finds one, fills in its form, installs it; a bundle.
import assert from 'node:assert/strict';
import { flow } from './flow.mjs';
import { inspect, settled } from './harness.mjs';
import { becomes, focused } from './waiting.mjs';

const quiet = { scene: 'full', rate: 0 };
const zip = (name, text) => ({ name, mimeType: 'application/zip', buffer: Buffer.from(text) });
const card = (page, title) =>
  page
    .getByRole('list', { name: 'Browse servers' })
    .getByRole('link', { name: title, exact: true });

/** Lets the daemon answer only once what is returned is called. */
function hold(world) {
  let answer;
  world.held = new Promise((done) => {
    answer = done;
  });
  return answer;
}

flow('a server is found, filled in and installed by keyboard', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/add`);
  await page.getByRole('link', { name: 'Browse servers' }).first().focus();
  await page.keyboard.press('Enter');
  await settled(page, '/directory');
  await page.keyboard.press('/');
  await focused(page.getByRole('searchbox'));
  await page.keyboard.type('brave search');
  await page.getByText('1 server', { exact: true }).waitFor();
  await card(page, 'Brave Search').press('Enter');
  await page.getByText('Runs with your permissions').waitFor();
  const install = page.getByRole('button', { name: 'Install', exact: true });
  await page.getByText('Fill in BRAVE_API_KEY first.').waitFor();
  await install.press('Enter'); // nothing but a word about what is missing
  await page.getByText('Required.').waitFor();
  await inspect(page, 'all');
  await page.getByLabel('BRAVE_API_KEY').fill('cnry-key');
  await page.getByLabel('--results').fill('many');
  await page.getByText('arg.3 must be a number').waitFor();
  await becomes(() => install.isEnabled(), false);
  await page.getByLabel('--results').fill('20');
  await page.getByLabel('--browser').selectOption('firefox');
  const words = page.getByRole('list', { name: /Program and arguments/ });
  await words.getByText('firefox').waitFor();
  await words.getByText('20').waitFor();
  await page.getByText(/Stored as secrets/).waitFor();
  await inspect(page, 'all');
  const answer = hold(mock.world);
  await becomes(() => install.isEnabled(), true);
  await install.press('Enter');
  await page.getByRole('button', { name: 'Installing…' }).waitFor();
  answer();
  await page.getByText('Running with 2 tools.').waitFor();
  await page.getByText('list_notes').waitFor();
  assert.ok(!(await page.content()).includes('cnry-key'));
  assert.equal(mock.world.directory.installed.values['env.BRAVE_API_KEY'], 'cnry-key');
  assert.equal(mock.world.directory.installed.values['arg.1'], 'firefox');
  await inspect(page, 'all');
  await page.keyboard.press('Escape');
  await page
    .getByRole('listitem')
    .filter({ hasText: 'Brave Search' })
    .getByText('Installed')
    .waitFor();
});

flow('an installation that fails says why and what to do', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/directory?name=com.linear%2Fmcp`);
  await page.getByText('Runs remotely at mcp.linear.app').waitFor();
  const name = page.getByLabel('Server name');
  await name.fill('filesystem');
  await page.getByText('A server with this name already exists.').waitFor();
  await name.fill('broken');
  const install = page.getByRole('button', { name: 'Install', exact: true });
  await becomes(() => install.isEnabled(), true);
  await install.click();
  await page.getByText('the package could not be fetched').waitFor();
  await page.getByText(/Check its last output/).waitFor();
  await page.getByRole('region', { name: 'Last output' }).waitFor();
  await inspect(page, 'all');
  await page.getByRole('link', { name: 'Open server page' }).click();
  await page.waitForURL(/#\/servers\/broken/);
});

flow('the list is narrowed, asked for anew, and says how old it is', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/directory`);
  await page.getByText('Registry fetched 3d ago.').waitFor();
  await page.getByLabel('Type').selectOption('docker');
  await page.getByText('1 server', { exact: true }).waitFor();
  await card(page, 'GitHub').click();
  await page.getByText('each start may use a newer one').waitFor();
  await page.getByRole('radio', { name: 'Remote address' }).click();
  await page.getByText('Runs remotely at api.githubcopilot.com').waitFor();
  await inspect(page, 'all');
  await page.getByLabel('Type').selectOption('');
  await page.getByLabel('Show').selectOption('installed');
  await card(page, 'Filesystem').waitFor();
  await page.getByRole('searchbox').fill('nothing at all');
  await page.getByRole('heading', { name: 'No server matches' }).waitFor();
  await inspect(page, 'all');
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await page.getByText(/The option "--call evil" of npx is not allowed/).waitFor();
  const answer = hold(mock.world);
  await page.getByRole('button', { name: 'Fetch registry' }).click();
  await page.getByRole('button', { name: /Fetching/ }).waitFor();
  mock.world.directory.failing = true;
  answer();
  await page.getByText(/annot reach the registry.*The previous list is kept/).waitFor();
  await card(page, 'Linear').waitFor();
  await inspect(page, 'all');
  mock.world.directory.failing = false;
  await page.getByRole('button', { name: 'Fetch registry' }).click();
  await page.getByText(/Updated: 5 servers/).waitFor();
});

flow('a bundle is looked at, filled in and installed', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/directory`);
  await page.getByRole('link', { name: 'Install a file…' }).press('Enter');
  const file = page.getByLabel('Bundle');
  await file.waitFor();
  await inspect(page, 'all');
  await file.setInputFiles(zip('notes.txt', 'PK'));
  await page.getByText('this is not a .mcpb file').waitFor();
  await file.setInputFiles(zip('notes.mcpb', ''));
  await page.getByText('the file is empty').waitFor();
  await file.setInputFiles(zip('evil.mcpb', 'PK ../../evil'));
  await page.getByText(/which is a path outside of it/).waitFor();
  await page.getByText(/Nothing was unpacked/).waitFor();
  await inspect(page, 'all');
  const answer = hold(mock.world);
  await file.setInputFiles(zip('notes.mcpb', `PK${'x'.repeat(4_000_000)}`));
  await page.getByText(/Reading notes.mcpb/).waitFor();
  answer();
  await page.getByText('Your notes as tools.').waitFor();
  assert.equal(mock.world.directory.uploads.get('UP').got.length, 4_000_002); // in three parts
  await page.getByText('14 files').waitFor();
  await page.getByText('This information comes from the file').waitFor();
  assert.equal(mock.world.directory.installed, undefined);
  await page.getByLabel('Folder of your notes').fill('/home/ada/notes');
  await page.getByLabel('Token').fill('cnry-token');
  await page
    .getByRole('list', { name: /Program and arguments/ })
    .getByText('/home/ada/notes')
    .waitFor();
  await inspect(page, 'all');
  await page.getByRole('button', { name: 'Install', exact: true }).click(); // once it can be
  await page.getByText('Running with 2 tools.').waitFor();
  assert.equal(mock.world.directory.installed.upload, 'UP');
  await inspect(page, 'all');
});

flow('a bundle that is dropped and left is forgotten', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/directory?file=1`);
  await page.getByText('Drop a .mcpb file here').waitFor();
  const transfer = await page.evaluateHandle(() => {
    const data = new DataTransfer();
    data.items.add(new File(['PK here'], 'notes.mcpb'));
    return data;
  });
  await page.getByText('Drop a .mcpb file here').dispatchEvent('drop', { dataTransfer: transfer });
  await page.getByText('Your notes as tools.').waitFor();
  await becomes(() => mock.world.directory.uploads.size, 1);
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByText('Your notes as tools.').waitFor({ state: 'detached' });
  await becomes(() => mock.world.directory.uploads.size, 0);
});
