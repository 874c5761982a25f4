// Does with the page what a person does, against a real daemon, and looks at every page
// while its configuration is read again, a server is killed and the daemon itself goes and
// comes back: {link, url, admin, token, chromium, output, config, control, patience} in, what was
// found out. `control` is asked for what this process cannot do: /restart and /link.
import { readFile, writeFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { createRequire } from 'node:module'
import { chromium } from 'playwright-core'

const order = JSON.parse(await text(process.stdin))
const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const found = { done: [], pages: [], violations: [], errors: [], usefulMs: 0 }

const browser = await chromium.launch({ executablePath: order.chromium, args: ['--no-sandbox', '--disable-gpu'] })
const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, acceptDownloads: true })
const page = await context.newPage()
page.setDefaultTimeout(order.patience)
let expected = [] // statuses that what is being done brings with it
page.on('console', (message) => {
  const line = message.text()
  if (message.type() === 'error' && !/Failed to load resource|net::ERR/.test(line)) found.errors.push(line)
})
page.on('pageerror', (error) => found.errors.push(String(error)))
page.on('response', (response) => {
  const running = response.status() === 404 && /\/api\/v1\/calls\/\d+$/.test(response.url())
  if (response.status() >= 400 && !running && !expected.includes(response.status()))
    found.errors.push(`${response.status()} ${response.request().method()} ${response.url()}`)
})

