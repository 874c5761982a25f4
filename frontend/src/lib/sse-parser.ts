export interface ServerSentEvent {
  type: string;
  data: string;
  id: string;
}

/**
 * Parses a text/event-stream that arrives in arbitrary pieces of decoded text. It returns each event
 * after its blank line. Comments are dropped: they only show that the connection is alive.
 */
export class EventStreamParser {
  private rest = '';
  private type = '';
  private data: string[] = [];
  private id = '';
  private atStart = true;

  constructor(private readonly emit: (event: ServerSentEvent) => void) {}

  push(text: string): void {
    if (this.atStart && text.length > 0) {
      this.atStart = false;
      if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    }
    this.rest += text;
    let from = 0;
    for (;;) {
      const end = this.lineEnd(from);
      if (end < 0) break;
      this.line(this.rest.slice(from, end));
      from =
        this.rest.charCodeAt(end) === 13 && this.rest.charCodeAt(end + 1) === 10
          ? end + 2
          : end + 1;
    }
    this.rest = this.rest.slice(from);
  }

  /** The index of the next line end, or -1 if it has not arrived. */
  private lineEnd(from: number): number {
    for (let i = from; i < this.rest.length; i++) {
      const c = this.rest.charCodeAt(i);
      if (c === 10) return i;
      // A CR at the very end may be the first half of CR LF: wait for more.
      if (c === 13) return i + 1 < this.rest.length ? i : -1;
    }
    return -1;
  }

  private line(line: string): void {
    if (line === '') {
      if (this.data.length > 0) {
        this.emit({ type: this.type || 'message', data: this.data.join('\n'), id: this.id });
      }
      this.type = '';
      this.data = [];
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? '' : line.slice(colon + 1);
    if (value.startsWith(' ')) value = value.slice(1);
    if (field === 'data') this.data.push(value);
    else if (field === 'event') this.type = value;
    else if (field === 'id') this.id = value;
  }
}
