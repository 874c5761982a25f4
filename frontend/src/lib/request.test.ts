import { describe, expect, it, vi } from 'vitest';
import { messageOf, RequestError, request, requestText } from './request';
import { keepSessionKey, takeCode } from './session-key';

function answer(body: string, status = 200) {
  const fetch = vi.fn(async (_path: string, _init: RequestInit) => new Response(body, { status }));
  vi.stubGlobal('fetch', fetch);
  return fetch;
}

describe('request', () => {
  it('sends the session key in a header and not in the URL', async () => {
    keepSessionKey('secret');
    const fetch = answer('{"a":1}');
    expect(await request('GET', '/api/v1/status')).toEqual({ a: 1 });
    const [path, init] = fetch.mock.calls[0] ?? [];
    expect(path).toBe('/api/v1/status');
    expect(init?.headers).toMatchObject({ 'X-Drawbridge-Key': 'secret' });
  });

  it('sends a body as JSON, or a text unchanged', async () => {
    const fetch = answer('{}');
    await request('POST', '/x', { body: { a: 1 } });
    await requestText('POST', '/x', { bodyText: '{"n":9007199254740993}' });
    expect(fetch.mock.calls.map(([, init]) => init.body)).toEqual([
      '{"a":1}',
      '{"n":9007199254740993}',
    ]);
  });

  it('treats a response without a body as a success', async () => {
    vi.stubGlobal('fetch', async () => new Response(null, { status: 204 }));
    expect(await request('DELETE', '/x')).toBeUndefined();
  });

  it('converts problem documents to messages', async () => {
    answer(
      '{"status":422,"code":"validation","detail":"the request is wrong","errors":[{"field":"server","error":"missing"}]}',
      422,
    );
    const error = await request('POST', '/x').catch((e: unknown) => e);
    expect(error).toBeInstanceOf(RequestError);
    expect(error).toMatchObject({ status: 422, code: 'validation' });
    expect(messageOf(error)).toBe('The request is wrong · server: missing.');
  });

  it('says of an id that nothing can have that it is not there, but why a new name is refused', async () => {
    const problem =
      '{"status":422,"code":"validation","errors":[{"field":"path.id","error":"bad"}]}';
    answer(problem, 422);
    expect(await request('GET', '/x/abc').catch((e: unknown) => e)).toMatchObject({ status: 404 });
    answer(problem, 422);
    expect(messageOf(await request('PUT', '/x/a b').catch((e: unknown) => e))).toContain('bad');
  });

  it('puts the hint after the error', async () => {
    answer('{"detail":"no Drawbridge window is open","hint":"Type the path instead."}', 503);
    expect(messageOf(await request('GET', '/x').catch((e: unknown) => e))).toBe(
      'No Drawbridge window is open. Type the path instead.',
    );
    answer('{"detail":"It is full.","hint":"Make room."}', 503);
    expect(messageOf(await request('GET', '/x').catch((e: unknown) => e))).toBe(
      'It is full. Make room.',
    );
  });

  it('reports a response that is not JSON, and a missing response', async () => {
    answer('<html>', 502);
    expect(messageOf(await request('GET', '/x').catch((e: unknown) => e))).toContain('502');
    vi.stubGlobal('fetch', () => Promise.reject(new TypeError('Failed to fetch')));
    expect(await request('GET', '/x').catch((e: unknown) => e)).toMatchObject({ status: 0 });
  });

  it('does not convert an abort to a RequestError', async () => {
    const abort = new AbortController();
    abort.abort();
    vi.stubGlobal('fetch', () => Promise.reject(new DOMException('gone', 'AbortError')));
    const error = await request('GET', '/x', { signal: abort.signal }).catch((e: unknown) => e);
    expect(error).not.toBeInstanceOf(RequestError);
  });
});

describe('takeCode', () => {
  it('removes the code from the URL', () => {
    const history = { replaceState: vi.fn() } as unknown as History;
    const location = { hash: '#code=abc', pathname: '/', search: '' } as Location;
    expect(takeCode(location, history)).toBe('abc');
    expect(history.replaceState).toHaveBeenCalledWith(null, '', '/#/');
  });

  it('does not change other URLs', () => {
    const history = { replaceState: vi.fn() } as unknown as History;
    expect(takeCode({ hash: '#/calls?q=code' } as Location, history)).toBeNull();
    expect(history.replaceState).not.toHaveBeenCalled();
  });
});
