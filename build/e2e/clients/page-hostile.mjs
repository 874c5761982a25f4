// Visits the page of a real daemon with hostile servers: every text that a server, a client or the
// configuration can set is one of 200 hostile strings.
import { corpus } from '../../../frontend/e2e/hostile-strings.mjs'
import { findInjections, watchForInjection } from '../../../frontend/e2e/injection.mjs'
import { accessible, api, call, callAsClient, finish, found, go, live, input, page, part, settled, step, until } from './page-kit.mjs'

found.looks = 0
await watchForInjection(page, input.url)
await page.goto(input.link)
await live()

/** Shows the page at path: no string was interpreted, and nothing is wider than the window. */
async function look(path) {
  await go(path)
  const bad = [...(await findInjections(page)), ...page.strange.splice(0)]
  if (bad.length > 0) throw new Error(`${path}: ${bad.slice(0, 3)}`)
  // An element that is being replaced may be wider for one frame.
  await until(`${path} fits into the window`, () => page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth))
  found.looks++
}

/** Scrolls a virtual list to its end; no string was interpreted. */
async function scrolled(list) {
  for (let more = true; more; ) {
    more = await list.evaluate((box) => {
      const before = box.scrollTop
      box.scrollBy(0, 500)
      return box.scrollTop > before
    })
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))
    const bad = await findInjections(page)
    if (bad.length > 0) throw new Error(String(bad.slice(0, 3)))
  }
}

const calls = []
await step('calls with all strings', async () => {
  for (let n = 0; n < corpus.length; n += 4) calls.push((await call('evil', 'ok', { from: n })).callId)
  const asClient = (n) =>
    // Each is another client, with a hostile name.
    callAsClient('evil', n % 2 ? 'fail' : 'broken', { from: n, [corpus[n]]: corpus[(n + 7) % 200] }, undefined, {
      name: corpus[n],
      title: corpus[(n + 3) % 200],
      version: corpus[(n + 5) % 200].slice(0, 60),
    })
  for (let n = 0; n < corpus.length; n += 10) await Promise.all(corpus.slice(n, n + 10).map((_, i) => asClient(n + i)))
  await until('they are recorded', async () => (await api('GET', '/api/v1/history')).calls >= 250)
})
const { items: tools } = await api('GET', '/api/v1/tools?server=evil')
const { items: servers } = await api('GET', '/api/v1/servers')
await step('each tool', async () => {
  if (tools.length < 190) throw new Error(`only ${tools.length} tools are listed`)
  await look('/tools?server=evil')
  await scrolled(page.locator('.scroll-area:has([aria-label=Tools])')) // every name and description
  for (const [n, tool] of tools.entries()) {
    if (n % 12 !== 0) continue // the pages take the longest; each shows 20 strings in other fields
    await look(`/tools?tool=${encodeURIComponent(tool.name)}`)
    // Printable text is shown unchanged.
    const said = corpus[(n + 23) % 200]
    if (/^[\x20-\x7e]{1,200}$/.test(said) && tool.description === said && !/ {2}/.test(said))
      if (!(await page.locator('main').innerText()).includes(said.trim())) throw new Error(`${said} is not shown`)
  }
})
await step('each result', async () => {
  for (const id of calls.filter((_, n) => n % 4 === 0)) await look(`/calls/${id}`)
  await look(`/calls/${calls[0]}?with=${calls[1]}`)
})
await step('lists of errors and clients', async () => {
  await look('/calls')
  await scrolled(page.locator('.scroll-area:has([aria-label=Calls])'))
  const { items } = await api('GET', '/api/v1/calls?limit=200')
  for (const one of items.slice(0, 8)) await look(`/calls/${one.id}`)
  for (const path of ['/', '/usage', '/clients', '/sessions', `/sessions/${encodeURIComponent(items[0].session)}`]) await look(path)
})
await step('servers with hostile names and commands', async () => {
  if (servers.length < 100) throw new Error(`only ${servers.length} servers are there`)
  await look('/servers')
  for (const one of servers.slice(0, 10)) await look(`/servers/${encodeURIComponent(one.id)}`)
  for (const view of ['tools', 'log', 'diagnostics']) await look(`/servers/evil?view=${view}`)
  await page.getByRole('button', { name: /^Show .* message/ }).click()
  await page.getByText('"jsonrpc"').first().waitFor()
  await look('/servers/evil?view=diagnostics')
  await look('/settings')
  await look('/configuration')
  await page.getByRole('button', { name: 'Edit file' }).click()
  await look('/configuration')
  await look('/welcome')
})
await step('an elicitation of hostile strings', async () => {
  const waiting = callAsClient('evil', 'ask', {})
  await page.getByRole('link', { name: 'Review' }).click()
  await settled('/approvals')
  await part('evil').or(page.getByRole('listitem').filter({ hasText: 'asks' })).first().waitFor()
  await look('/approvals')
  await accessible('/approvals, hostile')
  await page.getByRole('button', { name: 'Decline' }).click()
  await waiting
})
await step('the page can still be used', async () => {
  await go('/tools')
  await page.getByRole('searchbox').fill('broken')
  await page.getByRole('link', { name: /broken/ }).click()
  await page.getByRole('button', { name: 'Run tool' }).click()
  await page.getByText('Failed', { exact: true }).first().waitFor()
  await page.keyboard.press('Control+k')
  const palette = page.getByRole('combobox', { name: 'Command palette' })
  await palette.fill('settings')
  await page.getByRole('option', { name: /settings/i, selected: true }).waitFor()
  await palette.press('Enter')
  await page.waitForURL(/#\/settings/)
})
await step('2,000 tools, and strings of 1 MB', async () => {
  await until('all are listed', async () => (await api('GET', '/api/v1/tools')).items.length >= 2000)
  await look('/tools')
  await page.getByRole('searchbox').fill('large__tool_999')
  await page.getByRole('link', { name: /tool_999/ }).first().click()
  await page.getByRole('heading', { name: /tool_999/ }).waitFor()
  await look('/tools?tool=large__tool_7')
  const { callId } = await call('large', 'tool_1', {})
  await until('it is recorded', async () => (await api('GET', `/api/v1/calls/${callId}`)).id)
  await look(`/calls/${callId}`)
  const shown = await page.evaluate(() => document.body.innerText.length)
  if (shown > 400_000) throw new Error(`${shown} characters are laid out at once`)
  await look('/servers/large?view=tools')
})
await finish()
