// Creates, assigns, changes and deletes profiles on the page of a real
// daemon, and checks what the client sees after each step.
import { readFile, writeFile } from 'node:fs/promises'
import { accessible, allowed, finish, go, pressDefault, closeDialog, live, input, page, part, step, until } from './page-kit.mjs'

const text = () => readFile(input.config, 'utf8')
const config = async () => JSON.parse((await text()).replace(/^\s*\/\/.*$/gm, ''))
/** The same text for equal values, whatever the order of their keys. */
const sorted = (value) => JSON.stringify(value, (_, one) => (one && typeof one === 'object' && !Array.isArray(one) ? Object.fromEntries(Object.entries(one).sort()) : one))
const same = (is, want, what) => {
  if (sorted(is) !== sorted(want)) throw new Error(`${what}: ${JSON.stringify(is)}, not ${JSON.stringify(want)}`)
}

/** What the client with the token life sees at a URL. */
async function ask(path, method, params = {}) {
  const reply = await fetch(input.url + path, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${input.token}`,
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
  if (reply.status === 404) return { status: 404 }
  return JSON.parse(said.includes('data: ') ? said.split('data: ').at(-1) : said)
}
const toolsAt = async (path) => {
  const { status, result } = await ask(path, 'tools/list')
  return status ? [`refused with ${status}`] : result.tools.map((tool) => tool.name).sort()
}

const save = () => page.getByRole('button', { name: 'Save profile' })

await page.goto(input.link)
await live()

await step('create a profile of single tools; its URL offers only these', async () => {
  await go('/profiles')
  await page.getByText('No profiles yet').waitFor()
  await page.getByRole('link', { name: 'New profile' }).click()
  await page.getByLabel('Name', { exact: true }).fill('not a name')
  await page.getByText('Use only the letters a to z').waitFor()
  await page.getByLabel('Name', { exact: true }).fill('writing')
  await page.getByLabel('Description', { exact: true }).fill('For letters')
  await page.getByRole('button', { name: 'All: demo' }).click()
  await page.getByRole('checkbox', { name: /^fail/ }).uncheck()
  await page.getByRole('button', { name: 'All: files' }).click()
  await page.getByRole('button', { name: 'None: files' }).click()
  await page.getByLabel('Search servers and tools').fill('read_text')
  await page.getByRole('checkbox', { name: /^read_text_file/ }).check()
  await page.getByText(/With this profile, ~[\d,]+, which saves ~[\d,]+\./).waitFor()
  await accessible('/profiles, making one')
  await save().click()
  await page.waitForURL(/#\/profiles\/writing/)
  await page.getByText(`${input.url}/p/writing/mcp`, { exact: true }).waitFor()
  same((await config()).profiles.writing, { description: 'For letters', servers: { demo: { excludeTools: ['fail'] }, files: { includeTools: ['read_text_file'] } } }, 'the file')
  same(await toolsAt('/p/writing/mcp'), ['demo__add', 'demo__echo', 'demo__image', 'demo__json_response', 'demo__slow', 'files__read_text_file'], 'its address')
  await page.screenshot({ path: `${input.output}/page-profile.png` })
})
await step('assign a profile to a client, which then sees nothing else, and remove it', async () => {
  await go('/profiles/writing')
  const before = await toolsAt('/mcp')
  if (before.length < 15) throw new Error(`only ${before}`)
  const use = page.getByRole('group', { name: 'Clients assigned to this profile' })
  await use.getByRole('checkbox', { name: 'life' }).click() // it is checked once the daemon has saved it
  await until('the client is bound', async () => (await config()).clients?.life?.profile === 'writing')
  await until('it sees the profile alone', async () => (await toolsAt('/mcp')).join() === (await toolsAt('/p/writing/mcp')).join())
  const refused = await ask('/mcp', 'tools/call', { name: 'demo__fail', arguments: {} })
  if (refused.result && !refused.result.isError) throw new Error(JSON.stringify(refused))
  // The confirmation before a profile is deleted names its clients.
  await page.getByRole('button', { name: 'Delete profile' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText(/^Used by life\. Without a profile/).waitFor()
  await closeDialog()
  await go('/clients')
  const views = part('All clients')
  await views.getByText('Tools and limits for life').click()
  await views.getByLabel('Tool listing for life').selectOption('search')
  await until('two tools stand for all', async () => (await toolsAt('/mcp')).join() === 'call_tool,find_tools')
  const found = await ask('/mcp', 'tools/call', { name: 'find_tools', arguments: { query: 'add two numbers, fail, or write a file' } })
  const said = found.result.content[0].text
  if (!said.includes('demo__add(') || /demo__fail|files__write/.test(said)) throw new Error(said)
  await accessible('/clients, what each sees')
  await views.getByLabel('Structured results for life').selectOption('once')
  await until('results that repeat are sent once', async () => (await config()).clients?.life?.results?.singleCopy === true)
  await views.getByLabel('Structured results for life').selectOption('both')
  await views.getByLabel('Tool listing for life').selectOption('')
  await views.getByLabel('Profile for life').selectOption('')
  await until('it sees everything again', async () => (await toolsAt('/mcp')).join() === before.join())
  if ((await config()).clients?.life) throw new Error(await text())
})
await step('an edit that conflicts with another edit of the file loses neither', async () => {
  await go('/profiles/writing')
  const about = page.getByLabel('Description', { exact: true })
  await about.fill('Mine')
  const file = await readFile(input.config, 'utf8')
  await writeFile(input.config, file.replace('For letters', 'By somebody else'))
  await page.getByText('This profile was changed in the configuration file.').waitFor()
  await until('it cannot be overwritten unseen', async () => !(await save().isEnabled()))
  if ((await about.inputValue()) !== 'Mine') throw new Error('what was typed is gone')
  await page.getByRole('button', { name: 'Reload' }).click()
  await until('theirs is shown', async () => (await about.inputValue()) === 'By somebody else')
  await page.getByRole('button', { name: 'Undo', exact: true }).click()
  await until('Undo brings it back', async () => (await about.inputValue()) === 'Mine')
  await save().click()
  await page.getByText('Profile writing saved.').waitFor()
  same((await config()).profiles.writing.description, 'Mine', 'the file')
  const folders = page.getByLabel('Folders')
  allowed.add(400).add(422) // also for requests while the text is typed
  await folders.fill('office')
  await save().click()
  await page.getByText("'folders' must contain absolute paths", { exact: true }).waitFor()
  await until('the field is marked', async () => (await folders.getAttribute('aria-invalid')) === 'true')
  await accessible('/profiles, an invalid field')
  await about.fill('Half a thought')
  await page.getByRole('button', { name: 'Discard changes' }).click()
  await until('it is as it was saved', async () => (await about.inputValue()) === 'Mine')
  allowed.clear() // until then the page requests the size of the invalid profile
})
await step('text typed while a profile is being saved is not lost', async () => {
  let answer
  const held = new Promise((done) => { answer = done })
  await page.route('**/profiles/writing', async (route) => {
    const response = await route.fetch()
    await held
    await route.fulfill({ response }).catch(() => {}) // the step may have ended
  })
  const about = page.getByLabel('Description', { exact: true })
  await about.fill('First')
  await save().click()
  await until('it is in the file', async () => (await config()).profiles.writing.description === 'First')
  await about.fill('Mine') // as before the save: a draft all the same
  answer()
  await page.getByText('Profile writing saved.').last().waitFor()
  if ((await about.inputValue()) !== 'Mine') throw new Error('what was typed is lost')
  await page.unroute('**/profiles/writing')
  await save().click()
  await until('it is saved too', async () => (await config()).profiles.writing.description === 'Mine')
})
await step('a profile is limited to one tool and lists it in another way', async () => {
  await page.getByRole('button', { name: 'None: demo' }).click()
  await page.getByLabel('Search servers and tools').fill('echo')
  await page.getByRole('checkbox', { name: /^echo/ }).check()
  await page.getByLabel('Search servers and tools').fill('read_text')
  await page.getByRole('checkbox', { name: /^read_text_file/ }).uncheck()
  await page.getByRole('radio', { name: /^Deferred/ }).check()
  await save().click()
  const { servers, toolMode } = await until('it is in the file', async () => {
    const { writing } = (await config()).profiles
    return writing.toolMode && writing
  })
  same([Object.keys(servers), toolMode], [['demo'], 'deferred'], 'the file')
  await page.getByRole('radio', { name: /^All/ }).check()
  await save().click()
  await page.getByRole('button', { name: 'Discard changes' }).waitFor({ state: 'detached' }) // the page shows what it saved
  await until('its address offers one tool', async () => (await toolsAt('/p/writing/mcp')).join() === 'demo__echo')
})
await step('delete a profile after confirmation; its URL is gone', async () => {
  await go('/profiles/writing')
  await page.getByRole('button', { name: 'Delete profile' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Its URL will stop working').waitFor()
  await accessible('/profiles, deleting')
  await pressDefault()
  if (!(await config()).profiles.writing) throw new Error('it is gone without a yes')
  await page.getByRole('button', { name: 'Delete profile' }).click()
  await dialog.getByRole('button', { name: 'Delete profile' }).click()
  await page.getByText('No profiles yet').waitFor()
  await until('its address is gone', async () => (await toolsAt('/p/writing/mcp')).join() === 'refused with 404')
})
await finish()
