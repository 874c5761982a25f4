import { expect, it } from 'vitest';
import type { CallDetail } from '@/types/api';
import {
  answerOf,
  expectations,
  firstWish,
  obstacle,
  soundName,
  stepOf,
  stepsBegun,
  suggestedName,
} from './steps';

const call = {
  server: 'files',
  tool: 'read file',
  outcome: 'ok',
  arguments: '{"n":9007199254740993}',
  result: '{"content":[]}',
} as CallDetail;

it('keeps the arguments as the text they were', () => {
  expect(stepOf(call, firstWish(call))).toEqual({
    server: 'files',
    tool: 'read file',
    arguments: '{"n":9007199254740993}',
    expect: { outcome: 'ok' },
  });
});

it('expects all that was filled in, and nothing that was not', () => {
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

it('expects the error of a call that the protocol refused', () => {
  const refused = { ...call, outcome: 'protocol_error', result: undefined, error: '{"code":1}' };
  const wish = { ...firstWish(refused as CallDetail), sameResult: true };
  expect(stepOf(refused as CallDetail, wish).expect).toEqual({
    outcome: 'protocol_error',
    result: '{"code":1}',
  });
});

it('compares with no result that was not recorded in full', () => {
  const cut = { ...call, replyCut: { size: 9, sha256: '' } } as unknown as CallDetail;
  expect(answerOf(cut)).toBeUndefined();
  expect(answerOf({ ...call, result: '{"key":"[redacted]"}' })).toBeUndefined();
  expect(stepOf(cut, { ...firstWish(cut), sameResult: true }).expect.result).toBeUndefined();
});

it('says why a call cannot be made again', () => {
  expect(obstacle(call)).toBeUndefined();
  expect(obstacle({ ...call, arguments: '{"key":"[redacted]"}' })).toMatch(/secrets/);
});

it('takes the names that the daemon takes', () => {
  expect(['a', 'A.b_c-1', '9'].every(soundName)).toBe(true);
  expect(['', '-a', 'a b', 'ä', 'a'.repeat(101)].some(soundName)).toBe(false);
  expect(soundName(suggestedName('-files', 'read file/ä'))).toBe(true);
});

it('knows how many steps of a run have begun', () => {
  const at = (ms: number) => new Date(ms).toISOString();
  const steps = [
    { server: 'a', tool: 'x' },
    { server: 'a', tool: 'x' },
    { server: 'b', tool: 'y' },
  ];
  const calls = [
    { id: '12', at: at(50_200), server: 'a', tool: 'x' }, // newest first, as the page holds them
    { id: '11', at: at(50_100), server: 'b', tool: 'y' }, // somebody else's, before its turn
    { id: '10', at: at(50_000), server: 'a', tool: 'x' },
    { id: '9', at: at(10_000), server: 'a', tool: 'x' }, // of another run
  ];
  expect(stepsBegun(steps, calls, 50_000)).toBe(2);
  expect(stepsBegun(steps, [], 50_000)).toBe(0);
});
