import { describe, expect, it } from 'vitest';
import { EventStreamParser, type ServerSentEvent } from './sse';

function parse(...pieces: string[]): ServerSentEvent[] {
  const events: ServerSentEvent[] = [];
  const parser = new EventStreamParser((event) => events.push(event));
  for (const piece of pieces) parser.push(piece);
  return events;
}

describe('EventStreamParser', () => {
  it('reads type, data and id', () => {
    expect(parse('event: call\nid: 7\ndata: {"a":1}\n\n')).toEqual([
      { type: 'call', data: '{"a":1}', id: '7' },
    ]);
  });

  it('gives the same events however the stream is cut', () => {
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

  it('holds an event back until its blank line came', () => {
    expect(parse('data: half\n')).toEqual([]);
  });

  it('gives no event without data', () => {
    expect(parse('event: nothing\n\n: comment\n\n')).toEqual([]);
  });
});
