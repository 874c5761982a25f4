import { expect, it } from 'vitest';
import type { ServerStatus } from '@/types/api';
import { remedyOf } from './remedy';
import { withSecret } from './remedy-dialogs';

const crashed = (part: Partial<ServerStatus>) =>
  remedyOf({ state: 'crashed', reason: '', ...part } as ServerStatus);

it('the fix for a missing variable or secret is to set it', () => {
  expect(crashed({ reason: 'variable ${GITHUB_TOKEN} is not set (env.KEY)' })).toEqual({
    kind: 'key',
    name: 'GITHUB_TOKEN',
    isSecret: false,
  });
  expect(crashed({ reason: 'there is no secret named "linear/key" (headers.A)' })).toEqual({
    kind: 'key',
    name: 'linear/key',
    isSecret: true,
  });
  const hint =
    'Store the value with: drawbridge secret set API_KEY. Then add "API_KEY": "${secret:API_KEY}" to env of the server, or under Environment on its page in Drawbridge.';
  expect(crashed({ hint })).toEqual({ kind: 'key', name: 'API_KEY', isSecret: false });
});

it.each([
  [
    'Install uv: curl -LsSf https://astral.sh/uv/install.sh | sh (https://docs.astral.sh/uv).',
    ['uv', 'curl -LsSf https://astral.sh/uv/install.sh | sh', 'https://docs.astral.sh/uv'],
  ],
  [
    'The PATH may be incomplete: the shell failed. Install Node.js: sudo apt install nodejs npm (https://nodejs.org).',
    ['Node.js', 'sudo apt install nodejs npm', 'https://nodejs.org'],
  ],
  [
    'Install Docker: https://docs.docker.com/get-docker',
    ['Docker', '', 'https://docs.docker.com/get-docker'],
  ],
])('the fix for a missing program is to install it: %s', (hint, [product, command, address]) => {
  expect(crashed({ hint })).toEqual({ kind: 'install', product, command, address });
});

it('the fix for a stopped container is to start it', () => {
  const reason = 'the container is not running: "box"';
  expect(crashed({ state: 'waiting', reason })).toEqual({ kind: 'container', name: 'box' });
});

it('the fix depends on the hint and the state, and a running server has none', () => {
  expect(crashed({ hint: "Correct the server's args." })).toEqual({ kind: 'configure' });
  expect(crashed({ hint: 'Start Docker: sudo systemctl start docker' })).toBeUndefined();
  expect(crashed({ state: 'needs-approval' })).toEqual({ kind: 'approve' });
  expect(crashed({ state: 'needs-login' })).toEqual({ kind: 'signIn' });
  expect(crashed({ state: 'running', hint: 'Correct args.' })).toBeUndefined();
});

it('references to the variable are replaced by references to the secret', () => {
  const entry = '{\n  // note\n  "env": { "KEY": "${TOKEN}" },\n}';
  expect(withSecret(entry, 'TOKEN', 'A_TOKEN')).toBe(entry.replace('TOKEN', 'secret:A_TOKEN'));
  expect(withSecret('{ "command": "x" }', 'KEY', 'A_KEY')).toContain(
    '"env": { "KEY": "${secret:A_KEY}" }',
  );
  expect(withSecret('{ "env": { "A": "b" } }', 'KEY', 'A_KEY')).toMatch(
    /"A": "b",\s+"KEY": "\$\{secret:A_KEY\}"/,
  );
});
