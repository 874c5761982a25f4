import { render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { Tooltip } from 'radix-ui';
import { describe, expect, it, vi } from 'vitest';
import type { Tool } from '@/types/api';
import { parseAnswer, parseTools } from './api';
import { grouped } from './groups';
import { effects, parameters } from './schema';
import { argumentsFault, TryTool } from './try-tool';

const tool = {
  name: 's__t',
  server: 's',
  tool: 't',
  inputSchema:
    '{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer"}},"required":["path"]}',
} as Tool;

describe('untrusted schemas', () => {
  it('do not cause exceptions', () => {
    for (const schema of [
      '',
      '{}',
      '[]',
      'null',
      '{"properties":3,"required":{}}',
      '{"properties":{"a":null}}',
      '{"required":[1]}',
    ]) {
      expect(() => [parameters(schema), effects(schema)]).not.toThrow();
    }
  });

  it('have their types in one line', () => {
    const schema =
      '{"properties":{"a":{"type":"array","items":{"type":"string"}},"b":{"enum":["x","y"]},"c":{"anyOf":[{"type":"string"},{"type":"null"}]}}}';
    expect(parameters(schema).map((p) => p.type)).toEqual([
      'string[]',
      '"x" | "y"',
      'string | null',
    ]);
  });
});

it('schemas of tools are kept as text, from a string or as raw JSON', () => {
  const [a, b] = parseTools(
    '{"items":[{"name":"a","inputSchema":"{\\"n\\":1.0}"},{"name":"b","inputSchema":{"n":1.0}}]}',
  );
  expect([a?.inputSchema, b?.inputSchema]).toEqual(['{"n":1.0}', '{"n":1.0}']);
  expect(parseTools('{"items":null}')).toEqual([]);
});

it('a response keeps its numbers', () => {
  expect(
    parseAnswer(
      '{"success":true,"output":"x","data":null,"error":null,"raw":{"n":9007199254740993},"callId":"5"}',
    ),
  ).toEqual({
    success: true,
    output: 'x',
    error: '',
    raw: '{"n":9007199254740993}',
    callId: '5',
  });
});

it('arguments must be an object', () => {
  expect(argumentsFault('{"a":1}')).toBeUndefined();
  expect(argumentsFault('[1]')).toMatch(/object/);
  expect(argumentsFault('{"a":}')).toMatch(/line 1, column 6/);
});

it('a tool cannot be called with invalid arguments', async () => {
  const fetch = vi.fn();
  vi.stubGlobal('fetch', fetch);
  render(
    <Tooltip.Provider>
      <TryTool tool={tool} />
    </Tooltip.Provider>,
  );
  await userEvent.click(screen.getByRole('tab', { name: 'JSON' }));
  const box = screen.getByLabelText('Arguments (JSON)');
  await userEvent.clear(box);
  await userEvent.type(box, '{{');
  expect(screen.getByRole('button', { name: 'Run tool' })).toBeDisabled();
  expect(fetch).not.toHaveBeenCalled();
});

it('what was redacted in a recorded call must be replaced before it is sent again', async () => {
  const sent = vi.fn(async () => new Response('{"success":true,"raw":null,"callId":""}'));
  vi.stubGlobal('fetch', sent);
  render(
    <Tooltip.Provider>
      <TryTool tool={tool} begin='{"path":"[redacted]"}' />
    </Tooltip.Provider>,
  );
  const run = screen.getByRole('button', { name: 'Run tool' });
  expect(run).toBeDisabled();
  expect(screen.getByRole('alert')).toHaveTextContent('replace “[redacted]” first');
  await userEvent.clear(screen.getByLabelText(/^path/));
  await userEvent.type(screen.getByLabelText(/^path/), 'x');
  await userEvent.click(run);
  expect(sent).toHaveBeenCalledOnce();
});

it('a required field of the form cannot be sent empty, and is named', async () => {
  const sent = vi.fn(async () => new Response('{"success":true,"raw":null,"callId":""}'));
  vi.stubGlobal('fetch', sent);
  render(
    <Tooltip.Provider>
      <TryTool
        tool={{
          ...tool,
          inputSchema:
            '{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["b"]}',
        }}
      />
    </Tooltip.Provider>,
  );
  await userEvent.click(screen.getByRole('button', { name: 'Run tool' }));
  expect(screen.getByLabelText(/^b/)).toHaveFocus();
  expect(screen.getByLabelText(/^b/)).toHaveAccessibleDescription(/^Enter a value: b is required/);
  expect(sent).not.toHaveBeenCalled();
  await userEvent.type(screen.getByLabelText(/^b/), 'x');
  await userEvent.click(screen.getByRole('button', { name: 'Run tool' }));
  expect(sent).toHaveBeenCalledOnce();
});

it('the form writes JSON with the typed values unchanged', async () => {
  const sent = vi.fn(async () => new Response('{"success":true,"raw":null,"callId":"1"}'));
  vi.stubGlobal('fetch', sent);
  render(
    <Tooltip.Provider>
      <TryTool tool={tool} />
    </Tooltip.Provider>,
  );
  await userEvent.type(screen.getByLabelText(/^path/), 'a"b');
  await userEvent.type(screen.getByLabelText(/^n/), '9007199254740993');
  await userEvent.click(screen.getByRole('tab', { name: 'JSON' }));
  expect(screen.getByLabelText('Arguments (JSON)')).toHaveValue(
    '{\n  "path": "a\\"b",\n  "n": 9007199254740993\n}',
  );
});

it('the arguments of a tool without a valid schema are JSON', () => {
  render(
    <Tooltip.Provider>
      <TryTool tool={{ ...tool, inputSchema: '{"anyOf":[1,2]}' }} />
    </Tooltip.Provider>,
  );
  expect(screen.getByLabelText('Arguments (JSON)')).toHaveValue('{}');
});

it('a tool without parameters is called directly, or with arguments as JSON', async () => {
  render(
    <Tooltip.Provider>
      <TryTool tool={{ ...tool, inputSchema: '{"type":"object","properties":{}}' }} />
    </Tooltip.Provider>,
  );
  expect(screen.queryByLabelText('Arguments (JSON)')).toBeNull();
  expect(screen.getByRole('button', { name: 'Run tool' })).toBeEnabled();
  await userEvent.click(screen.getByRole('button', { name: 'Edit arguments as JSON' }));
  expect(screen.getByLabelText('Arguments (JSON)')).toHaveValue('{}');
});

it('tools are listed by server, or by a number in one group', () => {
  const tool = (server: string, name: string) =>
    ({ server, tool: name, name, description: '', inputSchema: name }) as Tool;
  const tools = [tool('b', 'yyyyyyyy'), tool('a', 'zzzz'), tool('a', 'x')];
  const of = (by: 'server' | 'calls' | 'tokens') =>
    grouped(
      tools,
      by,
      (id) => id.toUpperCase(),
      (one) => (one.tool === 'zzzz' ? 2 : 0),
    ).map((group) => [group.title, ...group.tools.map((one) => one.tool)]);
  expect(of('server')).toEqual([
    ['A', 'x', 'zzzz'],
    ['B', 'yyyyyyyy'],
  ]);
  expect(of('calls')).toEqual([['', 'zzzz', 'x', 'yyyyyyyy']]);
  expect(of('tokens')).toEqual([['', 'yyyyyyyy', 'zzzz', 'x']]);
  const counted = ['alpha_100', 'alpha_20', 'alpha_10', 'alpha_0'].map((id) => tool(id, `t_${id}`));
  counted.push(tool('alpha_0', 't_2'), tool('alpha_0', 't_10'));
  const groups = grouped(
    counted,
    'server',
    (id) => id,
    () => 0,
  );
  expect(groups.map((group) => group.title)).toEqual([
    'alpha_0',
    'alpha_10',
    'alpha_20',
    'alpha_100',
  ]);
  expect(groups[0]?.tools.map((one) => one.tool)).toEqual(['t_2', 't_10', 't_alpha_0']);
});
