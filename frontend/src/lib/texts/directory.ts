/** The directory of servers that can be installed. */
export const directoryTexts = {
  directory: {
    title: 'Browse servers',
    kinds: {
      npx: 'Node package',
      uvx: 'Python package',
      docker: 'Container',
      dnx: '.NET package',
      address: 'Remote URL',
    } as Record<string, string>,
    only: {
      curated: 'Built-in list',
      installed: 'Installed',
      installable: 'Can be installed',
    },
    refreshed: (n: string) => (n === '1' ? 'Updated: 1 server.' : `Updated: ${n} servers.`),
    curated: 'built-in list',
    line: 'Command',
    booleans: ['No', 'Yes'],
    publisher: 'Publisher',
    openDirectory: 'Browse servers',
    started: {
      whatToDo: {
        crashed:
          'Check the last output. Often, a value is wrong or a program is missing. Fix the server’s configuration, then restart it.',
        backoff: 'It is restarted automatically. If it keeps failing, fix its configuration.',
        waiting: 'It starts automatically when the missing program or service becomes available.',
        stopped: 'Start the server.',
        paused: 'All servers are paused. Resume them.',
        'needs-login': 'Sign in; the server then starts automatically.',
        'needs-approval': 'Approve its command under Approvals.',
      } as Record<string, string>,
    },
    bundle: {
      kinds: {
        node: 'Node program, run by node',
        python: 'Python program, run by python',
        uv: 'Python program, run by uv',
        binary: 'Program for this system',
      } as Record<string, string>,
    },
  },
} as const;
