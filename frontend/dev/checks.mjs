// What the mock daemon answers of saved checks, and of a backup.

const ago = (ms) => new Date(Date.now() - ms).toISOString();
const refused = (status, code, detail, hint = '') => ({
  status,
  body: { status, code, detail, hint },
});

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
      last: { at: ago(3 * 3_600_000), ok: true, failed: 0, trigger: 'the user ran it' },
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

/** Answers one request as {body, status}, or undefined. */
export async function checksRoute(world, method, [first, name, third], text) {
  if (method === 'POST' && first === 'history' && name === 'backup') {
    await world.held;
    const { path } = JSON.parse(text);
    if (path.includes('taken'))
      return refused(
        409,
        'conflict',
        'cannot write the backup: there is such a file already',
        'Name another file: a backup never overwrites one.',
      );
    return { body: { path } };
  }
  if (first !== 'checks') return undefined;
  const at = world.checks.findIndex((check) => check.name === name);
  if (method === 'GET') return { body: { items: world.checks, next: '' } };
  if (method === 'PUT') {
    const check = { name, ...JSON.parse(text) };
    if (at < 0) world.checks.push(check);
    else world.checks[at] = check;
    return { body: check };
  }
  if (at < 0) return refused(404, 'not_found', 'there is no such check');
  if (method === 'DELETE') {
    world.checks.splice(at, 1);
    return { body: {} };
  }
  if (third !== 'run') return undefined;
  await world.held;
  const check = world.checks[at];
  const steps = check.steps.map((step) => ran(world, step));
  const failed = steps.filter((step) => !step.ok).length;
  check.last = { at: ago(0), ok: failed === 0, failed, trigger: 'the user ran it' };
  return { body: { name, ok: failed === 0, steps } };
}

function ran(world, { server, tool, expect }) {
  const like = world.calls.find(
    (c) => c.server === server && c.tool === tool && c.outcome === 'ok',
  );
  const answer = (like && world.call(like.id).result) || '{"content":[]}';
  const wrong = (expect.contains ?? [])
    .map((text, at) => [
      answer.includes(text),
      `text ${at + 1} of those expected is not in the result`,
    ])
    .flatMap(([there, said]) => (there ? [] : [said]));
  const changes = [];
  if (expect.result && expect.result !== answer) {
    wrong.push('the result differs in 1 places');
    changes.push({ path: '', kind: 'changed', before: expect.result, after: answer });
  }
  return {
    server,
    tool,
    ok: wrong.length === 0,
    outcome: 'ok',
    tookNs: 4.1e7,
    callId: like?.id ?? '0',
    failures: wrong,
    changes,
  };
}
