// The same as legacy.mjs with the SDK of the modern era, without fallback to the legacy era.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { drive } from './list-and-call-tools.mjs'

await drive(async ({ url, token, name }) => {
  const client = new Client({ name, version: '2.4.0' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
  const requestInit = token ? { headers: { Authorization: `Bearer ${token}` } } : {}
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }))
  return client
})
