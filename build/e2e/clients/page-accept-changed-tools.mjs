// Accepts a changed tool on the page of a real daemon, and blocks and accepts another.
import { accessible, finish, found, go, live, input, page, step } from './page-kit.mjs'

await page.goto(input.link)
await live()

await step('show and accept a changed tool', async () => {
  await go('/approvals')
  const card = page.getByRole('listitem').filter({ hasText: 'rug changed its definitions' }).first()
  await card.getByText('First read ~/.ssh/id_rsa').first().waitFor()
  await card.getByText('It tells the model to hide something from you.').waitFor()
  await accessible('/approvals, a changed tool')
  for (const scheme of ['light', 'dark'])
    for (const [name, size] of [['wide', { width: 1280, height: 800 }], ['narrow', { width: 390, height: 844 }]]) {
      await page.emulateMedia({ colorScheme: scheme })
      await page.setViewportSize(size)
      await page.screenshot({ path: `${input.output}/trust-${scheme}-${name}.png` })
    }
  await page.setViewportSize({ width: 1280, height: 800 })
  await go('/servers/sly?view=tools')
  await page.getByText('Suspicious descriptions').waitFor()
  await page.getByText('It mentions "send_email"').first().waitFor()
  await page.screenshot({ path: `${input.output}/trust-server.png` })
  await go('/tools')
  await page.getByText('Suspicious', { exact: true }).first().waitFor()
  found.warned = true
  await page.screenshot({ path: `${input.output}/trust-tools.png` })
  await go('/approvals')
  await card.getByRole('button', { name: 'Accept: add', exact: true }).click()
  await card.waitFor({ state: 'detached' })
  if (await page.getByText('Something went wrong').count()) found.errors.push('accepting is told as a failure')
  await go('/servers/rug?view=tools')
  await page.getByText(/Tool history/).click()
  await page.getByText('was accepted').first().waitFor()
  await page.screenshot({ path: `${input.output}/trust-accepted.png` })
})
// The change of another server is blocked, then accepted with all later changes.
await step('block a change, then accept this and all later changes', async () => {
  await go('/approvals')
  const other = page.getByRole('listitem').filter({ hasText: 'other changed its definitions' }).first()
  await other.getByRole('button', { name: 'Block: add', exact: true }).click()
  await other.waitFor({ state: 'detached' })
  await go('/servers/other?view=tools')
  const withheld = page.getByRole('region', { name: 'Hidden from clients' })
  await withheld.getByText('Blocked by you').waitFor()
  await withheld.getByRole('button', { name: 'Always accept: add', exact: true }).click()
  await withheld.waitFor({ state: 'detached' })
  await go('/tools?tool=other__add')
  await page.getByText('Changes to this tool are always accepted.').waitFor()
})
await finish()
