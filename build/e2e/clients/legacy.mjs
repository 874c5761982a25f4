// A client on the official TypeScript SDK of the legacy era. It reads
// {url, token, name, calls: [{name, arguments}]} and writes {tools, results, server}.
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { drive } from './list-and-call-tools.mjs'

await drive(async ({ url, token, name }) => {
  const client = new Client({ name, version: '1.32.2' })
  const requestInit = token ? { headers: { Authorization: `Bearer ${token}` } } : {}
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }))
  return client
})
