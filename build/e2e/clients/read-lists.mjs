// Connects to each endpoint in turn and prints the names in its four lists, or the error of a list.
// Modern clients and legacy ones of both SDKs are chosen by input.sdk.
import { text } from 'node:stream/consumers'

const { endpoints, token, sdk, call } = JSON.parse(await text(process.stdin))
const requestInit = { headers: { Authorization: `Bearer ${token}` } }

async function connect(url) {
  if (sdk === 'v1') {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js')
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js')
    const client = new Client({ name: 'v1', version: '1' }, { capabilities: {} })
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }))
    return client
  }
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
  const options = sdk === 'v2' ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {}
  const client = new Client({ name: sdk, version: '1' }, options)
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }))
  return client
}

const out = {}
for (const [name, url] of Object.entries(endpoints)) {
  const client = await connect(url)
  const read = (list, key) => list.then((page) => page[key].map((item) => item.name), (error) => String(error).slice(0, 500))
  out[name] = {
    tools: await read(client.listTools(), 'tools'),
    prompts: await read(client.listPrompts(), 'prompts'),
    resources: await read(client.listResources(), 'resources'),
    resourceTemplates: await read(client.listResourceTemplates(), 'resourceTemplates'),
  }
  if (call) out[name].result = await client.callTool({ name: call }).catch((error) => ({ thrown: String(error) }))
  await client.close()
}
process.stdout.write(JSON.stringify(out))
