// Payloads of generated calls, and a configuration file.

/** A tenth of a second of sound, as a WAV file. */
const silence = Buffer.concat([
  Buffer.from('UklGRkQDAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YSADAAA=', 'base64'),
  Buffer.alloc(800, 128),
]).toString('base64');

const picture =
  'iVBORw0KGgoAAAANSUhEUgAAAGAAAABACAIAAABqVuVZAAAAh0lEQVR42u3aMQ0AIAwEwDrAICsaEIgH9FRDR8olP3/SGz+NeW4pY+1SXu8PQIAAAQIECBAgQIAAAQIECBCgZkC/HVztBwQIECBAgAABAgQIECBAgAAB6gZkMLMoAgIECBAgQIAAAQIECBAgQID8BxnMLIqAAAECBAgQIECAAAECBAgQoLZACbqSgf8VpXf+AAAAAElFTkSuQmCC';

/** A result with text and other content. */
export const said = (text, ...more) =>
  JSON.stringify({ content: [{ type: 'text', text }, ...more] });

/** The configuration file, with a comment that every change has to keep. */
export const configured = `{
  // Everything Drawbridge runs.
  "mcpServers": {
    "filesystem": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/ada/projects"]
    },
    "GitHub": {
      "url": "https://api.githubcopilot.com/mcp/",
      "headers": { "Authorization": "Bearer \${secret:GITHUB_TOKEN}" },
      "tags": ["work"],
      "accounts": {
        // signs in by itself
        "work": { "folders": ["/home/ada/work"] },
        "bot": { "headers": { "Authorization": "Bearer ghp_0123456789abcdef" } }
      }
    },
    "Postgres (staging)": {
      "type": "docker",
      "container": "staging-db",
      "command": "mcp-postgres",
      "args": ["--read-only"]
    },
    "memory": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-memory"]
    },
    "everything": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-everything", "stdio"]
    },
    "Sequential thinking": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-sequential-thinking"]
    }
  }
}
`;

/** The arguments of a call, as JSON text: some numbers exceed the precision of JavaScript. */
export const asked = {
  read_text_file: '{"path":"/home/ada/projects/bridge/notes.md"}',
  write_file:
    '{"path":"/home/ada/projects/bridge/plan.md","content":"# Plan\\n\\n1. Raise the bridge at dusk.\\n","ifVersion":9007199254740993}',
  list_directory: '{"path":"/home/ada/projects/bridge","limit":9007199254740993}',
  search_files:
    '{"path":"/home/ada/projects","pattern":"**/*.md","excludePatterns":["node_modules"]}',
  move_file:
    '{"source":"/home/ada/notes/gate.md","destination":"/home/ada/projects/bridge/gate.md"}',
  search_issues: '{"query":"repo:ada/bridge is:open label:bug","perPage":10}',
  get_pull_request: '{"owner":"ada","repo":"bridge","number":214}',
  create_issue:
    '{"owner":"ada","repo":"bridge","title":"The left chain is slack","body":"Seen at dusk, at 4 t."}',
  list_commits:
    '{"owner":"ada","repo":"bridge","sha":"main","limit":9007199254740993,"weight":1.0,"filter":{"authors":["ada","grace"],"merges":false,"since":null}}',
  query: '{"sql":"SELECT id, name FROM keepers ORDER BY name LIMIT 20"}',
  list_tables: '{"schema":"public"}',
  create_entities:
    '{"entities":[{"name":"Drawbridge","entityType":"project","observations":["lowered by two chains"]}]}',
  echo: '{"message":"Is anybody at the gate?"}',
  add: '{"a":2.6,"b":4}',
  sequentialthinking: '{"thought":"First the chains, then the gate.","thoughtNumber":1}',
};

const notes =
  '# Notes\n\nThe bridge is lowered by two chains.\nEach carries 4 t; the gate itself weighs 2.6 t.\n\n- check the pulleys\n- oil the hinge';
const rows = '[{"id":9007199254740993,"name":"Ada"},{"id":2,"name":"Grace"}]';
const graph = JSON.stringify({
  entities: [
    { name: 'Drawbridge', entityType: 'project', observations: ['lowered by two chains'] },
  ],
  relations: [{ from: 'Ada', to: 'Drawbridge', relationType: 'keeps' }],
});

/** The result of a call. */
export const answered = {
  read_text_file: said(
    notes,
    { type: 'image', mimeType: 'image/png', data: picture },
    { type: 'audio', mimeType: 'audio/wav', data: silence },
  ),
  write_file: said('Successfully wrote to /home/ada/projects/bridge/plan.md'),
  list_directory: said('[DIR] drawings\n[FILE] notes.md\n[FILE] plan.md'),
  search_files: said('/home/ada/projects/bridge/notes.md\n/home/ada/projects/bridge/plan.md'),
  move_file: said('Successfully moved /home/ada/notes/gate.md'),
  list_commits: said('a1f3c02 Oil the hinge (ada)\n7be9d14 Measure the left chain (grace)'),
  search_issues: said('#214 The left chain is slack (open)\n#198 Lantern out at the gate (open)'),
  query: `{"content":[{"type":"text","text":${JSON.stringify(rows)}}],"structuredContent":{"rows":${rows}}}`,
  list_tables: said('crossings  48 kB\nkeepers  16 kB'),
  read_graph: said(graph),
  echo: said('Echo: Is anybody at the gate?'),
  add: said('The sum of 2.6 and 4 is 6.6.'),
};
