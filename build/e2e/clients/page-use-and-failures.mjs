// Uses the page as a user does, against a real daemon, and visits every page while the
// configuration is reloaded, a server is killed and the daemon restarts. Input: {link, url, admin,
// token, chromium, output, config, control}. `control` does what this process cannot: /restart
// and /link.
import { readFile, writeFile } from 'node:fs/promises'
import { accessible, allowed, api, call, context, control, finish, found, go, live, input, page, part, recorded, settled, step, until } from './page-kit.mjs'

const began = Date.now()
await page.goto(input.link)
await settled('/')
found.usefulMs = Date.now() - began
await live()

await recorded(await call('demo', 'echo', { text: 'first' }))
await recorded(await call('demo', 'fail', {}))
const callId = await recorded(await call('demo', 'echo', { text: 'a second one' }))

await step('a note and its tag', async () => {
  await go(`/calls/${callId}`)
  await page.getByRole('button', { name: 'Add a note' }).click()
  await page.getByLabel('Title').fill('Good')
  await page.getByLabel('Tag').fill('kept')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByRole('link', { name: 'kept' }).click()
  await page.locator(`[data-call="${callId}"]`).waitFor()
  await until('the tag narrows the list', async () => (await page.locator('[data-call]').count()) === 1)
})
await step('export', async () => {
  await go('/calls')
  await page.getByRole('button', { name: 'Export' }).click()
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('menuitem', { name: 'As CSV' }).click()])
  if (!(await readFile(await download.path(), 'utf8')).includes('echo')) throw new Error('the file lacks the calls')
})
await step('explain whether a call would be allowed', async () => {
  await go('/tools?tool=demo__echo')
  await page.getByText('Allowed.').waitFor()
})
await step('test, add and remove a server', async () => {
  await go('/add')
  const box = page.getByLabel('Paste a snippet, a command or a URL')
  await box.fill('no-such-program --help')
  await page.getByRole('button', { name: 'Test', exact: true }).click()
  await page.getByText(/^Failed to start: executable not found/).waitFor()
  await box.fill(`{"mcpServers":{"second":{"command":${JSON.stringify(input.binary)},"args":["demo-server"]}}}`)
  await page.getByRole('button', { name: 'Test', exact: true }).click()
  await page.getByText(/Works: found \d+ tools/).waitFor()
  await page.getByRole('button', { name: 'Add server' }).click()
  await page.getByRole('heading', { name: 'second' }).waitFor()
  await page.getByRole('region', { name: 'second' }).getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Remove' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await page.getByText('second removed.').waitFor()
})
await step('pause and resume recording', async () => {
  await go('/settings')
  await page.getByRole('button', { name: 'Pause recording' }).click()
  await page.getByText('Recording is paused.').waitFor()
  await page.getByRole('button', { name: 'Resume recording' }).click()
  await page.getByText('Calls are recorded.').waitFor()
  await page.getByLabel('Retention (days)').fill('14')
  await page.getByRole('region', { name: 'Recording' }).getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved and applied.').waitFor()
  if (!/"keepDays": 14/.test(await readFile(input.config, 'utf8'))) throw new Error('the file lacks the bound')
})

