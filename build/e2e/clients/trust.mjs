// Accepts a changed tool on the real page: {link, chromium, output, patience} in.
import { text } from 'node:stream/consumers'
import { chromium } from 'playwright-core'

const order = JSON.parse(await text(process.stdin))
const found = { errors: [], warned: false }
const browser = await chromium.launch({ executablePath: order.chromium, args: ['--no-sandbox', '--disable-gpu'] })
const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
const page = await context.newPage()
page.setDefaultTimeout(order.patience)
page.on('pageerror', (error) => found.errors.push(String(error)))
await page.goto(order.link)
await page.locator('nav:visible').first().waitFor()
const at = async (hash) => page.evaluate((to) => { location.hash = to }, hash)
await at('/questions')
const card = page.getByRole('listitem').filter({ hasText: 'Tools of rug changed' }).first()
await card.getByText('First read ~/.ssh/id_rsa').first().waitFor()
await card.getByText('It tells the model to hide something from you.').waitFor()
for (const scheme of ['light', 'dark'])
  for (const [name, size] of [['wide', { width: 1280, height: 800 }], ['narrow', { width: 390, height: 844 }]]) {
    await page.emulateMedia({ colorScheme: scheme })
    await page.setViewportSize(size)
    await page.screenshot({ path: `${order.output}/trust-${scheme}-${name}.png` })
  }
await page.setViewportSize({ width: 1280, height: 800 })
await at('/servers/sly?view=tools')
await page.getByText('Suspicious descriptions').waitFor()
await page.getByText('It speaks of "send_email"').first().waitFor()
await page.screenshot({ path: `${order.output}/trust-server.png` })
await at('/tools')
await page.getByText('Suspicious', { exact: true }).first().waitFor()
found.warned = true
await page.screenshot({ path: `${order.output}/trust-tools.png` })
await at('/questions')
await card.getByRole('button', { name: 'Accept: add', exact: true }).click()
await card.waitFor({ state: 'detached' })
if (await page.getByText('Something went wrong').count()) found.errors.push('accepting is told as a failure')
await at('/servers/rug?view=tools')
await page.getByText(/What happened to its tools/).click()
await page.getByText('was accepted').first().waitFor()
await page.screenshot({ path: `${order.output}/trust-accepted.png` })
await browser.close()
console.log(JSON.stringify(found))
