import { expect, test } from 'vitest';
import { versionsOf } from './tool-changes';

test('the lines of a changed definition become the texts before and after', () => {
  expect(
    versionsOf([
      { op: 'same', text: 'name: add' },
      { op: 'old', text: 'description: Adds.' },
      { op: 'new', text: 'description: Adds\u202e.' },
      { op: 'gap', text: '4 unchanged lines' },
    ]),
  ).toEqual({
    before: 'name: add\ndescription: Adds.\n… 4 unchanged lines',
    after: 'name: add\ndescription: Adds\ufffd.\n… 4 unchanged lines',
  });
});
