import { expect, it } from 'vitest';
import { reasonLine } from './call-row';

const line = (reason: string) => reasonLine({ reason, server: 'db', tool: 'drop' });

it('a row shows the line that tells most of an error: the last one of a trace', () => {
  const trace =
    'Traceback (most recent call last):\n  File "a.py", line 3\nValueError: no such id\n';
  expect(line(trace)).toBe('ValueError: no such id');
  expect(line('ENOENT: no such file\nat open')).toBe('ENOENT: no such file');
  expect(line('')).toBe('');
});

it('the row of a call that a rule denied says why, or which rule', () => {
  for (const name of ['rule 2', 'policy.rules[1]']) {
    const denied = `a rule denied the call to tool "drop" of server "db": ${name}`;
    expect(line(denied)).toBe('a rule denied the call: rule 2');
    expect(line(`${denied}: No drops`)).toBe('a rule denied the call: No drops');
  }
});
