// Attacks by a foreign web page on a program on this machine, in a real browser. Reads
// {hello, scenes: [{name, page, target, rebound, link}]}; writes for each attack what the page could
// read, and every response of the target.
//
// page is the URL of the attacking page. If rebound, it is the target's own port under another host
// name that resolves to this machine (DNS rebinding): the page was loaded before, and now its own
// origin is the target.
import { text } from 'node:stream/consumers'
import { launch } from '../../../frontend/e2e/browser.mjs'
import { live, timeoutMs } from '../../../frontend/e2e/waiting.mjs'

const input = JSON.parse(await text(process.stdin))
// Protections that future browsers may add are off.
const browser = await launch([
  '--host-resolver-rules=MAP evil.test 127.0.0.1',
  '--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests,HttpsUpgrades',
])
const found = []
async function attack(scene, context) {
  const page = await context.newPage()
  const port = new URL(scene.target).port
  const answers = []
  context.on('response', (response) => {
    const url = new URL(response.url())
    let own = true // what our own page loads is no attack
    try {
      own = response.frame().page() === page || response.request().isNavigationRequest()
    } catch {
      // from a worker or a closed frame: the attacker's
    }
    if (own && url.port === port) answers.push({ kind: response.request().resourceType(), method: response.request().method(), path: url.pathname, status: response.status() })
  })
  const html = '<!doctype html><title>attack</title><body></body>'
  if (scene.rebound) await context.route((url) => url.href === scene.page, (route) => route.fulfill({ contentType: 'text/html', body: html }))
  await page.goto(scene.page)
  answers.length = 0

  const tried = await page.evaluate(async ({ name, target, hello }) => {
    const out = []
    const wait = (promise) => Promise.race([promise, new Promise((done) => setTimeout(() => done('nothing came'), 1500))])
    const attempt = async (kind, path, f) => {
      let read = ''
      try {
        read = String((await wait(f(`${target}${path}?page=${encodeURIComponent(name)}&by=${encodeURIComponent(kind)}`))) ?? '')
      } catch (error) {
        read = 'refused: ' + error
      }
      out.push({ kind, path, read })
    }
    const readOf = async (response) => `${response.type} ${response.status} ${response.type === 'opaque' ? '' : await response.text()}`
    const element = (name, set) => (url) => new Promise((done) => {
      const e = document.createElement(name)
      e.onload = () => done('loaded ' + (e.naturalWidth ?? ''))
      e.onerror = () => done('refused')
      set(e, url)
      document.body.append(e)
    })
    const submit = (method, encoding) => (url) => new Promise((done) => {
      const frame = document.createElement('iframe')
      frame.name = 'f' + Math.random()
      document.body.append(frame)
      const form = document.createElement('form')
      Object.assign(form, { method, action: url, target: frame.name, enctype: encoding })
      const field = document.createElement('input')
      // Encoded as text/plain, name and value form JSON together.
      Object.assign(field, { name: hello.slice(0, -1) + ',"x":"', value: '"}' })
      form.append(field)
      document.body.append(form)
      frame.onload = () => {
        try {
          done('frame ' + frame.contentDocument.body.innerText)
        } catch {
          done('refused')
        }
      }
      form.submit()
    })
    const json = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }
    // All attacks on a path at once, because most of them wait for a response that never arrives.
    for (const path of ['/mcp', '/api/v1/servers/demo/stop']) {
      await Promise.all([
        attempt('fetch JSON', path, (url) => fetch(url, { method: 'POST', body: hello, headers: json, credentials: 'include' }).then(readOf)),
        attempt('fetch no-cors text', path, (url) => fetch(url, { method: 'POST', body: hello, mode: 'no-cors', credentials: 'include' }).then(readOf)),
        attempt('fetch blob', path, (url) => fetch(url, { method: 'POST', body: new Blob([hello]), mode: 'no-cors', credentials: 'include' }).then(readOf)),
        attempt('fetch blob of JSON', path, (url) => fetch(url, { method: 'POST', body: new Blob([hello], { type: 'application/json' }), credentials: 'include' }).then(readOf)),
        attempt('beacon', path, async (url) => navigator.sendBeacon(url, new Blob([hello], { type: 'text/plain' }))),
        attempt('form text', path, submit('POST', 'text/plain')),
        attempt('form', path, submit('POST', 'application/x-www-form-urlencoded')),
        attempt('form multipart', path, submit('POST', 'multipart/form-data')),
        attempt('guessed token', path, (url) => fetch(url, { method: 'POST', body: hello, headers: { ...json, Authorization: 'Bearer dbr_guess', 'X-Drawbridge-Client': 'admin' } }).then(readOf)),
      ])
    }
    for (const path of ['/api/v1/calls', '/api/v1/events', '/']) {
      await Promise.all([
        attempt('fetch', path, (url) => fetch(url, { credentials: 'include' }).then(readOf)),
        attempt('fetch no-cors', path, (url) => fetch(url, { mode: 'no-cors', credentials: 'include' }).then(readOf)),
        attempt('img', path, element('img', (e, url) => (e.src = url))),
        attempt('script', path, element('script', (e, url) => (e.src = url))),
        attempt('script module', path, element('script', (e, url) => { e.type = 'module'; e.src = url })),
        attempt('style', path, element('link', (e, url) => { e.rel = 'stylesheet'; e.href = url })),
        attempt('video', path, (url) => new Promise((done) => { const v = document.createElement('video'); v.onloadeddata = () => done('loaded'); v.onerror = () => done('refused'); v.src = url })),
        attempt('EventSource', path, (url) => new Promise((done) => {
          const source = new EventSource(url, { withCredentials: true })
          source.onopen = () => done('loaded')
          source.onmessage = (event) => done('loaded ' + event.data)
          source.onerror = () => { source.close(); done('refused') }
        })),
        attempt('WebSocket', path, (url) => new Promise((done) => {
          const socket = new WebSocket(url.replace('http', 'ws'))
          socket.onopen = () => done('loaded')
          socket.onerror = () => done('refused')
        })),
        attempt('form GET', path, submit('GET', 'application/x-www-form-urlencoded')),
        attempt('iframe', path, (url) => new Promise((done) => {
          const frame = document.createElement('iframe')
          frame.onload = () => {
            try {
              done('frame ' + frame.contentDocument.body.innerText)
            } catch {
              done('refused')
            }
          }
          frame.src = url
          document.body.append(frame)
        })),
        attempt('worker', path, async (url) => new Promise((done) => { const w = new Worker(url); w.onmessage = () => done('loaded'); w.onerror = () => done('refused') })),
      ])
    }
    return out
  }, { name: scene.name, target: scene.target, hello: input.hello })

  // A link to Drawbridge in a new tab is allowed, but shows only the page without a session.
  for (const path of ['/', '/api/v1/calls', '/mcp', '/healthz']) {
    const opened = context.waitForEvent('page')
    await page.evaluate((url) => void window.open(url), scene.target + path)
    const tab = await opened
    await tab.waitForLoadState().catch(() => {}) // a download is refused as well
    await tab.close()
  }
  found.push({ name: scene.name, tried, answers })
  await context.close()
}
const contexts = []
for (const { link } of input.scenes) {
  const context = await browser.newContext()
  context.setDefaultTimeout(timeoutMs)
  contexts.push(context)
  if (!link) continue
  // The user has our page open in the same browser, so its cookie and key exist. One after another
  // and first, because the codes in the links expire.
  const own = await context.newPage()
  await own.goto(link, { waitUntil: 'commit' })
  await live(own) // the navigation is shown before the sign-in ends
  await own.close()
}
await Promise.all(input.scenes.map((scene, n) => attack(scene, contexts[n])))
await browser.close()
process.stdout.write(JSON.stringify(found))
