import { sentence } from '@/lib/format';
import { sessionKey } from '@/lib/session-key';
import type { ErrorDocument, List } from '@/types/api';
import { ChunkLoadError } from './lazy-chunk';

/** An API error with a message that can be shown. */
export class RequestError extends Error {
  constructor(
    message: string,
    readonly status: number, // 0 without a response
    readonly code: string,
    readonly hint: string = '',
    /** Errors of single fields. */
    readonly fields: { field: string; error: string }[] = [],
    /** The method and path of the request. */
    readonly action: string = '',
  ) {
    super(message);
    this.name = 'RequestError';
  }
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface RequestOptions {
  signal?: AbortSignal;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent unchanged; must be JSON text. */
  bodyText?: string;
  headers?: Record<string, string>;
}

/**
 * Sends a request to the API. Rejects with a RequestError, or an AbortError if the signal aborted
 * it. Returns undefined for a response without a body.
 */
export async function request<T>(
  method: Method,
  path: string,
  options: RequestOptions = {},
): Promise<T> {
  const text = await requestText(method, path, options);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

/** The items of a list. */
export async function requestList<T>(path: string, signal?: AbortSignal): Promise<T[]> {
  return (await request<List<T>>('GET', path, { signal })).items ?? [];
}

/** Like request, for responses whose numbers must not be parsed. */
export async function requestText(
  method: Method,
  path: string,
  { signal, body, bodyText, headers }: RequestOptions = {},
): Promise<string> {
  const payload = bodyText ?? (body === undefined ? undefined : JSON.stringify(body));
  const response = await send(path, {
    method,
    signal,
    body: payload,
    headers:
      payload === undefined ? { ...headers } : { 'Content-Type': 'application/json', ...headers },
  });
  return response.text();
}

/** Sends with the session's credentials and converts every failure to a RequestError. Does not read the body. */
export async function send(
  path: string,
  init: RequestInit & { headers: Record<string, string> },
): Promise<Response> {
  const key = sessionKey();
  let response: Response;
  try {
    response = await fetch(path, {
      ...init,
      headers: {
        Accept: 'application/json, text/event-stream',
        ...init.headers,
        ...(key ? { 'X-Drawbridge-Key': key } : {}),
      },
      credentials: 'same-origin',
      cache: 'no-store',
    });
  } catch (cause) {
    if (init.signal?.aborted) throw cause;
    throw new RequestError('Drawbridge is not responding.', 0, 'unavailable');
  }
  if (response.ok) return response;
  throw await failure(response, `${init.method} ${path}`);
}

async function failure(response: Response, action: string): Promise<RequestError> {
  let problem: Partial<ErrorDocument> = {};
  try {
    problem = await response.json();
  } catch {
    // A proxy sent something else, or the response was cut off.
  }
  // A page was opened with an id that nothing can have.
  const [first] = problem.errors ?? [];
  if (action.startsWith('GET ') && first?.field?.startsWith('path.'))
    return new RequestError('There is nothing at this address.', 404, 'validation');
  const details = (problem.errors ?? [])
    .map(({ field, error }) => [field, error].filter(Boolean).join(': '))
    .filter(Boolean);
  const message =
    problem.detail || problem.title || `Drawbridge responded with status ${response.status}.`;
  return new RequestError(
    [message, ...details].join(' · '),
    response.status,
    problem.code ?? (response.status === 401 ? 'unauthorized' : ''),
    problem.hint ?? '',
    problem.errors ?? [],
    action,
  );
}

export function isUnauthorized(error: unknown): boolean {
  return error instanceof RequestError && error.status === 401;
}

/**
 * The daemon does not answer, or not yet, or a new session replaces the one of the request: the same request may
 * succeed later. Without a session, the page shows how to open one instead.
 */
export function isTemporary(error: unknown): boolean {
  return error instanceof RequestError && [0, 401, 429, 502, 503].includes(error.status);
}

/** Somebody else wrote in the meantime, and nothing was overwritten. */
export function isConflict(error: unknown): boolean {
  return error instanceof RequestError && (error.status === 409 || error.status === 412);
}

/** Sentences for any error: what failed, then what to do next. */
export function messageOf(error: unknown): string {
  if (error instanceof ChunkLoadError) return 'Cannot load part of this page.';
  if (!(error instanceof RequestError)) return 'Something went wrong on this page.';
  return [sentence(error.message), error.hint].filter(Boolean).join(' ');
}
