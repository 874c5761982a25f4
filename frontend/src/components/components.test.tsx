import { render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { Tooltip } from 'radix-ui';
import type { ReactElement } from 'react';
import { expect, it } from 'vitest';
import { actionsFor } from '@/features/servers/start-stop-buttons';
import { texts } from '@/lib/texts';
import type { State } from '@/types/api';
import { JsonView, LongText } from './json-view';
import { contentParts, ResultText } from './result-text';
import { StateBadge } from './state-badge';

const show = (element: ReactElement) => render(<Tooltip.Provider>{element}</Tooltip.Provider>);
const evil = '<img src=x onerror=alert(1)><script>alert(1)</script>';

it('every state has a label and an icon', () => {
  for (const state of Object.keys(texts.states) as State[]) {
    const { container, unmount } = show(<StateBadge state={state} />);
    expect(container).toHaveTextContent(texts.states[state]);
    expect(container.querySelector('svg')).not.toBeNull();
    unmount();
  }
});

it('an unknown state is shown by its name', () => {
  show(<StateBadge state={'hibernating' as State} />);
  expect(screen.getByText('hibernating')).toBeInTheDocument();
});

it('text of a server is never interpreted as markup', () => {
  const { container } = show(
    <>
      <JsonView text={JSON.stringify({ [evil]: evil })} label="Result" />
      <ResultText text={JSON.stringify({ content: [{ type: 'text', text: evil }] })} />
    </>,
  );
  expect(container.querySelector('img, script')).toBeNull();
  expect(container.textContent).toContain('<img src=x');
});

it('JSON is shown formatted or raw, with numbers unchanged', async () => {
  const { container } = show(<JsonView text='{"n":9007199254740993,"f":1.0}' label="Result" />);
  expect(container).toHaveTextContent('"n": 9007199254740993,');
  await userEvent.click(screen.getByRole('radio', { name: 'Raw' }));
  expect(container).toHaveTextContent('{"n":9007199254740993,"f":1.0}');
});

it('a very long text is truncated until the user expands it', async () => {
  const { container } = show(<LongText text={'x'.repeat(1_000_000)} />);
  expect((container.textContent ?? '').length).toBeLessThan(5000);
  await userEvent.click(screen.getByRole('button', { name: /more characters/ }));
  expect((container.textContent ?? '').length).toBeGreaterThan(39_000);
});

it('a line of 10 MB in JSON is truncated until the user expands it', async () => {
  const { container } = show(<JsonView text={`{"t":"${'x'.repeat(1e7)}"}`} label="Result" />);
  const most = () => Math.max(...(container.textContent ?? '').split(/[^x]+/).map((x) => x.length));
  expect(most()).toBeLessThan(5000);
  await userEvent.click(screen.getByRole('button', { name: '9,996,009 more characters' }));
  expect(screen.getByText('9,900,009 more characters')).toBeInTheDocument();
});

it('the parts of a result are distinguished by type', () => {
  const result =
    '{"content":[{"type":"text","text":"a"},{"type":"image","mimeType":"image/png","data":"AAAAAAAA"}]}';
  expect(contentParts(result)).toMatchObject([
    { type: 'text', text: 'a' },
    { type: 'image', mimeType: 'image/png', size: 6 },
  ]);
  const leftOut = `[400000 characters not recorded, sha256 ${'0a'.repeat(32)}]`;
  expect(
    contentParts(`{"content":[{"type":"image","mimeType":"image/png","data":"${leftOut}"}]}`),
  ).toMatchObject([{ type: 'image', data: undefined, size: 300_000 }]);
  expect(ResultText.canShow('{"content":[]}')).toBe(false);
  expect(ResultText.canShow('[]')).toBe(false);
});

it('a result that is sent as JSON and as text is shown once', () => {
  const twice = (text: string) =>
    JSON.stringify({ content: [{ type: 'text', text }], structuredContent: { a: 1, b: 2 } });
  const { unmount } = show(<ResultText text={twice('{ "b": 2, "a": 1 }')} />);
  expect(screen.queryByText('Structured content')).toBeNull();
  unmount();
  show(<ResultText text={twice('{"a":1}')} />);
  expect(screen.getByText('Structured content')).toBeInTheDocument();
});

it('the actions for a server depend on its state', () => {
  expect(actionsFor('running')).toEqual(['restart', 'stop', 'disable']);
  expect(actionsFor('disabled')).toEqual(['enable']);
  expect(actionsFor('stopped')[0]).toBe('start');
});
