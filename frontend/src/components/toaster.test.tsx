import { fireEvent, render, screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { toast } from '@/lib/toast';
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
