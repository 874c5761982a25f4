// Looks at the page in a real browser: {link, url, admin, chromium, output} in, what it
// found out. Every page of the navigation is pictured in light and dark and checked for
// accessibility; then calls are made, and have to appear by themselves.
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { createRequire } from 'node:module'
import { chromium } from 'playwright-core'

const order = JSON.parse(await text(process.stdin))
const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const found = { pages: [], violations: [], errors: [], reopened: '' }

const browser = await chromium.launch({ executablePath: order.chromium, args: ['--no-sandbox', '--disable-gpu'] })
const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
const page = await context.newPage()
page.on('console', (message) => message.type() === 'error' && found.errors.push(message.text()))
page.on('pageerror', (error) => found.errors.push(String(error)))
page.setDefaultTimeout(order.patience)

await page.goto(order.link)
const nav = page.locator('nav:visible').first()
await nav.waitFor()
found.address = page.url()
const names = (await nav.getByRole('link').allInnerTexts()).map((name) => name.trim()).filter(Boolean)

const api = (path, body) =>
  fetch(order.url + path, {
    method: 'POST',
    headers: { Authorization: `Bearer ${order.admin}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
const call = (tool, args) => api('/api/v1/call', { server: 'demo', tool, arguments: args })

await call('echo', { text: 'the first call' })
for (const scheme of ['light', 'dark']) {
  await page.emulateMedia({ colorScheme: scheme })
  for (const name of names) {
    await nav.getByRole('link', { name }).first().click()
    await page.locator('main h1, h1').first().waitFor()
    await page.waitForTimeout(300)
    const file = `page-${scheme}-${name.toLowerCase().replace(/[^a-z]+/g, '-')}.png`
    await page.screenshot({ path: `${order.output}/${file}` })
    const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    found.pages.push({ name, scheme, background })
    await page.evaluate(axe) // the page's own policy would refuse a script element
    const { violations } = await page.evaluate(() => window.axe.run())
    for (const v of violations) {
      if (v.impact === 'serious' || v.impact === 'critical') found.violations.push(`${scheme} ${name}: ${v.id} ${v.nodes[0]?.html?.slice(0, 200)}`)
    }
  }
}

// A call is seen from its start, and its end is seen without a reload.
await nav.getByRole('link', { name: order.callsPage }).first().click()
const began = Date.now()
const slow = call('slow', {})
const row = page.locator('[data-call]').filter({ hasText: 'slow' }).first()
await row.waitFor()
found.startSeenAfterMs = Date.now() - began
await page.screenshot({ path: `${order.output}/page-call-running.png` })
await row.click()
await page.screenshot({ path: `${order.output}/page-call-running-detail.png` })
await slow
found.endSeen = await page
  .getByText(/^(Succeeded|Completed|OK|Done)$/i)
  .first()
  .waitFor()
  .then(() => true, () => false)

await call('echo', { text: 'seen in the page' })
await page.locator('[data-call]').filter({ hasText: 'echo' }).first().click()
await page.getByText('seen in the page').first().waitFor()
found.detail = true
await page.screenshot({ path: `${order.output}/page-call-detail.png` })
await call('fail', {})
const failed = page.locator('[data-call]').filter({ hasText: 'fail' }).first()
await failed.click()
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
await browser.close()
process.stdout.write(JSON.stringify(found))
