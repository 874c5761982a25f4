// The first two minutes and a replay, by keyboard only: a step that needs the pointer fails, and the
// focus must always be visible. Input: {link, url, admin, chromium, output, cursor}.
import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { pressAt } from '../../../frontend/e2e/reliable-input.mjs'
import * as waiting from '../../../frontend/e2e/waiting.mjs'
import { accessible, button, context, finish, found, input, page, settled, step, until } from './page-kit.mjs'

found.stops = 0
await context.addInitScript(() => {
  window.pointed = []
  for (const kind of ['pointerdown', 'mousedown', 'mousemove', 'touchstart', 'wheel'])
    addEventListener(kind, (e) => {
      // After a change of the layout, Chromium sends a mousemove that moved nothing.
      if (kind !== 'mousemove' || e.movementX !== 0 || e.movementY !== 0) window.pointed.push(kind)
    }, true)
})

/** Each step continues the previous one. */
const then = async (name, run) => { if (found.errors.length === 0) await step(name, run) }
const press = (key) => page.keyboard.press(key)

/** The focused control: whether its focus ring is visible, and whether it is inside the window. */
const focused = () =>
  page.evaluate(() => {
    const at = document.activeElement
    if (!at || at === document.body) return undefined
    const { outlineStyle, outlineWidth } = getComputedStyle(at.closest('.cm-editor')?.parentElement ?? at)
    const box = at.getBoundingClientRect()
    return {
      what: at.outerHTML.slice(0, 160),
      ring: outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1,
      inView: box.width > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
    }
  })

/** Presses Tab until the control has the focus. */
async function to(target, most = 60) {
  await target.first().waitFor()
  await until('it can be pressed', () => target.first().isEnabled())
  for (let n = 0; n <= most; n++) {
    if (await target.first().evaluate((one) => one === document.activeElement)) return
    await press('Tab')
    found.stops++
    let at = await focused()
    for (let left = 40; left > 0 && at && !(at.ring && at.inView); left--) { // it may be scrolled into view in the next frame
      await page.waitForTimeout(25)
      at = await focused()
    }
    if (at && (!at.ring || !at.inView)) throw new Error(`the focus cannot be seen: ${JSON.stringify(at)}`)
  }
  throw new Error(`not reached with Tab: ${target}`)
}
let entered = 0
const enter = async (target, most) => {
  do await to(target, most)
  while (!(await pressAt(await target.first().elementHandle(), () => press('Enter'))))
  entered++
}

/** Does what a client does with the entry that Drawbridge wrote into its file: starts it and calls a tool. */
async function callFromItsFile(entry, tool, args) {
  const { command, args: words, env } = JSON.parse(await readFile(input.cursor, 'utf8')).mcpServers[entry]
  const child = spawn(command, words, { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'inherit'] })
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  try {
    send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'Cursor', version: '1' } } })
    for await (const line of createInterface({ input: child.stdout })) {
      const { id, result, error } = JSON.parse(line)
      if (error) throw new Error(line)
      if (id === 1) {
        send({ method: 'notifications/initialized' })
        send({ id: 2, method: 'tools/call', params: { name: tool, arguments: args } })
      } else if (id === 2) return result
    }
    throw new Error('it ended without an answer')
  } finally {
    child.kill()
  }
}

