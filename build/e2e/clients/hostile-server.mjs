// An MCP server that fills every field with one of the 200 hostile strings: tool n has string n in
// its name, and others in each of its other fields. With LARGE it has 1,000 tools, the maximum for
// one server, and strings of 1 MB instead. The results of `ok` and `fail` depend on their argument `from`.
import { createInterface } from 'node:readline'
import { corpus } from '../../../frontend/e2e/hostile-strings.mjs'

const large = process.env.LARGE !== undefined
const word = (n) => corpus[((n % corpus.length) + corpus.length) % corpus.length]
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
for (const line of corpus) process.stderr.write(`${line}\n`)

const tools = large
  ? Array.from({ length: 1000 }, (_, n) => ({ name: `tool_${n}`, description: n === 7 ? 'A'.repeat(1_000_000) : word(n), inputSchema: { type: 'object' } }))
  : [
      ...corpus.map((name, n) => ({
        name,
        title: word(n + 11),
        description: word(n + 23),
        icons: [{ src: word(n + 31), mimeType: word(n + 37) }],
        annotations: { title: word(n + 41) },
        inputSchema: {
          type: 'object',
          title: word(n + 43),
          description: word(n + 47),
          properties: {
            [word(n + 53)]: { type: 'string', title: word(n + 59), description: word(n + 61), default: word(n + 67), enum: [word(n + 67), word(n + 71)] },
            free: { type: 'string', pattern: word(n + 73), examples: [word(n + 79)], format: word(n + 83) },
          },
          required: [word(n + 53)],
        },
        outputSchema: { type: 'object', title: word(n + 89), properties: { [word(n + 97)]: { description: word(n + 101) } } },
        _meta: { [word(n + 103)]: word(n + 107) },
      })),
      ...['ok', 'fail', 'broken', 'ask'].map((name) => ({ name, inputSchema: { type: 'object', properties: { from: { type: 'integer' } } } })),
    ]

const results = {
  ok: (n) => ({
    content: [
      { type: 'text', text: large ? 'B'.repeat(1_000_000) : word(n) },
      { type: 'text', text: word(n + 1), annotations: { audience: [word(n + 5)] } },
      { type: 'image', data: word(n + 2), mimeType: word(n + 3) },
      { type: 'audio', data: 'AAAA', mimeType: word(n + 2) },
      { type: 'resource', resource: { uri: word(n + 1), mimeType: word(n + 2), text: word(n + 3) } },
      { type: 'resource_link', uri: word(n + 2), name: word(n + 3), title: word(n), description: word(n + 1), mimeType: 'text/html' },
      { type: word(n + 3), [word(n + 1)]: word(n + 2) },
    ],
    structuredContent: { [word(n)]: word(n + 1), [word(n + 2)]: [word(n + 3)] },
    _meta: { [word(n + 3)]: word(n) },
  }),
  fail: (n) => ({ isError: true, content: [{ type: 'text', text: word(n) }], structuredContent: { error: { message: word(n), code: word(n + 1) } } }),
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined || method === undefined) return
  const answer = (result) => send({ id, result })
  const from = params?.arguments?.from ?? 0
  switch (method) {
    case 'initialize':
      return answer({
        protocolVersion: '2025-11-25',
        capabilities: { tools: {}, logging: {}, prompts: {}, resources: {} },
        serverInfo: { name: word(Number(process.env.OFFSET ?? 0)), title: word(3), version: word(9), websiteUrl: word(110) },
        instructions: corpus.slice(0, 120).join('\n'),
      })
    case 'tools/list':
      return answer({ tools })
    case 'prompts/list':
      return answer({ prompts: corpus.slice(0, 60).map((name, n) => ({ name, title: word(n + 3), description: word(n + 5) })) })
    case 'resources/list':
      return answer({ resources: corpus.slice(60, 120).map((uri, n) => ({ uri, name: word(n + 3), description: word(n + 5) })) })
    case 'resources/templates/list':
      return answer({ resourceTemplates: [] })
    case 'ping':
      return answer({})
    case 'tools/call':
      send({ method: 'notifications/message', params: { level: 'error', logger: word(from), data: word(from + 1) } })
      if (params.name === 'broken') return send({ id, error: { code: -32000, message: word(from), data: word(from + 1) } })
      if (params.name === 'ask')
        return send({
          id: `ask-${id}`,
          method: 'elicitation/create',
          params: {
            message: corpus.slice(0, 40).join('\n'),
            requestedSchema: { type: 'object', title: word(1), properties: Object.fromEntries(corpus.slice(40, 60).map((name, n) => [name, { type: 'string', title: word(n + 61), description: word(n + 81) }])) },
          },
        })
      return answer((results[params.name] ?? results.ok)(from))
    default:
      return send({ id, error: { code: -32601, message: word(17) } })
  }
})
