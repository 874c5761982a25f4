// Shows a result of 10 MB: in the history, which keeps its beginning, and on the page of a tool that
// was run, which shows all of it.
import { accessible, api, call, finish, found, go, live, input, page, recorded, step } from './page-kit.mjs'

await page.goto(input.link)
await live()
// Tasks of the page that took longer than 50 ms.
await page.evaluate(() => {
  window.still = 0
  new PerformanceObserver((list) => {
    for (const task of list.getEntries()) window.still = Math.max(window.still, task.duration)
  }).observe({ entryTypes: ['longtask'] })
})
const letters = () => page.evaluate(() => Math.max(0, ...[...document.querySelectorAll('main span, main div, main p, main pre')].map((e) => e.textContent.split('g').length - 1)))
/** Runs an action and returns the time until that many characters are shown, and a note. */
const timed = (act, value, least, note) =>
  page.evaluate(
    async ({ act, value, least, note }) => {
      window.still = 0
      const began = performance.now()
      if (act === 'go') location.hash = value
      else [...document.querySelectorAll('button')].find((b) => b.textContent.includes(value) && b.checkVisibility()).click()
      for (;;) {
        await new Promise(requestAnimationFrame)
        const text = document.querySelector('main').innerText
        if (text.split('g').length > least && text.includes(note)) return performance.now() - began
        if (performance.now() - began > 20_000) throw new Error(`not shown: ${text.slice(0, 300)}`)
      }
    },
    { act, value, least, note },
  )

const large = await call('large', 'echo', { size: 10_000_000 })
const small = await call('large', 'echo', { size: 100 })
await step('show a small result, which loads the code of the page', async () => {
  await recorded(small)
  await recorded(large)
  await go(`/calls/${small.callId}`)
  await page.getByText('ggggg').first().waitFor()
})
await step('show the beginning of a large result and its size', async () => {
  found.document = JSON.stringify(await api('GET', `/api/v1/calls/${large.callId}`)).length
  found.shownMs = await timed('go', `/calls/${large.callId}`, 3000, 'Truncated: the original size is')
  found.first = await letters()
  await accessible('a call with a large result')
})
await step('show more of it with one click; its end is drawn when it is scrolled to', async () => {
  found.moreMs = await timed('click', 'more characters', 3000, 'Truncated: the original size is')
  const drawn = await page.getByRole('region', { name: 'Result' }).evaluate(async (content) => {
    const began = performance.now()
    const { view } = content.cmTile.root
    do {
      view.scrollDOM.scrollTop = view.scrollDOM.scrollHeight
      await new Promise(requestAnimationFrame)
    } while (view.viewport.to < view.state.doc.length && performance.now() - began < 20_000)
    return { ms: performance.now() - began, all: view.state.doc.toString().split('g').length - 1 }
  })
  found.moreMs = Math.max(found.moreMs, drawn.ms)
  found.all = drawn.all
  found.stillMs = await page.evaluate(() => window.still)
  await page.screenshot({ path: `${input.output}/page-large.png` })
})
await step('show the whole result of a tool that was run', async () => {
  await go('/tools?tool=large__echo')
  await page.getByRole('button', { name: 'Edit arguments as JSON' }).click() // its schema names no parameters
  await page.getByRole('textbox', { name: 'Arguments' }).fill('{"size": 10000000}')
  found.triedMs = await timed('click', 'Run tool', 3000, 'more characters')
  found.triedStillMs = await page.evaluate(() => window.still)
  await page.screenshot({ path: `${input.output}/page-large-tried.png` })
})
await finish()
