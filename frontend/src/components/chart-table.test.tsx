import { fireEvent, render, screen, within } from '@testing-library/react';
import { expect, test } from 'vitest';
import { ChartTable } from './chart-table';

test('a chart can be read as a table of the slots that have a value or an event', async () => {
  render(
    <ChartTable
      label="Calls"
      at={[0, 10, 20, 30]}
      stepMs={10}
      series={[
        { name: 'Succeeded', colour: 'ok', values: [2, 0, undefined, 4] },
        { name: 'Failed', colour: 'bad', values: [0, 0, undefined, undefined] },
      ]}
      events={[{ at: 25, name: 'files 2.0' }]}
      format={(n) => `${n} ms`}
      slotName={(at) => `at ${at}`}
    />,
  );
  expect(screen.queryByRole('table')).toBeNull();
  fireEvent.click(screen.getByText('Show as table'));
  const table = await screen.findByRole('table', { name: 'Calls' });
  const rows = within(table)
    .getAllByRole('row')
    .map((row) => [...row.children].map((cell) => cell.textContent));
  expect(rows).toEqual([
    ['Time', 'Succeeded', 'Failed', 'Events'],
    ['at 0', '2 ms', '0 ms', ''],
    ['at 20', '–', '–', 'files 2.0'],
    ['at 30', '4 ms', '–', ''],
  ]);
});
