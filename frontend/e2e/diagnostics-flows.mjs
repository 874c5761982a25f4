// A bug report: what is in it is seen before it is saved.
import assert from 'node:assert/strict';
import { flow } from './flow.mjs';
import { inspect } from './harness.mjs';

const quiet = { scene: 'full', rate: 0 };

flow('a bug report shows each file before it is saved', quiet, async (page, mock) => {
  await page.goto(`${mock.url}/#/settings`);
  const panel = page.getByRole('region', { name: 'Bug report' });
  await panel.getByRole('button', { name: 'Preview' }).press('Enter');
  await panel.getByRole('button', { name: /config\.jsonc\.json/ }).press('Enter');
  await panel.getByText('[masked]').waitFor();
  await inspect(page, 'all');
  const download = page.waitForEvent('download');
  await panel.getByRole('button', { name: 'Save as ZIP' }).press('Enter');
  assert.equal((await download).suggestedFilename(), 'drawbridge-diagnostics.zip');
});