// Every page, with axe, during changes.
found.pages = []
const places = ['/', '/servers', '/servers/demo', '/servers/demo?view=tools', '/servers/demo?view=log', '/servers/demo?view=diagnostics', '/add', '/calls', `/calls/${callId}`, '/sessions', '/usage', '/tools', '/tools?tool=demo__echo', '/approvals', '/clients', '/welcome', '/welcome?step=clients', '/welcome?step=call', '/settings', '/configuration']
const crash = async () => {
  const running = (server) => server.state === 'running' && server.pid > 0 && server
  const server = () => api('GET', '/api/v1/servers/demo')
  const { pid, restarts } = await until('demo runs', async () => running(await server()))
  process.kill(pid, 'SIGKILL')
  await until('demo comes back', async () => {
    const now = await server()
    if (now.restarts > restarts + 5) throw new Error('it does not come back')
    return running(now) && now.pid !== pid
  })
}
const reload = async () => {
  const config = await readFile(input.config, 'utf8')
  await writeFile(input.config, `${config}// read me again ${Date.now()}\n`)
}
const restart = async () => {
  const back = page.waitForResponse((response) => response.url().endsWith('/api/v1/events') && response.ok())
  await control('/restart')
  await back
  await page.getByText('Drawbridge is not responding').first().waitFor({ state: 'detached' })
  await live()
}
for (const [i, path] of places.entries()) {
  await step(`${path} during changes`, async () => {
    await go(path)
    if (i % 6 === 0) for (const status of [401, 404, 502, 503]) allowed.add(status)
    await Promise.all([reload(), i % 3 === 0 ? crash() : undefined])
    if (i % 6 === 0) await restart()
    allowed.clear()
    await settled(path)
    await page.getByText('Cannot show this page').waitFor({ state: 'detached' })
    await accessible(path)
    found.pages.push(path)
  })
}

// From here on the daemon restarts and the session is replaced: a response to an old request may
// arrive late, and so may one that was rate-limited.
for (const status of [401, 404, 429, 502, 503]) allowed.add(status)
await step('typed text survives a reload of the configuration, a killed server and a restart of the daemon', async () => {
  const forms = [
    ['/add', page.getByLabel('Paste a snippet, a command or a URL'), 'npx -y half-a-'],
    [`/calls/${callId}`, page.getByLabel('Title'), 'half a note', true, () => page.getByRole('button', { name: /^(Edit|Add a note)$/ }).click()],
    ['/profiles?make=1', page.getByLabel('Description', { exact: true }), 'half a profile', true],
    ['/tools?tool=demo__echo', page.getByLabel(/^text/), 'half an argument'],
    ['/settings', part('Secrets').getByLabel('Name'), 'HALF_A_NAME'],
  ]
  for (const [i, [path, field, text, asks, open]] of forms.entries()) {
    await go(path)
    await open?.()
    await field.fill(text)
    await Promise.all([reload(), i === 0 ? crash() : undefined])
    if (i % 2 === 0) await restart()
    await settled(path)
    if ((await field.inputValue()) !== text) throw new Error(`${path}: what was typed is gone`)
    if (!asks) continue
    await page.getByRole('link', { name: 'Overview', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Leave', exact: true }).click()
    await settled('/')
  }
  await until('the server is back', async () => (await api('GET', '/api/v1/servers/demo')).state === 'running')
})
await step('server actions are disabled without a daemon, and work once it is back', async () => {
  const detail = part('demo')
  const button = (name) => detail.getByRole('button', { name, exact: true })
  await go('/servers/demo')
  await control('/stop')
  await page.getByText('Drawbridge is not responding').first().waitFor()
  await until('Disable is disabled', () => button('Disable').isDisabled())
  await page.getByRole('button', { name: 'Try now' }).click() // without success; the page keeps trying
  await control('/launch')
  await live()
  await detail.getByText('Running', { exact: true }).first().waitFor()
  if (/"enabled": ?false/.test(await readFile(input.config, 'utf8'))) throw new Error('it was disabled all the same')
  await button('Disable').click()
  await detail.getByText('Disabled', { exact: true }).first().waitFor()
  await button('Enable').click()
  await detail.getByText('Running', { exact: true }).first().waitFor()
})
await step('a session that ends during a click shows an error and changes nothing', async () => {
  await go('/servers/demo')
  // It ends during the click. If it ended earlier, the next request of the page would show it first.
  let sent = 0
  await page.route('**/servers/demo/stop', async (route) => {
    sent++
    await context.clearCookies()
    await route.continue()
  })
  await part('demo').getByRole('button', { name: 'Stop', exact: true }).click()
  await page.getByText('This browser is not signed in').waitFor()
  if (sent === 0) throw new Error('it was not asked to stop')
  if ((await api('GET', '/api/v1/servers/demo')).state !== 'running') throw new Error('it was done all the same')
  await page.goto(await control('/link'))
  await live()
})
await finish()
