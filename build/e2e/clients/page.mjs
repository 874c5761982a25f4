// Looks at the page in a real browser: {link, url, admin, chromium, output} in, what it
// found out. Every page of the navigation is pictured in light and dark and checked for
// accessibility; then calls are made, and have to appear by themselves.
import { accessible, browser, call as ask, finish, found, order, page } from './page-kit.mjs'

await page.goto(order.link)
const nav = page.locator('nav:visible').first()
await nav.waitFor()
found.address = page.url()
const names = (await nav.getByRole('link').allInnerTexts()).map((name) => name.trim()).filter(Boolean)

const call = (tool, args) => ask('demo', tool, args)
const rowOf = ({ callId }) => page.locator(`[data-call="${callId}"]`).first()

await call('echo', { text: 'the first call' })
for (const scheme of ['light', 'dark']) {
  await page.emulateMedia({ colorScheme: scheme })
  for (const name of names) {
    await nav.getByRole('link', { name }).first().click()
    await page.locator('main h1, h1').first().waitFor()
    // For the pictures; what takes longer is pictured as it loads.
    await page.waitForFunction(() => !document.querySelector('[data-loading]'), undefined, { timeout: 5000 }).catch(() => {})
    await page.waitForTimeout(300)
    const file = `page-${scheme}-${name.toLowerCase().replace(/[^a-z]+/g, '-')}.png`
    await page.screenshot({ path: `${order.output}/${file}` })
    const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    found.pages.push({ name, scheme, background })
    await accessible(`${scheme} ${name}`)
  }
}

// A call is seen from its start, and its end is seen without a reload.
await nav.getByRole('link', { name: order.callsPage }).first().click()
const began = Date.now()
const slow = call('slow', {})
const row = page.locator('[data-call]').filter({ hasText: 'slow' })
await row.waitFor()
found.startSeenAfterMs = Date.now() - began
await page.screenshot({ path: `${order.output}/page-call-running.png` })
await row.click()
await page.screenshot({ path: `${order.output}/page-call-running-detail.png` })
await slow
found.endSeen = await page
  .locator('div', { has: row })
  .last() // the row itself: the innermost that holds the link
  .getByText('OK', { exact: true })
  .waitFor()
  .then(() => true, () => false)

await rowOf(await call('echo', { text: 'seen in the page' })).click()
await page.getByText('seen in the page').first().waitFor()
found.detail = true
await page.screenshot({ path: `${order.output}/page-call-detail.png` })
await rowOf(await call('fail', {})).click()
await page.waitForTimeout(300)
await page.screenshot({ path: `${order.output}/page-call-failed.png` })

// A reload keeps the session; a stranger's browser is told what to do.
await page.reload()
await page.locator('nav:visible').first().waitFor()
const stranger = await (await browser.newContext()).newPage()
await stranger.goto(order.url + '/')
await stranger.getByText(/drawbridge open/).first().waitFor()
await stranger.screenshot({ path: `${order.output}/page-locked.png` })
found.locked = true
// The link worked once.
const again = await (await browser.newContext()).newPage()
await again.goto(order.link)
found.linkWorksOnce = await again.getByText(/drawbridge open/).first().waitFor().then(() => true, () => false)
await finish()
