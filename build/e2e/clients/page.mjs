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
page.on('console', (message) => {
  // What the daemon refused is reported below, with its address.
  if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) found.errors.push(message.text())
})
page.on('pageerror', (error) => found.errors.push(String(error)))
page.on('response', (response) => {
  // A call that still runs is in the event stream and not yet in the record.
  const running = response.status() === 404 && /\/api\/v1\/calls\/\d+$/.test(response.url())
  if (response.status() >= 400 && !running) found.errors.push(`${response.status()} ${response.url()}`)
})
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
const call = (tool, args) => api('/api/v1/call', { server: 'demo', tool, arguments: args }).then((reply) => reply.json())
const rowOf = ({ callId }) => page.locator(`[data-call="${callId}"]`).first()

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
await browser.close()
process.stdout.write(JSON.stringify(found))
