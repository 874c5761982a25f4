import { isUnauthorized, send } from '@/lib/request';
import { EventStreamParser, type ServerSentEvent } from '@/lib/sse-parser';

/** The state of the page's connection to the daemon. */
export interface Connection {
  phase: 'connecting' | 'live' | 'reconnecting' | 'locked';
  /** The time of the next attempt, in milliseconds since 1970; 0 during an attempt. */
  retryAt: number;
  /** The number of times the connection was established. */
  epoch: number;
}

export interface EventStreamOptions {
  path: string;
  /** All events that arrived within the same few milliseconds, in order. */
  onEvents: (events: ServerSentEvent[]) => void;
  /** Called when the connection is established, before all listeners. */
  onOpen?: () => void;
  /** After this time without data the connection is closed; the daemon sends a heartbeat every 15 s. */
  silenceMs?: number;
  /** How long events are collected before they are delivered. */
  gatherMs?: number;
  /** How long a hidden page keeps the connection. */
  hiddenMs?: number;
  random?: () => number;
}

const firstRetryMs = 400;
const maxRetryMs = 8000;

/**
 * One event stream for the whole page, with fetch, because EventSource cannot send the session key.
 * It reconnects automatically, and stops only at status 401.
 */
export class EventStream {
  private connection: Connection = { phase: 'connecting', retryAt: 0, epoch: 0 };
  private listeners = new Set<() => void>();
  private abort: AbortController | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private hiding: ReturnType<typeof setTimeout> | undefined;
  private failures = 0;
  private stopped = true;
  private gathered: ServerSentEvent[] = [];
  private gathering: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly options: EventStreamOptions) {}

  /** Opens the connection. A second call has no effect. */
  start(): void {
    if (!this.stopped) return;
    this.stopped = false;
    window.addEventListener('online', this.retryNow);
    document.addEventListener('visibilitychange', this.onVisible);
    this.connect();
  }

  stop(): void {
    this.stopped = true;
    window.removeEventListener('online', this.retryNow);
    document.removeEventListener('visibilitychange', this.onVisible);
    clearTimeout(this.timer);
    clearTimeout(this.hiding);
    clearTimeout(this.gathering);
    this.gathering = undefined;
    this.gathered = [];
    this.abort?.abort();
    this.abort = null;
  }

  /** Retries immediately instead of at the planned time. Does nothing while connected. */
  retryNow = (): void => {
    if (this.stopped || this.abort) return;
    this.failures = 0;
    this.connect();
  };

  /** Closes the connection and reconnects, to find out whether the session is still valid. */
  reopen = (): void => {
    if (this.stopped) return;
    this.abort?.abort();
    this.abort = null;
    this.retryNow();
  };

  getConnection = (): Connection => this.connection;

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /**
   * A hidden page closes its connection after a while: browsers open at most six to one host, and the
   * seventh tab would wait forever.
   */
  private onVisible = (): void => {
    clearTimeout(this.hiding);
    if (document.visibilityState === 'visible') {
      this.retryNow();
      return;
    }
    this.hiding = setTimeout(() => {
      clearTimeout(this.timer);
      this.abort?.abort();
      this.abort = null;
    }, this.options.hiddenMs ?? 10_000);
  };

  private set(change: Partial<Connection>): void {
    this.connection = { ...this.connection, ...change };
    for (const listener of this.listeners) listener();
  }

  private connect(): void {
    clearTimeout(this.timer);
    const abort = new AbortController();
    this.abort = abort;
    this.set({
      retryAt: 0,
      ...(this.connection.phase === 'locked' ? { phase: 'connecting' } : {}),
    });
    this.read(abort).then(
      () => this.lost(abort, undefined),
      (error: unknown) => this.lost(abort, error),
    );
  }

  private async read(abort: AbortController): Promise<void> {
    const response = await send(this.options.path, {
      method: 'GET',
      headers: { Accept: 'text/event-stream' },
      signal: abort.signal,
    });
    const reader = response.body?.getReader();
    if (!reader) return;
    const parser = new EventStreamParser((event) => this.gather(event));
    const decoder = new TextDecoder();
    let fresh = true;
    for (;;) {
      const { done, value } = await this.readOrSilence(reader, abort);
      if (done || this.abort !== abort) return;
      if (fresh) {
        fresh = false;
        this.failures = 0;
        this.options.onOpen?.();
        this.set({ phase: 'live', retryAt: 0, epoch: this.connection.epoch + 1 });
      }
      parser.push(decoder.decode(value, { stream: true }));
    }
  }

  /** Fails after silence, because not every web view ends a pending read on abort. */
  private readOrSilence(
    reader: ReadableStreamDefaultReader<Uint8Array>,
    abort: AbortController,
  ): Promise<ReadableStreamReadResult<Uint8Array>> {
    return new Promise((resolve, reject) => {
      const watch = setTimeout(() => {
        abort.abort();
        reject(new Error('the event stream fell silent'));
      }, this.options.silenceMs ?? 40_000);
      reader
        .read()
        .then(resolve, reject)
        .finally(() => clearTimeout(watch));
    });
  }

  private gather(event: ServerSentEvent): void {
    this.gathered.push(event);
    if (this.gathering !== undefined) return;
    this.gathering = setTimeout(() => {
      this.gathering = undefined;
      const events = this.gathered;
      this.gathered = [];
      this.options.onEvents(events);
    }, this.options.gatherMs ?? 80);
  }

  private lost(abort: AbortController, error: unknown): void {
    if (this.stopped || this.abort !== abort) return;
    this.abort = null;
    if (isUnauthorized(error)) {
      this.set({ phase: 'locked', retryAt: 0 });
      return;
    }
    const random = this.options.random ?? Math.random;
    const wait = Math.min(maxRetryMs, firstRetryMs * 2 ** this.failures) * (0.75 + random() * 0.5);
    this.failures++;
    this.set({ phase: 'reconnecting', retryAt: Date.now() + wait });
    this.timer = setTimeout(() => this.connect(), wait);
  }
}
