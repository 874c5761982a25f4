// The saved checks of the mock daemon.

const ago = (ms) => new Date(Date.now() - ms).toISOString();
export function makeChecks(scene, evil) {
  if (scene === 'empty') return [];
  const hostile = scene === 'hostile';
  const say = (text) => (hostile ? evil : text);
  const step = (server, tool, expect, args) => ({
    server: hostile ? 'hostile' : server,
    tool: say(tool),
    ...(args ? { arguments: args } : {}),
    expect,
  });
  return [
    {
      name: 'files-basics',
      steps: [
        step('filesystem', 'list_directory', { outcome: 'ok' }, '{"path":"/home/ada/projects"}'),
        step('filesystem', 'read_file', { outcome: 'ok', contains: [say('Raise the bridge')] }),
      ],
      last: { at: ago(3 * 3_600_000), ok: true, failed: 0, trigger: 'run manually' },
    },
    {
      name: 'staging-schema',
      auto: 'on',
      steps: [
        step(
          'postgres',
          'query',
          { outcome: 'ok', result: '{"content":[]}', maxTookNs: 2e9 },
          '{"sql":"select count(*) from bridge","limit":9007199254740993}',
        ),
      ],
      last: {
        at: ago(12 * 60_000),
        ok: false,
        failed: 1,
        trigger: say('the version or tools of postgres changed'),
      },
    },
    {
      name: 'writes-a-plan',
      auto: 'off',
      steps: [step('filesystem', 'write_file', { outcome: 'ok' })],
    },
  ];
}
