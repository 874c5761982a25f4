import { text } from 'node:stream/consumers'

// drive connects, lists every tool on every page, makes the calls and prints the results.
export async function drive(connect) {
  const input = JSON.parse(await text(process.stdin))
  const client = await connect(input)
  const tools = []
  let cursor
  do {
    const page = await client.listTools(cursor ? { cursor } : undefined)
    tools.push(...page.tools)
    cursor = page.nextCursor
  } while (cursor)
  const results = []
  for (const call of input.calls ?? []) {
    // When the client cancels, and whether it wants progress; not arguments of the tool.
    const { giveUpAfterMs, wantProgress, ...args } = call.arguments ?? {}
    const progress = []
    const options = giveUpAfterMs
      ? [undefined, { timeout: giveUpAfterMs }]
      : wantProgress ? [undefined, { onprogress: (one) => progress.push(one) }] : []
    const result = await client.callTool({ ...call, arguments: args }, ...options).catch((error) => ({ thrown: String(error) }))
    results.push(wantProgress ? { ...result, progress } : result)
  }
  const server = client.getServerVersion?.()
  await client.close()
  process.stdout.write(JSON.stringify({ tools: tools.map((tool) => tool.name), results, server }))
}
