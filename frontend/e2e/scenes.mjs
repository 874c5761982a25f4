// The scenes: configurations and files of the clients of a user, and what happened before the test.
import { fileURLToPath } from 'node:url';

/** The folder with the programs drawbridge and pagedata. */
export const bin =
  process.env.E2E_BIN ?? fileURLToPath(new URL('../../build/bin', import.meta.url));

const npx = (name, ...args) => ({
  command: 'npx',
  args: ['-y', `@modelcontextprotocol/server-${name}`, ...args],
});
const own = (mode) => ({ command: `${bin}/pagedata`, args: [mode] });

const servers = {
  filesystem: npx('filesystem', '/home/ada/projects'),
  github: {
    ...npx('github'),
    env: { GITHUB_TOKEN: '${GITHUB_TOKEN:-}' },
    tags: ['work'],
    accounts: {
      work: { folders: ['/home/ada/work'], env: { GITHUB_TOKEN: '' } },
      bot: { env: { GITHUB_TOKEN: 'ghp_0123456789abcdef' } },
    },
  },
  postgres: npx('postgres', '--read-only'),
  memory: npx('memory'),
  everything: npx('everything', 'stdio'),
  'sequential-thinking': npx('sequential-thinking'),
};
const profiles = {
  office: {
    description: 'What the day job needs',
    servers: { filesystem: { includeTools: ['read_*', 'list_directory'] }, github: {} },
    toolMode: 'search',
    accounts: { github: 'bot' },
  },
  'all-but-writing': { folders: ['/home/ada/projects'] },
};
const troubled = {
  filesystem: { ...servers.filesystem, approval: 'ask' },
  github: own('ask-form'),
  opens: own('ask-url'),
  slack: { url: 'SIGN_IN' },
  browser: {
    command: 'sh',
    args: ['-c', `echo "Error: Cannot find module 'playwright'" >&2; exit 1`],
    restart: { maxAttempts: 1 },
  },
  Linear: {
    ...npx('linear'),
    env: { LINEAR_API_KEY: '${LINEAR_API_KEY}', LINEAR_TOKEN: 'lin_0123456789' },
  },
  fetch: { command: 'uvx', args: ['mcp-server-fetch'] },
  search: npx('memory'),
  again: { ...own('exit'), restart: { maxAttempts: 3, backoffMs: 86_400_000 } },
  weather: { ...own('silent'), startupTimeoutMs: 80_000_000 },
  'legacy-tools': own('malformed-tools'),
  archive: { ...npx('memory'), start: 'manual' },
  notion: { ...npx('memory'), disabled: true },
  files: { comand: 'npx' },
};

/** The text of a configuration, with a comment that every change has to keep. */
const text = (config) =>
  JSON.stringify(config, null, 2)
    .replace('"mcpServers"', '// Everything Drawbridge runs.\n  "mcpServers"')
    .replace('"work": {\n', '// signs in by itself\n        $&')
    .replace('"env": {\n        "LINEAR', '// from linear.app\n      $&')
    .concat('\n');

const json = (value) => `${JSON.stringify(value, null, 2)}\n`;
/** The files of two connected clients, and of two with servers to move. */
const files = {
  '.claude.json': json({ numStartups: 3, mcpServers: {} }),
  '.config/Claude/claude_desktop_config.json': json({ mcpServers: {} }),
  '.cursor/mcp.json': json({ mcpServers: { files: npx('filesystem'), pg: npx('postgres') } }),
  '.config/zed/settings.json': json({
    theme: 'One',
    context_servers: { notes: npx('memory'), all: npx('everything') },
  }),
};
/** What has happened: connected clients. */
async function used(daemon) {
  for (const key of ['claude-code', 'claude-desktop'])
    await daemon.api('POST', `/connections/${key}/connect`, {});
  await daemon.api('POST', '/tokens/cursor/create');
  await daemon.running('filesystem');
}

/** By name: the files, what is done with them once, what differs then, and what each daemon waits for. */
export const scenes = {
  empty: { config: text({ mcpServers: {} }), files: {} },
  full: {
    config: text({ mcpServers: servers, profiles, clients: { cursor: { profile: 'office' } } }),
    files,
    history: true,
    before: used,
    ready: (daemon) => daemon.running(...Object.keys(servers)),
  },
  /** Servers to move, in the files of two clients. */
  moving: {
    config: text({ mcpServers: {} }),
    files: Object.fromEntries(Object.entries(files).filter(([name]) => !/laude/.test(name))),
  },
  trouble: {
    config: text({ mcpServers: troubled }),
    files,
    history: true,
    before: used,
    later: {
      config: text({
        globalSettings: { approveNewCommands: 'ask' },
        bridge: { requireToken: false },
        mcpServers: { ...troubled, search: npx('memory', '--remote', 'https://example.test') },
      }),
      files: {
        changed: '',
        '.config/Claude/claude_desktop_config.json': json({ mcpServers: {} }),
        '.config/zed/settings.json': '{\n  "theme": "One"\n  "context_servers": {}\n}\n',
      },
    },
    /** Calls that wait: for an approval, and for answers to questions of servers. */
    async ready(daemon) {
      await daemon.running('filesystem', 'github', 'opens');
      await daemon.watch();
      daemon.call('cursor', 'filesystem', 'write_file', {
        path: '/home/ada/projects/bridge/plan.md',
        content: '# Plan\n\n1. Raise the bridge at dusk.\n',
        mode: 'overwrite',
      });
      for (const server of ['github', 'opens']) daemon.call('cursor', server, 'echo', {});
      await daemon.waiting(3);
    },
  },
};
