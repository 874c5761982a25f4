import { act, render, screen } from '@testing-library/react';
import { Suspense } from 'react';
import { expect, test, vi } from 'vitest';
import { CodeEditor, CodeView, MergeDiff } from './lazy-code-editor';

vi.unmock('@/components/lazy-code-editor');
vi.mock('./codemirror', () => new Promise(() => {}));

test.each([
  ['text', <CodeView key="" text="a" label="text" language="json" />],
  ['a diff', <MergeDiff key="" before="a" after="b" label="diff" />],
  ['an editor', <CodeEditor key="" value="a" label="editor" language="json" onChange={() => {}} />],
])('elements around %s keep the focus while CodeMirror is loading', async (_, part) => {
  const dialog = (open: boolean) => (
    <Suspense fallback="hidden">
      <button type="button">Cancel</button>
      {open && part}
    </Suspense>
  );
  const { rerender } = render(dialog(false));
  const button = screen.getByRole('button', { name: 'Cancel' });
  button.focus();
  await act(async () => rerender(dialog(true)));
  expect(screen.queryByText('hidden')).toBeNull();
  expect(button).toBeVisible();
  expect(document.activeElement).toBe(button);
});
