import { expect, it } from 'vitest';
import { readSnippet } from './parse-server-snippet';

const read = (text: string) =>
  readSnippet(text).map(({ name, entry }) => [name, JSON.parse(entry)] as const);

it.each<[string, string, string, object]>([
  ['a URL', 'https://mcp.linear.app/sse', 'linear', { url: 'https://mcp.linear.app/sse' }],
  [
    'a command line',
    'npx -y @modelcontextprotocol/server-filesystem "/home/me/My Files"',
    'filesystem',
    {
      command: 'npx',
      args: ['-y', '@modelcontextprotocol/server-filesystem', '/home/me/My Files'],
    },
  ],
  [
    'variables before the command',
    '$ API_KEY=abc uvx mcp-server-fetch@1.2',
    'fetch',
    { command: 'uvx', args: ['mcp-server-fetch@1.2'], env: { API_KEY: 'abc' } },
  ],
  [
    'a container',
    'docker run -i --rm ghcr.io/github/github-mcp-server:latest',
    'github',
    { command: 'docker', args: ['run', '-i', '--rm', 'ghcr.io/github/github-mcp-server:latest'] },
  ],
  [
    'an add command of a client',
    'claude mcp add -s user db -e URL=postgres://x -- npx -y db-mcp \\\n  --read-only',
    'db',
    { command: 'npx', args: ['-y', 'db-mcp', '--read-only'], env: { URL: 'postgres://x' } },
  ],
  [
    'a remote server with a header',
    'claude mcp add --transport http gh https://api.x.io/mcp --header "Authorization: Bearer ${T}"',
    'gh',
    { url: 'https://api.x.io/mcp', headers: { Authorization: 'Bearer ${T}' } },
  ],
  [
    'a block with comments, within text',
    'Add this:\n```json\n{\n // here\n "mcpServers": {"files": {"command": "npx", "args": ["a",],},}}\n```\nThen restart.',
    'files',
    { command: 'npx', args: ['a'] },
  ],
  [
    'members without their braces',
    '"time": {\n  "command": "uvx", "args": ["mcp-server-time"]\n},',
    'time',
    { command: 'uvx', args: ['mcp-server-time'] },
  ],
  [
    'a single entry without a name',
    '{"command":"uvx","args":["mcp-server-git"]}',
    'git',
    { command: 'uvx', args: ['mcp-server-git'] },
  ],
  [
    'the keys of another client',
    '{"mcp":{"x":{"type":"local","command":["bun","x","my-mcp"],"environment":{"A":"b"}}}}',
    'x',
    { command: 'bun', args: ['x', 'my-mcp'], env: { A: 'b' } },
  ],
  [
    'a link for an editor',
    `code --add-mcp '{"name":"play","command":"npx","args":["@playwright/mcp@latest"]}'`,
    'play',
    { command: 'npx', args: ['@playwright/mcp@latest'] },
  ],
])('%s', (_, text, name, entry) => {
  expect(read(text)).toEqual([[name, entry]]);
});

it('several servers keep their names', () => {
  const text = '{"servers":{"a":{"command":"x"},"b":{"url":"https://b"},"c":3}}';
  expect(read(text).map(([name]) => name)).toEqual(['a', 'b']);
});

it('numbers in an entry are unchanged', () => {
  expect(readSnippet('{"a":{"command":"x","timeout":9007199254740993}}')[0]?.entry).toContain(
    '9007199254740993',
  );
});

it('prose, invalid JSON and empty text contain no servers', () => {
  for (const text of [
    '',
    '  ',
    'Hello there, world',
    '{"mcpServers": {',
    '{}',
    '[]',
    '{"a":1}',
    'claude mcp add x',
  ])
    expect(readSnippet(text), text).toEqual([]);
});

it('no text causes an exception', () => {
  const pieces = [
    '{',
    '}',
    '"',
    '[',
    "'",
    '\\',
    '--',
    'claude mcp add',
    '//',
    '/*',
    'https://',
    '\n',
    ',',
    ':',
    '```',
  ];
  let seed = 1;
  for (let i = 0; i < 3000; i++) {
    let text = '';
    for (let n = 0; n < 9; n++) {
      seed = (seed * 1103515245 + 12345) & 0x7fffffff;
      text += pieces[seed % pieces.length];
    }
    expect(() => readSnippet(text)).not.toThrow();
  }
});
