package serverlog

import (
	"bytes"
	"fmt"
	"sync"
	"time"
)

// serverLog is the log of one server.
type serverLog struct {
	server string
	disk   *diskWriter
	now    func() time.Time
	redact func(string) string // may be nil

	mu     sync.Mutex // guards the fields below
	lines  []Line     // lines[head:] are the stored lines, oldest first
	head   int
	size   int // total bytes of text in lines
	closed bool

	allowance float64 // token bucket: number of lines that may be written now
	refilled  time.Time
	dropped   int // lines dropped by the rate limit since the last accepted line
}

func newLog(server string, d *diskWriter, redact func(string) string, now func() time.Time) *serverLog {
	return &serverLog{server: server, disk: d, now: now, redact: redact, allowance: burst, refilled: now()}
}

// add redacts a line and stores it. It must be called with mu held.
func (g *serverLog) add(line Line) {
	if g.closed {
		return
	}
	if g.redact != nil {
		line.Text = g.redact(line.Text)
	}
	g.store(line)
	g.disk.write(g.server, line)
}

// store stores a line in memory and drops the oldest lines beyond the limits.
func (g *serverLog) store(line Line) {
	g.lines = append(g.lines, line)
	g.size += len(line.Text)
	for g.size > ringBytes || len(g.lines)-g.head > ringLines {
		g.size -= len(g.lines[g.head].Text)
		g.lines[g.head] = Line{}
		g.head++
	}
	if g.head > 64 && g.head > len(g.lines)/2 {
		n := copy(g.lines, g.lines[g.head:])
		clear(g.lines[n:])
		g.lines = g.lines[:n]
		g.head = 0
	}
}

// admit reports whether the rate limit allows another line of stderr. Before the first line after
// dropped ones, it adds a line with their number. It must be called with mu held.
func (g *serverLog) admit(now time.Time) bool {
	g.allowance = min(burst, g.allowance+now.Sub(g.refilled).Seconds()*perSecond)
	g.refilled = now
	if g.allowance < 1 {
		g.dropped++
		return false
	}
	g.allowance--
	g.reportDropped(now)
	return true
}

func (g *serverLog) reportDropped(now time.Time) {
	if g.dropped > 0 {
		g.add(Line{At: now.UTC(), Level: Warn, Text: fmt.Sprintf("lines dropped because the server writes too fast: %d", g.dropped)})
		g.dropped = 0
	}
}

func (g *serverLog) tail(n int) []Line {
	g.mu.Lock()
	defer g.mu.Unlock()
	lines := g.lines[g.head:]
	if n > 0 && n < len(lines) {
		lines = lines[len(lines)-n:]
	}
	return append(make([]Line, 0, len(lines)), lines...)
}

func (g *serverLog) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	g.reportDropped(g.now())
	g.closed = true
}

// lineWriter splits the stderr output of one process into lines.
type lineWriter struct {
	log *serverLog

	mu           sync.Mutex // guards the fields below
	partial      []byte     // at most MaxLine bytes
	droppedBytes int        // bytes of the current line beyond MaxLine
}

// Write implements io.Writer. It never fails, so that copying a server's stderr never stops.
func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.log
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	for rest := p; len(rest) > 0; {
		part, after, whole := bytes.Cut(rest, []byte{'\n'})
		room := max(0, MaxLine-len(w.partial))
		w.partial = append(w.partial, part[:min(room, len(part))]...)
		w.droppedBytes += max(0, len(part)-room)
		rest = after
		if whole {
			w.flush(now)
		}
	}
	return len(p), nil
}

// flush adds the current line to the log. It must be called with both mutexes held.
func (w *lineWriter) flush(now time.Time) {
	text := bytes.TrimSuffix(w.partial, []byte{'\r'})
	if w.log.admit(now) {
		line := Line{At: now.UTC(), Level: Stderr, Text: string(text)}
		if w.droppedBytes > 0 {
			line.Text = fmt.Sprintf("%s ... (%d more bytes)", text, w.droppedBytes)
		}
		w.log.add(line)
	}
	w.partial, w.droppedBytes = w.partial[:0], 0
}

// Close adds an unfinished last line, and a line with the number of lines dropped by the rate
// limit.
func (w *lineWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.log
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(w.partial) > 0 {
		w.flush(g.now())
	}
	g.reportDropped(g.now())
	return nil
}
