// Signing in to a remote server.
import assert from 'node:assert/strict';
import { flow } from './flow.mjs';
import { inspect } from './harness.mjs';
import { becomes, keep } from './waiting.mjs';

flow(
  'a server that needs a login is signed in to, from the overview on',
  { scene: 'trouble', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/`);
    await page.getByRole('link', { name: 'Sign in: Slack' }).press('Enter');
    await page.getByRole('button', { name: 'Sign in', exact: true }).press('Enter');
    // Who will ask is said before anything is opened.
    await page.getByText('login.example.com will ask you to sign in.').waitFor();
    const link = page.getByRole('link', { name: 'Open in this browser' });
    await becomes(() => link.getAttribute('rel'), 'noopener noreferrer');
    await inspect(page, 'all');
    await page.getByRole('button', { name: 'Cancel sign-in' }).click();
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('button', { name: 'Open login.example.com' }).press('Enter');
    await page.getByRole('heading', { name: 'Signed in' }).waitFor();
    await page.getByText('https://login.example.com').waitFor();
    await inspect(page, 'all');
    // What a sign-out costs is said before, and nothing is lost without a yes.
    const out = page.getByRole('button', { name: 'Sign out' });
    await out.click();
    const dialog = page.getByRole('dialog');
    await dialog
      .getByText('Its tokens are deleted and revoked at https://login.example.com')
      .waitFor();
    await inspect(page, 'all');
    await keep(page);
    assert.equal(mock.world.servers.find((s) => s.id === 'slack').login, 'done');
    await out.click();
    await dialog.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
  },
);

flow(
  'a test of a server that wants a login says so, and adds it to sign in',
  { scene: 'usual', rate: 0 },
  async (page, mock) => {
    await page.goto(`${mock.url}/#/add`);
    await page
      .getByRole('textbox')
      .first()
      .fill('{"mcpServers":{"mail":{"url":"https://wants-login.example.com/mcp"}}}');
    await page.getByRole('button', { name: 'Test', exact: true }).click();
    await page.getByText('The server responds and requires sign-in.').waitFor();
    await inspect(page, 'all');
    await page.getByRole('button', { name: 'Add, then sign in' }).press('Enter');
    await page.waitForURL(/#\/servers\/mail/);
  },
);