const api = async (method, path, body) => {
  const reply = await fetch(order.url + path, {
    method,
    headers: { Authorization: `Bearer ${order.admin}`, 'Content-Type': 'application/json' },
    body: body && JSON.stringify(body),
  })
  const said = await reply.text()
  return said ? JSON.parse(said) : undefined
}
const call = (tool, args) => api('POST', '/api/v1/call', { server: 'demo', tool, arguments: args })
/** A call by a client: a person's own calls are never asked about. */
const callAsClient = async (tool, args) => {
  const send = (id, method, params, session) =>
    fetch(`${order.url}/s/demo/mcp`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${order.token}`,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        ...(session ? { 'Mcp-Session-Id': session } : {}),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
    })
  const hello = await send(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'life', version: '1' } })
  await hello.text()
  return (await send(2, 'tools/call', { name: tool, arguments: args }, hello.headers.get('mcp-session-id'))).text()
}
const control = (what) => fetch(order.control + what).then((reply) => reply.text())
const go = (path) => page.evaluate((to) => { location.hash = to }, path)
const live = () => page.getByText('Live', { exact: true }).locator('visible=true').first().waitFor()

/** The page at a path has its heading, and nothing loads any more. */
const settled = (path) =>
  page.waitForFunction((at) => {
    const main = document.querySelector(`main[aria-busy=false][data-at="${at}"]`)
    return main && [...document.querySelectorAll('h1')].some((h) => h.checkVisibility()) && !document.querySelector('[data-loading]')
  }, path.split('?')[0])

async function step(name, run) {
  try {
    await run()
    found.done.push(name)
  } catch (error) {
    found.errors.push(`${name}: ${String(error).split('\n').slice(0, 4).join(' ')}`)
    await page.screenshot({ path: `${order.output}/page-life-${name.replace(/[^a-z]+/g, '-')}.png` })
    await page.keyboard.press('Escape')
  }
}

const began = Date.now()
await page.goto(order.link)
await page.getByRole('heading', { name: 'Overview' }).waitFor()
found.usefulMs = Date.now() - began
await live()

await call('echo', { text: 'first' })
await call('fail', {})
const { callId } = await call('echo', { text: 'a second one' })
await page.waitForTimeout(400) // the recorder writes in batches

await step('a note and its tag', async () => {
  await go(`/calls/${callId}`)
  await page.getByRole('button', { name: 'Add a note' }).click()
  await page.getByLabel('Title').fill('Good')
  await page.getByLabel('Tag').fill('kept')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByRole('link', { name: 'kept' }).click()
  await page.locator(`[data-call="${callId}"]`).waitFor()
  if ((await page.locator('[data-call]').count()) !== 1) throw new Error('the tag does not narrow the list')
})
await step('facets and search', async () => {
  await go('/calls')
  await page.getByRole('button', { name: /^Tool error/ }).first().click()
  await page.waitForURL(/outcome=tool_error/)
  await go('/calls')
  await page.getByRole('searchbox').fill('second')
  await page.locator(`[data-call="${callId}"]`).waitFor()
})
await step('send again and compare', async () => {
  await go(`/calls/${callId}`)
  await page.getByRole('button', { name: 'Send again' }).click()
  const dialog = page.getByRole('dialog')
  const asked = dialog.getByRole('button', { name: 'Send again' })
  await Promise.race([asked.waitFor(), page.waitForURL(/with=/)])
  if (await asked.isVisible()) await asked.click()
  await page.waitForURL(/with=/)
  await page.getByText('They are equal.').first().waitFor()
})
await step('export', async () => {
  await go('/calls')
  await page.getByRole('button', { name: 'Export' }).click()
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('menuitem', { name: 'As CSV' }).click()])
  if (!(await readFile(await download.path(), 'utf8')).includes('echo')) throw new Error('the file lacks the calls')
})
await step('delete a call', async () => {
  const { callId: gone } = await call('echo', { text: 'not for long' })
  await page.waitForTimeout(400)
  await go(`/calls/${gone}`)
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('One call is deleted.').waitFor()
})
await step('a session as a story', async () => {
  await go('/sessions')
  await settled('/sessions')
})
await step('usage', async () => {
  await go('/usage?range=1h')
  await page.getByRole('table').getByText('echo').waitFor()
  await page.getByRole('img', { name: /Calls and errors/ }).waitFor()
})
await step('a tool is switched off and on', async () => {
  await go('/servers/demo?view=tools')
  const toggle = page.getByRole('switch', { name: 'Offer add to clients' })
  await toggle.click()
  await page.getByText('Switched off here').waitFor()
  await toggle.click()
  await page.getByText('Switched off here').waitFor({ state: 'detached' })
})
await step('a call waits for a word', async () => {
  await go('/servers/demo?view=tools')
  await page.getByLabel('Who is asked before echo runs').selectOption('ask')
  await page.waitForTimeout(500)
  const waiting = callAsClient('echo', { text: 'may I?' })
  await page.getByRole('link', { name: 'Answer' }).click()
  await page.getByText('may I?').waitFor()
  await page.screenshot({ path: `${order.output}/page-approval.png` })
  await page.getByRole('button', { name: 'Allow once' }).click()
  const said = await waiting
  if (said.includes('isError') || !said.includes('may I?')) throw new Error(`the call was not let through: ${said}`)
  await go('/servers/demo?view=tools')
  await page.getByLabel('Who is asked before echo runs').selectOption('')
})
await step('would a call pass', async () => {
  await go('/tools?tool=demo__echo')
  await page.getByText('Yes, it would pass.').waitFor()
})
await step('the log and the messages of a server', async () => {
  await go('/servers/demo?view=debug')
  await page.getByRole('button', { name: /^Show .* message/ }).click()
  await page.getByText('"jsonrpc"').first().waitFor()
  await go('/servers/demo?view=log')
  await settled('/servers/demo')
})
await step('a server is tested, added and removed', async () => {
  await go('/add')
  await page.getByLabel('Paste a snippet, a command or an address').fill(`{"mcpServers":{"second":{"command":${JSON.stringify(order.binary)},"args":["demo-server"]}}}`)
  await page.getByRole('button', { name: 'Test', exact: true }).click()
  await page.getByText(/It works: \d+ tools/).waitFor()
  await page.getByRole('button', { name: 'Add server' }).click()
  await page.getByRole('heading', { name: 'second' }).waitFor()
  await page.getByRole('region', { name: 'second' }).getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Remove' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await page.getByText('second is removed.').waitFor()
})
await step('recording is paused and goes on', async () => {
  await go('/settings')
  await page.getByRole('button', { name: 'Pause recording' }).click()
  await page.getByText('Nothing is recorded.').waitFor()
  await page.getByRole('button', { name: 'Record again' }).click()
  await page.getByText('Calls are recorded.').waitFor()
  await page.getByLabel('Keep for days').fill('14')
  await page.getByRole('region', { name: 'Recording' }).getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved. It is in effect already.').waitFor()
  if (!/"keepDays": 14/.test(await readFile(order.config, 'utf8'))) throw new Error('the file lacks the bound')
})

// Every page, with axe, while things happen.
const places = ['/', '/servers', '/servers/demo', '/servers/demo?view=tools', '/servers/demo?view=log', '/servers/demo?view=debug', '/add', '/calls', `/calls/${callId}`, '/sessions', '/usage', '/checks', '/tools', '/tools?tool=demo__echo', '/questions', '/clients', '/welcome', '/welcome?step=clients', '/welcome?step=call', '/settings']
const crash = async () => {
  const { pid, restarts } = await api('GET', '/api/v1/servers/demo')
  process.kill(pid, 'SIGKILL')
  for (;;) {
    const now = await api('GET', '/api/v1/servers/demo')
    if (now.state === 'running' && now.pid !== pid) return
    await new Promise((done) => setTimeout(done, 50))
    if (now.restarts > restarts + 5) throw new Error('it does not come back')
  }
}
const reload = async () => {
  const config = await readFile(order.config, 'utf8')
  await writeFile(order.config, `${config}// read me again ${Date.now()}\n`)
}
const restart = async () => {
  await control('/restart')
  await page.getByText('Drawbridge does not answer').first().waitFor({ state: 'detached' })
  await live()
}
for (const [i, path] of places.entries()) {
  await step(`${path} while things happen`, async () => {
    await go(path)
    await settled(path)
    if (i % 6 === 0) expected = [404, 401, 502, 503]
    await Promise.all([reload(), i % 3 === 0 ? crash() : undefined])
    if (i % 6 === 0) await restart()
    expected = []
    await settled(path)
    if (await page.getByText('This page could not be shown').count()) throw new Error('it does not recover')
    await page.evaluate(axe)
    const { violations } = await page.evaluate(() => window.axe.run())
    for (const v of violations) found.violations.push(`${path}: ${v.id} ${v.nodes[0]?.html?.slice(0, 200)}`)
    found.pages.push(path)
  })
}

await step('a session that ends, and a new link', async () => {
  expected = [401]
  await context.clearCookies()
  await go('/usage')
  await page.getByText('This browser has not been let in').waitFor()
  await page.goto(await control('/link'))
  await live()
  expected = []
})
await browser.close()
process.stdout.write(JSON.stringify(found))
