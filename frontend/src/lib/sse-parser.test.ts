import { describe, expect, it } from 'vitest';
import { EventStreamParser, type ServerSentEvent } from './sse-parser';

function parse(...pieces: string[]): ServerSentEvent[] {
  const events: ServerSentEvent[] = [];
  const parser = new EventStreamParser((event) => events.push(event));
  for (const piece of pieces) parser.push(piece);
  return events;
}

describe('EventStreamParser', () => {
  it('parses type, data and id', () => {
    expect(parse('event: call\nid: 7\ndata: {"a":1}\n\n')).toEqual([
      { type: 'call', data: '{"a":1}', id: '7' },
    ]);
  });

  it('returns the same events for all chunk boundaries', () => {
    const stream =
      '\ufeff: hello\r\nevent: one\r\ndata: a\r\ndata:  b\r\n\r\ndata: two\n\n:beat\n\nevent: x\rdata: 3\r\r\n';
    const whole = parse(stream);
    expect(whole.map((e) => [e.type, e.data])).toEqual([
      ['one', 'a\n b'],
      ['message', 'two'],
      ['x', '3'],
    ]);
    for (let cut = 1; cut < stream.length; cut++) {
      expect(parse(stream.slice(0, cut), stream.slice(cut)), `cut at ${cut}`).toEqual(whole);
    }
    expect(parse(...stream)).toEqual(whole);
  });

  it('waits for the blank line that ends an event', () => {
    expect(parse('data: half\n')).toEqual([]);
  });

  it('ignores events without data', () => {
    expect(parse('event: nothing\n\n: comment\n\n')).toEqual([]);
  });
});
