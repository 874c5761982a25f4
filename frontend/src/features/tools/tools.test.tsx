import { render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { Tooltip } from 'radix-ui';
import { describe, expect, it, vi } from 'vitest';
import type { Tool } from '@/types/api';
import { parseAnswer, parseTools } from './api';
import { effects, parameters, skeleton } from './schema';
import { argumentsFault, TryTool } from './try-tool';

const tool = {
  name: 's__t',
  server: 's',
  tool: 't',
  inputSchema:
    '{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer"}},"required":["path"]}',
} as Tool;

describe('schemas of strangers', () => {
  it('give a skeleton of what is required', () => {
    expect(JSON.parse(skeleton(tool.inputSchema))).toEqual({ path: '' });
  });

  it('never throw', () => {
    for (const schema of [
      '',
      '{}',
      '[]',
      'null',
      '{"properties":3,"required":{}}',
      '{"properties":{"a":null}}',
      '{"required":[1]}',
    ]) {
      expect(() => [parameters(schema), skeleton(schema), effects(schema)]).not.toThrow();
    }
  });

  it('say the type in one line', () => {
    const schema =
      '{"properties":{"a":{"type":"array","items":{"type":"string"}},"b":{"enum":["x","y"]},"c":{"anyOf":[{"type":"string"},{"type":"null"}]}}}';
    expect(parameters(schema).map((p) => p.type)).toEqual([
      'string[]',
      '"x" | "y"',
      'string | null',
    ]);
  });
});

it('tools are read with their schemas as text, in a string or bare', () => {
  const [a, b] = parseTools(
    '{"items":[{"name":"a","inputSchema":"{\\"n\\":1.0}"},{"name":"b","inputSchema":{"n":1.0}}]}',
  );
  expect([a?.inputSchema, b?.inputSchema]).toEqual(['{"n":1.0}', '{"n":1.0}']);
  expect(parseTools('{"items":null}')).toEqual([]);
});

it('an answer keeps its numbers', () => {
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

it('a tool cannot be run with broken arguments', async () => {
  const fetch = vi.fn();
  vi.stubGlobal('fetch', fetch);
  render(
    <Tooltip.Provider>
      <TryTool tool={tool} />
    </Tooltip.Provider>,
  );
  const box = screen.getByLabelText('Arguments (JSON)');
  await userEvent.clear(box);
  await userEvent.type(box, '{{');
  expect(screen.getByRole('button', { name: 'Run tool' })).toBeDisabled();
  expect(fetch).not.toHaveBeenCalled();
});
