import { fireEvent, render, screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { RequestError } from '@/lib/request';
import { toast, toastError } from '@/lib/toast';
import { Toaster } from './toaster';

it('a click on a toast runs its action and does not move the focus', async () => {
  let undone = 0;
  render(<Toaster />);
  toast('ok', 'Removed.', { text: 'Undo', run: () => undone++ });
  const undo = await screen.findByRole('button', { name: 'Undo' });
  expect(fireEvent.mouseDown(undo)).toBe(false); // the browser does not move the focus
  fireEvent.click(undo);
  expect(undone).toBe(1);
});

it('an error replaces the former error of the same request', async () => {
  render(<Toaster />);
  const fail = (message: string, action: string) =>
    toastError(new RequestError(message, 400, 'validation', '', [], action));
  fail('first', 'PATCH /a');
  fail('other', 'PATCH /b');
  await screen.findByText('First.');
  fail('second', 'PATCH /a');
  await screen.findByText('Second.');
  expect(screen.queryByText('First.')).toBeNull();
  screen.getByText('Other.');
});
