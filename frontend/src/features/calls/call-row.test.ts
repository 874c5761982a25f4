import { expect, it } from 'vitest';
import { reasonLine } from './call-row';

it('a row shows the line that tells most of an error: the last one of a trace', () => {
  const trace =
    'Traceback (most recent call last):\n  File "a.py", line 3\nValueError: no such id\n';
  expect(reasonLine({ reason: trace })).toBe('ValueError: no such id');
  expect(reasonLine({ reason: 'ENOENT: no such file\nat open' })).toBe('ENOENT: no such file');
  expect(reasonLine({ reason: '' })).toBe('');
});
