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

it('tools are grouped by server, prefix or effect, and none is omitted', () => {
  const tools = [
    { ...tool, name: 'g__issue_list', server: 'g', tool: 'issue_list', annotations: '' },
    {
      ...tool,
      name: 'g__issue_get',
      server: 'g',
      tool: 'issue_get',
      annotations: '{"readOnlyHint":true}',
    },
    { ...tool, name: 'f__read', server: 'f', tool: 'read', annotations: '{"readOnlyHint":true}' },
  ];
  const shape = (by: 'server' | 'prefix' | 'effect') =>
    grouped(tools, by, (id) => id.toUpperCase()).map((g) => [g.title, g.tools.length]);
  expect(shape('server')).toEqual([
    ['G', 2],
    ['F', 1],
  ]);
  expect(shape('prefix')).toEqual([
    ['issue', 2],
    ['No prefix', 1],
  ]);
  expect(shape('effect')).toEqual([
    ['Read-only', 2],
    ['Effect unknown', 1],
  ]);
});
