// What each script for the page of a real daemon needs: a browser page that records errors, and
// functions for what the user does. The input comes on stdin: {link, url, admin, output} and more.
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { launch, sizes } from '../../../frontend/e2e/browser.mjs'
import { axeViolations, watched } from '../../../frontend/e2e/harness.mjs'
import * as waiting from '../../../frontend/e2e/waiting.mjs'

export const input = JSON.parse(await text(process.stdin))
export const found = { done: [], errors: [] }
export const browser = await launch()
export const context = await browser.newContext({ viewport: sizes.desktop, acceptDownloads: true, reducedMotion: 'reduce' })
context.setDefaultTimeout(waiting.timeoutMs)
export const page = await watched(context)
if (waiting.slow > 1) await page.route('**/api/**', delay)
/** Response codes that are expected during a step. */
export const allowed = new Set()
/** What was allowed when a request was sent: its response may come later. */
const allowedThen = new WeakMap()
page.on('request', (request) => allowedThen.set(request, new Set(allowed)))
page.on('response', (response) => {
  // A call that still runs is in the event stream and not yet in the record.
  const status = response.status()
  const running = status === 404 && /\/api\/v1\/calls\/\d+$/.test(response.url())
  if (status >= 400 && !running && !allowed.has(status) && !allowedThen.get(response.request())?.has(status))
    found.errors.push(`${status} ${response.request().method()} ${response.url()}`)
})

/** With E2E_SLOW=4, delays some requests and some responses, so that they arrive in another order. */
async function delay(route) {
  const pause = () => new Promise((done) => setTimeout(done, 5 * waiting.randomDelay()))
  try {
    if (Math.random() < 0.5 || !/^(GET|POST)$/.test(route.request().method()) || /events|export|share|diagnostics/.test(route.request().url())) {
      await pause()
      return await route.continue()
    }
    const response = await route.fetch()
    await pause()
    await route.fulfill({ response })
  } catch {
    await route.abort().catch(() => {}) // the daemon or the page has ended
  }
}

export const api = async (method, path, body, signal) => {
  const reply = await fetch(input.url + path, {
    method,
    headers: { Authorization: `Bearer ${input.admin}`, 'Content-Type': 'application/json' },
    body: body && JSON.stringify(body),
    signal,
  })
  const said = await reply.text()
  return said ? JSON.parse(said) : undefined
}
export const call = (server, tool, args, signal) => api('POST', '/api/v1/call', { server, tool, arguments: args }, signal)
/** Asks the Go test to do what this process cannot do. */
export const control = (what) => fetch(input.control + what).then((reply) => reply.text())

/** A call by a client that cannot ask the user; `token` is the client's. */
export async function callAsClient(server, tool, args, token = input.token, clientInfo = { name: 'life', version: '1' }) {
  const send = (id, method, params, session) =>
    fetch(`${input.url}/s/${server}/mcp`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${token}`,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        ...(session ? { 'Mcp-Session-Id': session } : {}),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
    })
  const hello = await send(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
  await hello.text()
  if (!hello.ok) return `refused with ${hello.status}`
  return (await send(2, 'tools/call', { name: tool, arguments: args }, hello.headers.get('mcp-session-id'))).text()
}

export const live = () => waiting.live(page)
export const part = (name) => page.getByRole('region', { name, exact: true })
/** Waits until the page at a path shows its heading and nothing loads. */
export const settled = (path) => waiting.settled(page, path.split('?')[0])
export const button = (name, inside = page) => inside.getByRole('button', { name, exact: true })
export const radio = (name, inside = page) => inside.getByRole('radio', { name, exact: true })
export const tab = (name, inside = page) => inside.getByRole('tab', { name, exact: true })
/** Waits until the text of a field satisfies `wanted`. */
export const reads = (field, wanted) => until('the field has the expected text', async () => wanted(await textOf(field)))
/** The whole text of a code editor, which renders only the visible lines; or the value of a field. */
export const { textOf } = waiting
/** The content of the file that `press` downloads. */
export async function saved(press) {
  const [download] = await Promise.all([page.waitForEvent('download'), press()])
  return readFile(await download.path())
}
/** The content of the clipboard after `press`. */
export async function copied(press) {
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: input.url })
  await page.evaluate(() => navigator.clipboard.writeText(''))
  await press()
  return until('something is copied', () => page.evaluate(() => navigator.clipboard.readText()))
}
/** Opens a page and waits for it, so that the next action does not reach the previous page. */
export async function go(path) {
  await page.evaluate((to) => { location.hash = to }, path)
  await settled(path)
}
/** Opens what few settings need, which is behind a line. */
export async function advanced() {
  await go('/settings')
  await part('Advanced').locator('details').evaluate((one) => { one.open = true })
  return part('Advanced')
}
/** Presses Enter in a confirmation, once the safe answer has the focus. */
export const pressDefault = () => waiting.pressDefault(page)
/** Closes a dialog with Escape. */
export const closeDialog = () => waiting.closeDialog(page)

/** Calls `ask` until it returns a truthy value, and returns that. */
export const until = (what, ask) => waiting.until(ask, what)

let currentStep = 'none yet'

/** Runs one step of the script. An error is recorded with the step's name, and the next step runs. */
export async function step(name, run) {
  if (process.env.STEPS && !new RegExp(process.env.STEPS).test(name)) return // for debugging
  currentStep = name
  try {
    await dismissMessages()
    await run()
    found.done.push(name)
  } catch (error) {
    found.errors.push(`${name}: ${String(error).split('\n').slice(0, 8).join(' ')}`)
    await page.screenshot({ path: `${input.output}/page-step-${name.replace(/[^a-z]+/g, '-')}.png` })
    await page.keyboard.press('Escape')
  }
}

/** Dismisses the messages of the previous step, so that they are not taken for those of this one. */
async function dismissMessages() {
  await page.getByRole('dialog').and(page.locator('[data-state=closed]')).waitFor({ state: 'detached' })
  await page.evaluate(() => {
    for (const one of document.querySelectorAll('[data-sonner-toast] button[aria-label=Dismiss]')) one.click()
  })
}

/** The Undo button of the newest message. The pointer on it keeps the message open. */
export async function undo() {
  const button = page.getByRole('button', { name: 'Undo', exact: true }).first()
  await button.hover()
  return button
}

/** Waits until a call is recorded, and returns its ID. */
export async function recorded({ callId }) {
  await until(`call ${callId} is recorded`, async () => (await api('GET', `/api/v1/calls/${callId}`)).outcome)
  return callId
}

/** Checks the accessibility of the current page. */
export async function accessible(where) {
  await waiting.becomes(async () => (await axeViolations(page)).map((violation) => `${where}: ${violation}`), [])
}

// The test ends this process at its time limit. Report the errors before that.
setTimeout(() => {
  found.errors.push(`timed out in step: ${currentStep}`)
  process.stdout.write(JSON.stringify(found), () => process.exit())
}, input.time - 20_000).unref()

export async function finish() {
  await browser.close()
  found.errors.push(...page.troubles)
  process.stdout.write(JSON.stringify(found))
}
