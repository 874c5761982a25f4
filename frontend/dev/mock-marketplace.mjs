// The marketplace and the configuration backups of the mock daemon.

const ago = (ms) => new Date(Date.now() - ms).toISOString();
const field = (key, label, more = {}) => ({ key, label, required: false, secret: false, ...more });

export function makeDirectory(scene, evil) {
  const hostile = scene === 'hostile';
  const say = (text) => (hostile ? evil : text);
  const item = (name, title, description, more) => ({
    name,
    title: say(title),
    description: say(description),
    version: say('2026.8.31'),
    website: '',
    repository: say(`https://github.com/example/${title.toLowerCase().replace(/ /g, '-')}`),
    curated: true,
    refused: '',
    label: title.toLowerCase().replace(/ /g, '-'),
    options: [],
    installed: [],
    ...more,
  });
  const npx = (title, fields = []) => ({
    title: say(title),
    launcher: 'npx',
    pinned: true,
    command: [
      'npx',
      '-y',
      say(title),
      ...fields.filter((f) => f.required && !f.secret).map((f) => `<${f.label}>`),
    ],
    fields,
  });
  const items = [
    item(
      'io.github.modelcontextprotocol/server-filesystem',
      'Filesystem',
      'Reads and writes files in the folders that you name.',
      {
        installed: scene === 'empty' ? [] : ['filesystem'],
        options: [
          npx('@modelcontextprotocol/server-filesystem@2026.8.31', [
            field('arg.0', say('folder'), {
              required: true,
              multiple: true,
              format: 'filepath',
              description: say('A folder that it may use'),
            }),
          ]),
        ],
      },
    ),
    item(
      'io.github.brave/brave-search-mcp-server',
      'Brave Search',
      'Searches the web, images, videos and news with Brave.',
      {
        options: [
          npx('@brave/brave-search-mcp-server@2.1.4', [
            field('env.BRAVE_API_KEY', say('BRAVE_API_KEY'), {
              required: true,
              secret: true,
              description: say('Your key'),
            }),
            field('arg.1', say('--browser'), { choices: ['chrome', 'firefox'], default: 'chrome' }),
            field('arg.2', say('--headless'), { format: 'boolean' }),
            field('arg.3', say('--results'), { format: 'number', placeholder: '20' }),
          ]),
        ],
      },
    ),
    item(
      'io.github.github/github-mcp-server',
      'GitHub',
      'Repositories, issues, pull requests and workflows.',
      {
        version: '',
        options: [
          {
            title: 'ghcr.io/github/github-mcp-server',
            launcher: 'docker',
            pinned: false,
            command: ['docker', 'run', '-i', '--rm', 'ghcr.io/github/github-mcp-server'],
            fields: [
              field('env.TOKEN', 'GITHUB_PERSONAL_ACCESS_TOKEN', { required: true, secret: true }),
            ],
          },
          {
            title: 'https://api.githubcopilot.com/mcp/',
            pinned: true,
            command: [],
            fields: [
              field('header.Authorization.token', 'token', { required: true, secret: true }),
            ],
          },
        ],
      },
    ),
    item('com.linear/mcp', 'Linear', 'Issues, projects and comments in Linear.', {
      version: '',
      repository: '',
      options: [{ title: 'https://mcp.linear.app/mcp', pinned: true, command: [], fields: [] }],
    }),
    item('io.github.mallory/evil', '', '', {
      title: '',
      curated: false,
      label: '',
      repository: '',
      version: '',
      refused: say('the option "--call evil" of npx is not allowed in an installation'),
    }),
  ];
  return {
    items,
    refreshedAt: scene === 'full' ? ago(3 * 86_400_000) : '0001-01-01T00:00:00Z',
    copies:
      scene === 'empty'
        ? []
        : [1, 26, 200].map((hours) => ({
            name: `config-20261122-07${String(hours % 60).padStart(2, '0')}00.000.jsonc`,
            at: ago(hours * 3_600_000),
            bytes: 812 + hours,
            current: hours === 1,
          })),
  };
}

/** Returns the response to a request, or undefined. */
export function directoryRoute({ directory }, method, [first, second], text) {
  if (method === 'GET' && first === 'config' && second === 'backups')
    return { items: directory.copies, next: '' };
  if (first !== 'directory') return undefined;
  if (second === 'plan') return planned(directory, JSON.parse(text));
  const { items, refreshedAt } = directory;
  return { items, next: '', total: items.length, refreshedAt, address: 'https://registry.example' };
}

/** The plan of an installation with an empty form. */
function planned({ items }, { name, way = 0, label }) {
  const { fields, command } = items.find((one) => one.name === name).options[way];
  const missing = fields.filter((one) => one.required).map((one) => one.key);
  const complete = { entry: '{}', command };
  return {
    label,
    id: label,
    entry: '',
    command: [],
    secrets: [],
    fields: [],
    done: false,
    missing,
    ...(missing.length > 0 ? {} : complete),
  };
}
