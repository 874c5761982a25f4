import { QueryClient } from '@tanstack/react-query';
import { expect, test } from 'vitest';
import type { ServerStatus } from '@/types/api';
import { applyCommandResponse, applyRemoved, applyServer, mergeNewerEvents } from './events';

const server = (state: string, second: number) =>
  ({ id: 'files', state, since: `2026-01-01T00:00:0${second}Z` }) as ServerStatus;

const stateAfter = (...steps: ((client: QueryClient) => void)[]) => {
  const client = new QueryClient();
  client.setQueryData<ServerStatus[]>(['servers'], [server('stopped', 1)]);
  for (const step of steps) step(client);
  return client.getQueryData<ServerStatus[]>(['servers'])?.[0]?.state;
};

test('the response to a command is applied', () => {
  expect(stateAfter((c) => applyCommandResponse(c, server('starting', 2)))).toBe('starting');
});

test('a late response to a command does not overwrite a newer event', () => {
  expect(
    stateAfter(
      (c) => applyServer(c, server('running', 3)),
      (c) => applyCommandResponse(c, server('starting', 2)),
    ),
  ).toBe('running');
});

test('an event is applied even after the clock was set back', () => {
  expect(
    stateAfter(
      (c) => applyServer(c, server('running', 3)),
      (c) => applyServer(c, server('stopped', 2)),
    ),
  ).toBe('stopped');
});

test('the response to a list request does not overwrite newer events', () => {
  const client = new QueryClient();
  const known = () => client.getQueryData<ServerStatus[]>(['servers']);
  const named = (id: string, state: string) => ({ ...server(state, 1), id });
  client.setQueryData(['servers'], [named('files', 'stopped'), named('notes', 'running')]);
  const before = known();
  const answer = [
    named('files', 'starting'),
    named('notes', 'crashed'),
    named('new', 'starting'),
    named('later', 'running'),
  ];
  const merged = () => mergeNewerEvents(answer, before, known());
  expect(merged()).toEqual(answer);
  applyServer(client, named('files', 'running'));
  applyServer(client, named('new', 'running'));
  applyServer(client, named('newest', 'starting'));
  expect(merged().map(({ id, state }) => `${id} ${state}`)).toEqual([
    'files running',
    'notes crashed',
    'new running',
    'later running',
    'newest starting',
  ]);
  applyRemoved(client, 'notes');
  expect(merged().map(({ id }) => id)).not.toContain('notes');
});
