// Profiles, and tools that nobody uses, by the page of a real daemon.
import { readFile, writeFile } from 'node:fs/promises'
import { accessible, api, call, finish, go, live, order, page, settled, step, until } from './page-kit.mjs'

const config = async () => JSON.parse((await readFile(order.config, 'utf8')).replace(/^\s*\/\/.*$/gm, ''))
/** The same text for values that say the same, in whatever order their keys come. */
const text = (value) => JSON.stringify(value, (_, one) => (one && typeof one === 'object' && !Array.isArray(one) ? Object.fromEntries(Object.entries(one).sort()) : one))
const same = (is, want, what) => {
  if (text(is) !== text(want)) throw new Error(`${what}: ${JSON.stringify(is)}, not ${JSON.stringify(want)}`)
}

/** The tools that the client sees at an address, as it lists them. */
async function toolsAt(path, token = order.token) {
  const send = (id, method, params, session) =>
    fetch(order.url + path, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream',
        ...(session ? { 'Mcp-Session-Id': session } : {}),
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...(id ? { id } : {}), method, params }),
    })
  const hello = await send(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'life', version: '1' } })
  await hello.text()
  if (!hello.ok) return [`refused with ${hello.status}`]
  const session = hello.headers.get('mcp-session-id')
  await (await send(0, 'notifications/initialized', {}, session)).text()
  const said = await (await send(2, 'tools/list', {}, session)).text()
  const message = said.startsWith('{') ? said : said.split('\n').filter((line) => line.startsWith('data:')).at(-1).slice(5)
  return JSON.parse(message).result.tools.map((tool) => tool.name).sort()
}

const save = () => page.getByRole('button', { name: 'Save profile' })

await page.goto(order.link)
await live()
await call('demo', 'echo', { text: 'so that it is used' })

await step('a profile is made of single tools, and its address offers these alone', async () => {
  await go('/profiles')
  await page.getByText('No profiles yet').waitFor()
  await page.getByRole('link', { name: 'New profile' }).click()
  await page.getByLabel('Name', { exact: true }).fill('not a name')
  await page.getByText('Use at most 32 letters').waitFor()
  await page.getByLabel('Name', { exact: true }).fill('writing')
  await page.getByLabel('What it is for').fill('For letters')
  await page.getByRole('button', { name: 'All: demo' }).click()
  await page.getByRole('checkbox', { name: /^fail/ }).uncheck()
  await page.getByRole('button', { name: 'All: files' }).click()
  await page.getByRole('button', { name: 'None: files' }).click()
  await page.getByLabel('Search servers and tools').fill('read_text')
  await page.getByRole('checkbox', { name: /^read_text_file/ }).check()
  await page.getByText(/This profile takes ~[\d,]+ tokens: it saves/).waitFor()
  await accessible('/profiles, making one')
  await save().click()
  await page.waitForURL(/#\/profiles\/writing/)
  await page.getByText(`${order.url}/p/writing/mcp`, { exact: true }).waitFor()
  same((await config()).profiles.writing, { description: 'For letters', servers: { demo: { excludeTools: ['fail'] }, files: { includeTools: ['read_text_file'] } } }, 'the file')
  same(await toolsAt('/p/writing/mcp'), ['demo__add', 'demo__echo', 'demo__image', 'demo__json_response', 'demo__slow', 'files__read_text_file'], 'its address')
  await page.screenshot({ path: `${order.output}/page-profile.png` })
})
await step('an edit that meets another one in the file loses neither', async () => {
  await go('/profiles/writing')
  const about = page.getByLabel('What it is for')
  await about.fill('Mine')
  const file = await readFile(order.config, 'utf8')
  await writeFile(order.config, file.replace('For letters', 'By somebody else'))
  await page.getByText('This profile was changed in the file meanwhile.').waitFor()
  if (await save().isEnabled()) throw new Error('it can be overwritten unseen')
  if ((await about.inputValue()) !== 'Mine') throw new Error('what was typed is gone')
  await page.getByRole('button', { name: 'Load it again' }).click()
  if ((await about.inputValue()) !== 'By somebody else') throw new Error(await about.inputValue())
  await page.getByRole('button', { name: 'Undo', exact: true }).click()
  if ((await about.inputValue()) !== 'Mine') throw new Error('Undo does not bring it back')
  await save().click()
  await page.getByText('The profile writing is saved.').waitFor()
  same((await config()).profiles.writing.description, 'Mine', 'the file')
  await about.fill('Half a thought')
  await page.getByRole('button', { name: 'Discard changes' }).click()
  if ((await about.inputValue()) !== 'Mine') throw new Error(await about.inputValue())
})
await step('tools that nobody uses are taken out of a profile, and come back', async () => {
  const out = page.getByRole('button', { name: /^Take out 5 unused tools/ })
  await out.click()
  await page.getByText('5 tools are out; save to keep that.').waitFor()
  await page.getByRole('main').getByRole('status').getByRole('button', { name: 'Undo' }).click()
  await out.click()
  await page.getByRole('radio', { name: /^Deferred/ }).check()
  await save().click()
  await page.getByText('The profile writing is saved.').first().waitFor()
  const { servers, toolMode } = (await config()).profiles.writing
  same([Object.keys(servers), toolMode], [['demo'], 'deferred'], 'the file')
  await page.getByRole('radio', { name: /^All/ }).check()
  await save().click()
  await until('its address offers one tool', async () => (await toolsAt('/p/writing/mcp')).join() === 'demo__echo')
})
await step('what nobody uses is hidden from everybody with a click, and shown again', async () => {
  const before = await toolsAt('/mcp')
  const was = (await config()).mcpServers
  await go('/tools')
  await settled('/tools')
  await page.getByRole('button', { name: /^Hide \d+ tools/ }).click()
  await page.getByText(/\d+ tools are hidden, which saves/).waitFor()
  const left = await until('clients see what is used', async () => {
    const seen = await toolsAt('/mcp')
    return seen.length < 4 && seen
  })
  if (!left.includes('demo__echo') || left.includes('demo__add')) throw new Error(`${left}`)
  await accessible('/tools, hidden')
  await page.getByRole('button', { name: 'Undo', exact: true }).click()
  await until('they are back', async () => (await toolsAt('/mcp')).length === before.length)
  same((await config()).mcpServers, was, 'the file')
})
await step('a profile is deleted after a question, and its address is gone', async () => {
  await go('/profiles/writing')
  await page.getByRole('button', { name: 'Delete profile' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Its address answers no client any more').waitFor()
  await accessible('/profiles, deleting')
  await page.keyboard.press('Enter') // the safe answer has the focus
  await dialog.waitFor({ state: 'detached' })
  if (!(await config()).profiles.writing) throw new Error('it is gone without a yes')
  await page.getByRole('button', { name: 'Delete profile' }).click()
  await dialog.getByRole('button', { name: 'Delete profile' }).click()
  await page.getByText('No profiles yet').waitFor()
  same(await toolsAt('/p/writing/mcp'), ['refused with 404'], 'its address')
})
await finish()
