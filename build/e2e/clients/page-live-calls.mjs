// Signs in to the page of a real daemon, and checks that calls appear while they run.
import { browser, call as ask, finish, found, go, input, live, page } from './page-kit.mjs'

await page.goto(input.link)
const navigation = page.locator('nav:visible').first()
await navigation.waitFor()
found.address = page.url()
const call = (tool, args) => ask('demo', tool, args)

// The start and the end of a call are shown without a reload.
await go('/calls')
await live()
const began = Date.now()
const slow = call('slow', {})
const row = page.locator('[data-call]').filter({ hasText: 'slow' })
await row.waitFor()
found.startSeenAfterMs = Date.now() - began
await row.click()
await page.screenshot({ path: `${input.output}/page-call-running.png` })
await slow
await page
  .locator('div', { has: row })
  .last() // the innermost element that contains the link
  .getByText('OK', { exact: true })
  .waitFor()
const { callId } = await call('echo', { text: 'shown on the page' })
// While a call is open, new ones wait.
await page.getByRole('button', { name: '1 new' }).click()
await page.locator(`[data-call="${callId}"]`).first().click()
await page.getByText('shown on the page').first().waitFor()

// A reload keeps the session. Another browser needs a link, and each link works once.
await page.reload()
await navigation.waitFor()
for (const address of [`${input.url}/`, input.link]) {
  const other = await (await browser.newContext()).newPage()
  await other.goto(address)
  await other.getByText(/drawbridge open/).first().waitFor()
}
await finish()