const began = Date.now()
await page.goto(input.link)
await then('an empty start begins with the first steps, and their content can be jumped to', async () => {
  await page.getByRole('heading', { name: 'Get started' }).waitFor()
  await page.waitForURL(/#\/welcome/)
  await enter(page.getByRole('button', { name: 'Skip to content' }), 3)
  await accessible('/welcome')
  entered = 0
})
await then('the servers of a client are imported, which connects it', async () => {
  await enter(button('Move 2 servers from 1 client to Drawbridge'))
  await enter(page.getByText('Show changes for Cursor'))
  await page.getByRole('region', { name: /^Changes for Cursor/ }).first().waitFor()
  await accessible('/welcome, the changes')
  await enter(button('Move all'))
  await page.getByText('2 servers moved').waitFor()
  await page.getByRole('link', { name: /weather/ }).first().waitFor()
  await page.getByRole('heading', { name: 'done: Add your servers' }).waitFor()
  await page.getByRole('heading', { name: 'done: Connect your clients' }).waitFor()
  const changed = page.getByRole('region', { name: 'Changed files' })
  await changed.getByText(input.cursor).waitFor()
  await changed.getByText(input.config).waitFor()
  await page.getByText('Waiting for the first call').waitFor()
  await accessible('/welcome, imported')
})
await then('its first call is seen after at most six presses on one page', async () => {
  const said = await callFromItsFile('weather', 'echo', { text: 'by keyboard' })
  if (!JSON.stringify(said).includes('by keyboard')) throw new Error(JSON.stringify(said))
  await page.getByText('The call succeeded and was recorded.').waitFor()
  await page.getByRole('heading', { name: 'done: Make your first call' }).waitFor()
  found.firstRunMs = Date.now() - began
  found.presses = entered
  if (!/#\/welcome$/.test(page.url())) throw new Error(`the page was left for ${page.url()}`)
  await page.screenshot({ path: `${input.output}/page-keys-first-call.png` })
  await enter(page.getByRole('link', { name: 'Open call' }))
  await page.waitForURL(/#\/calls\/\d+/)
  await page.getByText('by keyboard').first().waitFor()
})
await then('the call is sent again and compared', async () => {
  await enter(button('Send again'), 90)
  const sure = button('Send again', page.getByRole('dialog'))
  await Promise.race([sure.waitFor(), page.waitForURL(/with=/)])
  if (await sure.count()) await enter(sure)
  await page.waitForURL(/with=/)
  await page.getByText('No differences.').first().waitFor()
  await page.screenshot({ path: `${input.output}/page-keys-replay.png` })
})
await then('letters lead to pages, and every list is walked with arrows', async () => {
  await press('Escape')
  await waiting.pressShortcut(page, 'gc', /#\/calls$/)
  await settled('/calls')
  await to(page.locator('[data-call]'))
  const first = await page.evaluate(() => document.activeElement.dataset.call)
  await press('ArrowDown')
  await until('the arrow moves', () => page.evaluate((was) => (document.activeElement.dataset.call ?? was) !== was, first))
  await press('Enter')
  await page.waitForURL(/#\/calls\/\d+/)
  await press('/')
  await until('"/" leads into the search', () => page.evaluate(() => document.activeElement.type === 'search'))
})
await then('anything is found by its name', async () => {
  await press('Control+k')
  await waiting.focused(page.getByRole('combobox', { name: 'Command palette' }))
  await page.keyboard.type('weather__add')
  await page.getByRole('option', { name: /weather__add/, selected: true }).waitFor()
  await press('Enter')
  await page.waitForURL(/#\/tools\?tool=weather__add/)
  await to(page.getByLabel(/^a/), 90)
  await page.keyboard.type('2')
  await to(page.getByLabel(/^b/))
  await page.keyboard.type('40')
  await press('Control+Enter')
  await page.getByText('Succeeded').waitFor()
})
await then('a menu, a question and the keys themselves', async () => {
  await press('Escape')
  await waiting.pressShortcut(page, 'gs', /#\/servers/)
  await settled('/servers')
  await enter(page.locator('main').getByRole('link', { name: 'weather' }), 40)
  const more = page.getByRole('region', { name: 'weather' }).getByRole('button', { name: 'More actions' })
  await enter(more, 60)
  const remove = page.getByRole('menuitem', { name: 'Remove' })
  await remove.waitFor()
  await until('typing its first letters selects it', async () => { // letters that follow too slowly are ignored
    await page.keyboard.type('rem')
    return remove.and(page.locator(':focus')).waitFor({ timeout: 2000 }).then(() => true, () => false)
  })
  await press('Enter')
  await page.getByRole('dialog').getByText('Its calls will stay in the history').waitFor()
  await press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await until('the focus goes back to where it was', () => more.evaluate((one) => one === document.activeElement))
  await press('?')
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
  await press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
})
const pointed = await page.evaluate(() => window.pointed)
if (pointed.length > 0) found.errors.push(`somebody pointed: ${pointed.slice(0, 5)}`)
await finish()
