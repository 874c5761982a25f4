import { expect, it } from 'vitest';
import type { Problem } from '@/types/api';
import { unusable } from './config-file';

const problem: Problem = {
  ...{ file: '/c.jsonc', line: 2, column: 1, key: 'history', server: '', suggestion: '' },
  ...{ message: '“history” is not an object', warning: false },
};
const file = (text: string, problems: Problem[] = [], path = '/c.jsonc') =>
  unusable({ etag: '', path, text, problems });

it('the reason why a file is unusable is its error or format, and nothing else', () => {
  expect(file('{}')).toBeUndefined();
  expect(file('')).toBeUndefined();
  expect(file('{\n,,}')).toMatch(/has an error: Not valid JSON: line 2, column 1\. Correct it/);
  expect(file('{}', [problem])).toMatch(/has an error: “history” is not an object\. Correct it/);
  // Warnings, and errors of a server or of another file, leave it usable.
  for (const other of [{ warning: true }, { server: 'x' }, { file: '/d.jsonc' }])
    expect(file('{}', [{ ...problem, ...other }])).toBeUndefined();
  expect(file('a: 1', [], '/c.yaml')).toMatch(/is a YAML file/);
});
