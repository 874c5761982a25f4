import { expect, it } from 'vitest';
import { isUnreadableLink, readSnippet } from './parse-server-snippet';

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
  [
    'a YAML block',
    'mcpServers:\n  foo:\n    command: npx\n    args:\n      - -y\n      - 1.10\n    env:\n      PORT: 8080\n    timeout: 30\n',
    'foo',
    { command: 'npx', args: ['-y', '1.10'], env: { PORT: '8080' }, timeout: 30 },
  ],
  [
    'a YAML list',
    '```yaml\n# servers\nmcpServers:\n  - name: bar\n    command: uvx\n    args: [mcp-bar]\n```',
    'bar',
    { command: 'uvx', args: ['mcp-bar'] },
  ],
  [
    'an install link of Cursor',
    `cursor://anysphere.cursor-deeplink/mcp/install?name=my%20files&config=${btoa('{"command":"npx","args":["-y","é>?"]}'.replace('é', '\\u00e9'))}`,
    'my-files',
    { command: 'npx', args: ['-y', 'é>?'] },
  ],
  [
    'an install link with a whole command line',
    `[![Add](https://cursor.com/a.svg)](https://cursor.com/en/install-mcp?name=files&config=${btoa('{"command":"npx -y files-mcp","env":{"A":"b"}}')})`,
    'files',
    { command: 'npx', env: { A: 'b' }, args: ['-y', 'files-mcp'] },
  ],
  [
    'an install link of VS Code',
    `vscode:mcp/install?${encodeURIComponent('{"name":"play","command":"npx","args":["@playwright/mcp@latest"]}')}`,
    'play',
    { command: 'npx', args: ['@playwright/mcp@latest'] },
  ],
  [
    'a web page that opens an install link',
    `https://insiders.vscode.dev/redirect/mcp/install?name=gh&config=${encodeURIComponent('{"type":"http","url":"https://api.x.io/mcp"}')}`,
    'gh',
    { type: 'http', url: 'https://api.x.io/mcp' },
  ],
  [
    'a command after the installation of its package',
    '# first\n$ npm install -g foo\n$ foo --stdio\n',
    'foo',
    { command: 'foo', args: ['--stdio'] },
  ],
  [
    'an installation and a command on one line',
    'pip install foo && foo serve',
    'foo',
    { command: 'foo', args: ['serve'] },
  ],
  [
    'options on their own lines',
    'npx -y foo\n  --dir "a\nb"\n  --port 1',
    'foo',
    { command: 'npx', args: ['-y', 'foo', '--dir', 'a\nb', '--port', '1'] },
  ],
])('%s', (_, text, name, entry) => {
  expect(read(text)).toEqual([[name, entry]]);
});

it('several servers keep their names', () => {
  const text = '{"servers":{"a":{"command":"x"},"b":{"url":"https://b"},"c":3}}';
  expect(read(text).map(([name]) => name)).toEqual(['a', 'b']);
});

it('several lines are several commands', () => {
  expect(read('claude mcp add a -- npx a\nclaude mcp add b https://b.io/mcp')).toEqual([
    ['a', { command: 'npx', args: ['a'] }],
    ['b', { url: 'https://b.io/mcp' }],
  ]);
});

it('a disabled server stays disabled', () => {
  expect(
    read('{"a":{"command":"x","disabled":true},"b":{"command":"x","disabled":false}}'),
  ).toEqual([
    ['a', { command: 'x', disabled: true }],
    ['b', { command: 'x' }],
  ]);
});

it('a link that cannot be read is named as such', () => {
  for (const link of [
    'cursor://anysphere.cursor-deeplink/mcp/install?name=a&config=%%',
    'zed://x/y',
  ])
    expect([readSnippet(link), isUnreadableLink(link)], link).toEqual([[], true]);
  expect(isUnreadableLink('https://example.com/mcp')).toBe(false);
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
    'hello world this is not a thing',
    'use the server foo',
    'npm install -g foo',
    'cd foo && npx bar',
    'npx foo\nThen restart the client.',
    'services:\n  db:\n    image: postgres',
    'foo: [',
    'see: here',
    'cursor://x',
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
    'a:',
    '&&',
    'cursor://mcp?config=',
    'vscode:mcp/install?',
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
