import { expect, test } from 'vitest';
import type { Problem } from '@/types/api';
import { problemMarks } from './config-editor';

const problem: Problem = {
  file: '/c/drawbridge.json',
  line: 4,
  column: 5,
  key: 'profiles.office.servers.gone',
  message: "profile 'office' refers to server 'gone', which is not configured",
  suggestion: '',
  server: '',
  warning: true,
};

test('a problem is marked with its severity at its line', () => {
  expect(problemMarks([problem, { ...problem, warning: false, column: 0 }], problem.file)).toEqual([
    { line: 4, column: 5, severity: 'warning', message: problem.message },
    { line: 4, severity: 'error', message: problem.message },
  ]);
});

test('a problem without a line, or of another file, has no mark', () => {
  expect(
    problemMarks(
      [
        { ...problem, line: 0 },
        { ...problem, file: '/c/other.json' },
      ],
      problem.file,
    ),
  ).toEqual([]);
});
