import { expect, it } from 'vitest';
import type { CallDetail } from '@/types/api';
import {
  answerOf,
  defaultExpectation,
  expectations,
  isValidCheckName,
  stepOf,
  stepsBegun,
  suggestedName,
  whyNotRepeatable,
} from './step-expectations';

const call = {
  server: 'files',
  tool: 'read file',
  outcome: 'ok',
  arguments: '{"n":9007199254740993}',
  result: '{"content":[]}',
} as CallDetail;

it('keeps the text of the arguments unchanged', () => {
  expect(stepOf(call, defaultExpectation(call))).toEqual({
    server: 'files',
    tool: 'read file',
    arguments: '{"n":9007199254740993}',
    expect: { outcome: 'ok' },
  });
});

it('expects only the values that are filled in', () => {
  const wish = {
    outcome: 'ok',
    contains: 'one\n\n two \n',
    sameResult: true,
    within: '250',
  } as const;
  expect(stepOf(call, wish).expect).toEqual({
    outcome: 'ok',
    contains: ['one', ' two '],
    result: '{"content":[]}',
    maxTookNs: 250_000_000,
  });
  expect(expectations(stepOf(call, wish).expect)).toHaveLength(5);
});

it('expects the error of a call with a protocol error', () => {
  const refused = { ...call, outcome: 'protocol_error', result: undefined, error: '{"code":1}' };
  const wish = { ...defaultExpectation(refused as CallDetail), sameResult: true };
  expect(stepOf(refused as CallDetail, wish).expect).toEqual({
    outcome: 'protocol_error',
    result: '{"code":1}',
  });
});

it('does not compare with a result that is not recorded in full', () => {
  const cut = { ...call, replyCut: { size: 9, sha256: '' } } as unknown as CallDetail;
  expect(answerOf(cut)).toBeUndefined();
  expect(answerOf({ ...call, result: '{"key":"[redacted]"}' })).toBeUndefined();
  expect(
    stepOf(cut, { ...defaultExpectation(cut), sameResult: true }).expect.result,
  ).toBeUndefined();
});

it('returns why a call cannot be repeated', () => {
  expect(whyNotRepeatable(call)).toBeUndefined();
  expect(whyNotRepeatable({ ...call, arguments: '{"key":"[redacted]"}' })).toMatch(/secrets/);
});

it('accepts the same names as the daemon', () => {
  expect(['a', 'A.b_c-1', '9'].every(isValidCheckName)).toBe(true);
  expect(['', '-a', 'a b', 'ä', 'a'.repeat(101)].some(isValidCheckName)).toBe(false);
  expect(isValidCheckName(suggestedName('-files', 'read file/ä'))).toBe(true);
});

it('counts the started steps of a run', () => {
  const at = (ms: number) => new Date(ms).toISOString();
  const steps = [
    { server: 'a', tool: 'x' },
    { server: 'a', tool: 'x' },
    { server: 'b', tool: 'y' },
  ];
  const calls = [
    { id: '12', at: at(50_200), server: 'a', tool: 'x' }, // newest first, as in the cache
    { id: '11', at: at(50_100), server: 'b', tool: 'y' }, // a call by another client, before this step starts
    { id: '10', at: at(50_000), server: 'a', tool: 'x' },
    { id: '9', at: at(10_000), server: 'a', tool: 'x' }, // a call of another run
  ];
  expect(stepsBegun(steps, calls, 50_000)).toBe(2);
  expect(stepsBegun(steps, [], 50_000)).toBe(0);
});
