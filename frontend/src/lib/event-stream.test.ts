import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { EventStream } from './event-stream';
import type { ServerSentEvent } from './sse-parser';

let streams: ReadableStreamDefaultController<Uint8Array>[] = [];
let fetches = 0;
let next: () => Promise<Response>;
let stream: EventStream;
let seen: ServerSentEvent[] = [];

const opened = async () =>
  new Response(new ReadableStream({ start: (controller) => void streams.push(controller) }));
const say = (text: string) => streams.at(-1)?.enqueue(new TextEncoder().encode(text));
const settle = () => vi.advanceTimersByTimeAsync(5);

beforeEach(() => {
  vi.useFakeTimers();
  streams = [];
  seen = [];
  fetches = 0;
  next = opened;
  vi.stubGlobal('fetch', () => {
    fetches++;
    return next();
  });
  stream = new EventStream({
    path: '/events',
    onEvents: (events) => seen.push(...events),
    random: () => 0.5,
    gatherMs: 1,
  });
});

afterEach(() => {
  stream.stop();
  vi.useRealTimers();
});

it('is live after the first byte, and delivers events', async () => {
  stream.start();
  await settle();
  expect(stream.getConnection().phase).toBe('connecting');
  say('event: snapshot\ndata: 1\n\n');
  await settle();
  expect(stream.getConnection()).toMatchObject({ phase: 'live', epoch: 1 });
  expect(seen.map((e) => e.type)).toEqual(['snapshot']);
});

it('reconnects with backoff, and counts reconnections', async () => {
  next = () => Promise.reject(new TypeError('refused'));
  stream.start();
  await settle();
  expect(stream.getConnection().phase).toBe('reconnecting');
  await vi.advanceTimersByTimeAsync(20_000);
  expect(fetches).toBeGreaterThan(4);
  expect(fetches).toBeLessThan(9);
  next = opened;
  await vi.advanceTimersByTimeAsync(8000);
  say(': hello\n\n');
  await settle();
  expect(stream.getConnection()).toMatchObject({ phase: 'live', epoch: 1 });
});

it('reconnects if the connection receives no data', async () => {
  stream.start();
  await settle();
  say(': hello\n\n');
  await settle();
  await vi.advanceTimersByTimeAsync(39_000);
  expect(fetches).toBe(1);
  await vi.advanceTimersByTimeAsync(3000);
  expect(fetches).toBe(2);
});

it('does not reconnect without a session until retryNow is called', async () => {
  next = async () => new Response('{"status":401}', { status: 401 });
  stream.start();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(stream.getConnection().phase).toBe('locked');
  expect(fetches).toBe(1);
  next = opened;
  stream.retryNow();
  await settle();
  say(': hello\n\n');
  await settle();
  expect(stream.getConnection().phase).toBe('live');
});

it('closes the connection while the page is hidden', async () => {
  stream.start();
  await settle();
  say(': hello\n\n');
  await settle();
  const visibility = vi.spyOn(document, 'visibilityState', 'get').mockReturnValue('hidden');
  document.dispatchEvent(new Event('visibilitychange'));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(fetches).toBe(1);
  visibility.mockReturnValue('visible');
  document.dispatchEvent(new Event('visibilitychange'));
  await settle();
  expect(fetches).toBe(2);
});
