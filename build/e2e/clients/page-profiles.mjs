// A profile made, given to a client and changed, and unused tools hidden, by the page of a
// real daemon, with what the client sees after each.
import { readFile } from 'node:fs/promises'
import { accessible, finish, go, live, order, page, settled, step, until } from './page-kit.mjs'

const config = () => readFile(order.config, 'utf8')

/** What the client with the token life asks for at /mcp. */
async function ask(method, params = {}) {
  const reply = await fetch(`${order.url}/mcp`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${order.token}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': method,
      ...(params.name ? { 'Mcp-Name': params.name } : {}),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method,
      params: {
        ...params,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 'life', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    }),
  })
  const said = await reply.text()
  return JSON.parse(said.includes('data: ') ? said.split('data: ').at(-1) : said)
}
const listed = async () => ((await ask('tools/list')).result?.tools ?? []).map((tool) => tool.name).sort().join(' ')
const sees = (want) => until(`the client sees ${want}`, async () => (await listed()) === want)

await page.goto(order.link)
await live()
const all = await listed()

await step('a profile is made and given to a client, which sees nothing else', async () => {
  await go('/profiles')
  await settled('/profiles')
  await page.getByRole('link', { name: 'New profile' }).click()
  await page.getByLabel('Name', { exact: true }).fill('small')
  await page.getByLabel('Search servers and tools').fill('echo')
  await page.getByRole('checkbox', { name: /^echo/ }).check()
  await page.getByText(/This profile takes ~[\d,]+ tokens: it saves/).waitFor()
  await page.getByRole('button', { name: 'Save profile' }).click()
  await page.getByText('The profile small is saved.').waitFor()
  if ((await listed()) !== all) throw new Error(`a client that nobody bound sees ${await listed()}`)
  await page.getByRole('group', { name: 'Clients that may use only this profile' }).getByRole('checkbox', { name: 'life' }).click()
  await sees('demo__echo')
  const text = await config()
  if (!/"clients"[^]*"life"[^]*"profile": ?"small"/.test(text) || !text.includes('// kept')) throw new Error(text)
  const refused = await ask('tools/call', { name: 'demo__add', arguments: { a: 1, b: 2 } })
  if (refused.result && !refused.result.isError) throw new Error(JSON.stringify(refused))
  await accessible('/profiles/small')
})
await step('it is listed by search, and tools beside it are not found', async () => {
  await page.getByRole('radio', { name: /^Search/ }).check()
  await page.getByRole('button', { name: 'Save profile' }).click()
  await sees('call_tool find_tools')
  const found = await ask('tools/call', { name: 'find_tools', arguments: { query: 'add two numbers, or echo' } })
  const text = found.result.content[0].text
  if (!text.includes('"demo__echo"') || text.includes('demo__add')) throw new Error(text)
})
await step('the client is let out again', async () => {
  await page.getByRole('group', { name: 'Clients that may use only this profile' }).getByRole('checkbox', { name: 'life' }).click()
  await sees(all)
})
await step('unused tools are hidden from every client in one click, and come back', async () => {
  const before = await config()
  await ask('tools/call', { name: 'demo__echo', arguments: { text: 'used' } })
  await until('the call is in the sums', async () => {
    await go('/servers')
    await go('/tools')
    await settled('/tools')
    const button = page.getByRole('button', { name: /^Hide \d+ tools?, saves ~[\d,]+ tokens/ })
    const said = (await button.count()) > 0 ? await button.first().textContent() : ''
    return said.includes(`Hide ${all.split(' ').length - 1} `)
  })
  await page.getByRole('button', { name: /^Hide \d+ tools?, saves/ }).click()
  await page.getByText(/hidden, which saves/).waitFor()
  await sees('demo__echo')
  await accessible('/tools, hidden')
  await page.getByRole('button', { name: 'Undo' }).click()
  await sees(all)
  if ((await config()) !== before) throw new Error(await config())
})
await finish()
