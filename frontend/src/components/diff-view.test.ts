import { expect, test } from 'vitest';
import { sidesOf } from './diff-view';

test('a diff of one file shows its hunk without the path', () => {
  expect(sidesOf('--- a\n+++ a\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n')).toEqual({
    before: '@@ -1,2 +1,2 @@\nsame\nold',
    after: '@@ -1,2 +1,2 @@\nsame\nnew',
  });
});

test('a diff of two files shows both paths, not as removed lines', () => {
  const diff = '--- a\n+++ a\n@@ -1 +1 @@\n-1\n+2\n--- b\n+++ b\n@@ -1 +1 @@\n--- x\n+++ y\n';
  expect(sidesOf(diff)).toEqual({
    before: 'a\n@@ -1 +1 @@\n1\nb\n@@ -1 +1 @@\n-- x',
    after: 'a\n@@ -1 +1 @@\n2\nb\n@@ -1 +1 @@\n++ y',
  });
});
