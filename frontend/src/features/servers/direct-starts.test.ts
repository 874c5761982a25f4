import { expect, test } from 'vitest';
import { startText } from './direct-starts';

const direct = {
  server: 's',
  how: 'direct' as const,
  why: '',
  package: 'srv',
  version: '1.0.0',
  startNs: 600e6,
  npxStartNs: 1.9e9,
  npxBytes: 50e6,
};

test('how a server was started says what it took and saved, or why npx did', () => {
  expect(startText(direct)).toBe(
    'Directly, without npx, in 600 ms; npx took 1.90 s; npm would take 50 MB more',
  );
  expect(startText({ ...direct, startNs: 0, npxStartNs: 0, npxBytes: 0 })).toBe(
    'Directly, without npx',
  );
  expect(startText({ ...direct, how: 'npx', why: 'node changed' })).toBe('By npx: node changed');
});
