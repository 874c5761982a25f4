import { expect, test } from 'vitest';
import { parseUnifiedDiff } from './unified-diff';

const shown = (diff: string) =>
  parseUnifiedDiff(diff).map(({ path, lines }) => [
    path,
    lines.map((one) => `${one.kind} ${one.text}`),
  ]);

test('a diff of two files is one diff per file, with every sign of the daemon', () => {
  const diff = `--- /a/drawbridge.json
+++ /a/drawbridge.json
@@ -1,3 +1,6 @@
 {
   "mcpServers": {
+    "files": {
+      "command": "npx"
+    },
   }
--- /b/claude.json
+++ /b/claude.json
@@ -1,6 +1,5 @@
 {
   "numStartups": 3,
   "mcpServers": {
-    "files": {
-      "command": "npx"
+    "drawbridge": {
     },
`;
  expect(shown(diff)).toEqual([
    [
      '/a/drawbridge.json',
      [
        'hunk @@ -1,3 +1,6 @@',
        'same {',
        'same   "mcpServers": {',
        'added     "files": {',
        'added       "command": "npx"',
        'added     },',
        'same   }',
      ],
    ],
    [
      '/b/claude.json',
      [
        'hunk @@ -1,6 +1,5 @@',
        'same {',
        'same   "numStartups": 3,',
        'same   "mcpServers": {',
        'removed     "files": {',
        'removed       "command": "npx"',
        'added     "drawbridge": {',
        'same     },',
      ],
    ],
  ]);
});

test('removed and added lines that look like the header of a file are lines', () => {
  expect(shown('--- b\n+++ b\n@@ -1 +1 @@\n--- x\n+++ y\n')).toEqual([
    ['b', ['hunk @@ -1 +1 @@', 'removed -- x', 'added ++ y']],
  ]);
});

test('a hunk without a header has no path', () => {
  expect(shown('@@ -1 +1,2 @@\n same\n+new\n\\ No newline at end of file\n')).toEqual([
    ['', ['hunk @@ -1 +1,2 @@', 'same same', 'added new']],
  ]);
  expect(shown('')).toEqual([]);
});

test('lines of a file with Windows line ends have no carriage return', () => {
  expect(shown('--- b\n+++ b\n@@ -1 +1 @@\n-a\r\n+b\r\n')).toEqual([
    ['b', ['hunk @@ -1 +1 @@', 'removed a', 'added b']],
  ]);
});
