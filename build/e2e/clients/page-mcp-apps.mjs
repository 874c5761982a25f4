// Shows MCP Apps of a real daemon's servers: one works, one attacks, and some cannot be shown.
import { allowed, api, button, call, finish, found, go, live, input, page, part, recorded, step, until } from './page-kit.mjs'

await page.goto(input.link)
await live()
const frame = () => page.frameLocator('iframe')
const open = async (tool, args = {}) => {
  const id = await recorded(await call('apps', tool, args))
  await go(`/calls/${id}`)
  return id
}
const show = async (tool, args) => {
  const id = await open(tool, args)
  await button('Show app').click()
  return id
}
const newest = async (tool) => (await api('GET', `/api/v1/calls?tool=${tool}`)).items
const pause = (ms) => new Promise((done) => setTimeout(done, ms))

await step('an app receives the call, and calls a tool of its server', async () => {
  const id = await open('board', { a: 7 })
  await page.getByText('ui://board/view.html', { exact: false }).waitFor()
  if (await page.locator('iframe').count()) throw new Error('the app runs without being asked for')
  await button('Show app').click()
  await frame().getByText('input {"a":7}').waitFor()
  await frame().getByText('result {"count":7}').waitFor()
  await frame().getByRole('button', { name: 'Add', exact: true }).click()
  await frame().getByText('add says 5').waitFor()
  const [made] = await newest('add')
  if (made.client !== 'drawbridge-app' || made.outcome !== 'ok') throw new Error(JSON.stringify(made))
  await page.screenshot({ path: `${input.output}/app.png` })
  await page.getByRole('link', { name: 'add', exact: true }).click()
  await page.waitForURL((url) => url.hash.includes(made.id))
  found.board = id
})
await step('rules apply to the calls of an app', async () => {
  await show('board')
  await frame().getByText('result {"count":0}').waitFor()
  await frame().getByRole('button', { name: 'Denied' }).click()
  await frame().getByText(/denied fails: .*is not allowed/).waitFor()
  if ((await newest('denied'))[0].outcome !== 'rejected') throw new Error('the call was not rejected')
  allowed.add(403)
  await frame().getByRole('button', { name: 'For models' }).click()
  await frame().getByText(/for_models fails: .*models only/i).waitFor()
  if ((await newest('for_models')).length) throw new Error('the call reached the server')
})
await step('a result names its app; a call without an app offers none', async () => {
  await show('by_result')
  await frame().getByText('result {"count":0}').waitFor()
  await open('plain')
  await part('Result').or(page.getByRole('heading', { name: 'Result' })).first().waitFor()
  if (await button('Show app').count()) throw new Error('an app is offered')
})
await step('what cannot be shown is explained', async () => {
  for (const status of [404, 500, 502, 503]) allowed.add(status)
  for (const [tool, text] of [['not_html', 'is not HTML: its type is text/plain'], ['large', 'bytes long; the limit is 4194304 bytes'], ['missing', 'there is no such page']]) {
    await show(tool)
    await page.getByRole('alert').filter({ hasText: text }).waitFor()
    if (await page.locator('iframe').count()) throw new Error(`${tool} is shown`)
  }
})

await step('a hostile app reaches nothing', async () => {
  await show('hostile')
  await frame().getByText(/^done /).waitFor()
  found.hostile = JSON.parse((await frame().locator('#log').textContent()).slice(5))
  await pause(1000) // for packets in flight
  const height = await page.locator('iframe').evaluate((e) => e.offsetHeight)
  if (height > 2000) throw new Error(`the frame is ${height} high`)
  if (!page.url().startsWith(input.url)) throw new Error(`the page is at ${page.url()}`)
  if ((await newest('echo')).some((one) => one.server === 'other')) throw new Error('another server was called')
})
await step('an app that navigates its frame reaches nothing', async () => {
  await show('leaving')
  await pause(2500) // it tries three times within two seconds
  if (!page.url().startsWith(input.url)) throw new Error(`the page is at ${page.url()}`)
  for (const one of page.frames().slice(1)) {
    const text = await one.evaluate(() => document.body?.innerText ?? '').catch(() => '')
    if (/Drawbridge/.test(text) && /Servers/.test(text)) throw new Error('the page is in the frame')
  }
})
await step('the page can still be used', async () => {
  await go('/servers')
  await go(`/calls/${found.board}`)
  await button('Show app').click()
  await frame().getByText('input {"a":7}').waitFor()
  await button('Close app').click()
  await until('the app is gone', async () => (await page.locator('iframe').count()) === 0)
})
// The browser reports each refused attempt.
const refusals = /Content Security Policy|sandbox|Unsafe attempt|Refused to|Blocked |Permissions policy/i
page.troubles = page.troubles.filter((one) => !refusals.test(one))
await finish()
