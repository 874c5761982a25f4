import { type ChangeEvent, createElement } from 'react';
import '@testing-library/jest-dom/vitest';
import { cleanup } from '@testing-library/react';
import { afterEach, vi } from 'vitest';

afterEach(() => {
  cleanup();
  if (typeof localStorage === 'undefined') return; // tests in Node.js have no localStorage
  localStorage.clear();
  sessionStorage.clear();
});

// CodeMirror measures its layout, which requires a browser: the browser tests cover it.
vi.mock('@/components/lazy-code-editor', () => ({
  loadCode: async () => undefined,
  CodeView: ({ text, label }: { text: string; label: string }) =>
    createElement('section', { 'aria-label': label }, text),
  MergeDiff: ({ before, after }: { before: string; after: string }) =>
    createElement('pre', {}, before, after),
  UnifiedDiff: ({ lines, label }: { lines: { text: string }[]; label: string }) =>
    createElement('section', { 'aria-label': label }, lines.map((line) => line.text).join('\n')),
  CodeEditor: (props: { label: string; value: string; onChange: (value: string) => void }) =>
    createElement('textarea', {
      'aria-label': props.label,
      value: props.value,
      onChange: (event: ChangeEvent<HTMLTextAreaElement>) => props.onChange(event.target.value),
    }),
}));
