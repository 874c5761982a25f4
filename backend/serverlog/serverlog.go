package serverlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Limits of one server's log.
const (
	MaxLine     = 8 << 10 // maximum bytes of one line; the rest is dropped and counted
	ringBytes   = 1 << 20 // maximum bytes of text in memory
	ringLines   = 10000
	fileBytes   = 1 << 20 // size at which a file is rotated
	burst       = 2000    // rate limit: maximum burst of lines ...
	perSecond   = 500     // ... and sustained lines per second
	writeBuffer = 4096    // lines queued for the disk
)

// Logs contains the logs of all servers. Its methods are safe for concurrent use.
type Logs struct {
	dir    string
	now    func() time.Time
	redact func(string) string

	mu     sync.Mutex // guards logs and closed
	logs   map[string]*serverLog
	closed bool
	disk   *diskWriter
}

// Open returns the logs stored in dir, which has two files for each server: SERVER.log and the
// older SERVER.1.log. dir is created when the first line is written. If dir is "", lines are kept
// in memory only. redact, if not nil, removes secrets from all added lines. The caller must call Close.
func Open(dir string, redact func(string) string) *Logs { return openWithClock(dir, redact, time.Now) }

func openWithClock(dir string, redact func(string) string, now func() time.Time) *Logs {
	return &Logs{dir: dir, now: now, redact: redact, logs: make(map[string]*serverLog), disk: newDiskWriter(dir)}
}

// Close writes the queued lines to disk. Lines that are added later do not reach the disk.
func (l *Logs) Close() error {
	l.mu.Lock()
	already := l.closed
	l.closed = true
	all := make([]*serverLog, 0, len(l.logs))
	for _, g := range l.logs {
		all = append(all, g)
	}
	l.mu.Unlock()
	for _, g := range all {
		g.close()
	}
	if !already {
		l.disk.close()
	}
	return nil
}

// get returns the log of a server. It loads the server's files on first use.
func (l *Logs) get(server string) *serverLog {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.logs[server]
	if g == nil {
		g = newLog(server, l.disk, l.redact, l.now)
		g.load(l.dir)
		l.logs[server] = g
	}
	return g
}

// Writer returns a writer for the stderr output of one process of a server. It splits the output
// into lines and buffers an incomplete line until its end, or until Close. It never blocks and
// never fails.
func (l *Logs) Writer(server string) io.WriteCloser {
	return &lineWriter{log: l.get(server)}
}

// Append adds one or more lines about a server, which are not subject to the rate limit.
func (l *Logs) Append(server string, level Level, text string) {
	g := l.get(server)
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, one := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		g.add(Line{At: l.now().UTC(), Level: level, Text: truncate(one)})
	}
}

// Tail returns the last n lines, oldest first; all lines in memory if n <= 0.
func (l *Logs) Tail(server string, n int) []Line { return l.get(server).tail(n) }

// Remove deletes a server's lines and files.
func (l *Logs) Remove(server string) error {
	l.mu.Lock()
	g := l.logs[server]
	delete(l.logs, server)
	l.mu.Unlock()
	if g != nil {
		g.close()
	}
	if l.dir == "" {
		return nil
	}
	return l.disk.remove(server)
}

// Path returns the path of the file with a server's newest lines, or "" if lines are kept in
// memory only.
func (l *Logs) Path(server string) string {
	if l.dir == "" {
		return ""
	}
	return filepath.Join(l.dir, fileName(server, ""))
}

// fileName returns the name of a server's file. It replaces characters that could leave the
// folder.
func fileName(server, suffix string) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '_'
	}, server)
	return safe + suffix + ".log"
}

// truncate truncates a line to MaxLine bytes and appends the number of missing bytes.
func truncate(text string) string {
	if len(text) <= MaxLine {
		return text
	}
	return fmt.Sprintf("%s ... (%d more bytes)", text[:MaxLine], len(text)-MaxLine)
}

func isGone(err error) bool { return err == nil || errors.Is(err, os.ErrNotExist) }

// severities are the levels of lifecycle lines in ascending order of severity.
var severities = []Level{"debug", Info, Warn, Error}

// FilterChoices lists the values that Filter accepts, for help texts.
const FilterChoices = "debug, info, warn, error, stderr or lifecycle"

// Filter returns a filter for a choice. A level selects lines of at least this severity, where
// stderr output counts as info. "stderr" selects only stderr output, "lifecycle" only lifecycle
// events, and "" all lines. ok is false for any other choice.
func Filter(choice string) (wants func(Line) bool, ok bool) {
	switch choice {
	case "":
		choice = "debug"
	case string(Stderr):
		return func(l Line) bool { return l.Level == Stderr }, true
	case "lifecycle":
		return func(l Line) bool { return l.Level != Stderr }, true
	}
	least := slices.Index(severities, Level(choice))
	return func(l Line) bool { return severity(l.Level) >= least }, least >= 0
}

func severity(l Level) int {
	if i := slices.Index(severities, l); i >= 0 {
		return i
	}
	return 1
}

// Level is the kind of a line: the origin Stderr, or the severity of a lifecycle event.
type Level string

const (
	Stderr Level = "stderr" // written by the server to stderr
	Info   Level = "info"   // lifecycle: started, listed, stopped
	Warn   Level = "warn"   // lines were omitted or dropped
	Error  Level = "error"  // a failure and its cause
)

// Line is one line of a server's log. Text does not include the line break, and may contain
// control characters.
type Line struct {
	At    time.Time `json:"at"` // UTC
	Level Level     `json:"level"`
	Text  string    `json:"text"`
}

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

// Clean makes a line safe to display in a terminal or on a web page. It removes terminal escape
// sequences and replaces all other control characters, and all characters that reorder or hide
// text, by \xNN or \u{NNNN}. Tabs are preserved.
func Clean(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		if n := escapeLen(text[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteRune(utf8.RuneError)
		case r == '\t':
			b.WriteByte('\t')
		case r < 0x20, r >= 0x7f && r < 0xa0:
			fmt.Fprintf(&b, `\x%02x`, r)
		case isHidden(r):
			fmt.Fprintf(&b, `\u{%04x}`, r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// CleanJSON makes text safe to display. It replaces the same characters as Clean by JSON escapes, so
// that JSON text parses to the same value, and keeps line feeds.
func CleanJSON(text []byte) []byte {
	unsafe := func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || isHidden(r)
	}
	if !bytes.ContainsFunc(text, unsafe) {
		return text
	}
	var b []byte
	for _, r := range string(text) {
		switch {
		case !unsafe(r):
			b = utf8.AppendRune(b, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, high, low)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return b
}

// isHidden reports whether r reorders text, joins characters invisibly or has no width:
// bidirectional controls, zero-width characters, line and paragraph separators, and tags.
func isHidden(r rune) bool {
	switch {
	case r == 0x200d: // zero-width joiner, used in emoji
		return false
	case r == 0x2028, r == 0x2029, r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0:
		return true
	case r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return unicode.Is(unicode.Cf, r)
}

// escapeLen returns the length of the terminal escape sequence at the start of s, or 0 if there is
// none: CSI, string sequences such as OSC, and two-character escapes. An unterminated sequence
// extends to the end of the line.
func escapeLen(s string) int {
	start := 0
	var kind byte
	switch {
	case len(s) >= 2 && s[0] == 0x1b:
		kind, start = s[1], 2
	case len(s) >= 2 && s[0] == 0xc2 && s[1] >= 0x80 && s[1] <= 0x9f: // C1, as UTF-8
		kind, start = s[1]-0x40, 2
	case s[0] == 0x1b:
		return 1
	default:
		return 0
	}
	switch kind {
	case '[':
		for i := start; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
			if s[i] < 0x20 {
				return i
			}
		}
		return len(s)
	case ']', 'P', 'X', '^', '_':
		for i := start; i < len(s); i++ {
			switch {
			case s[i] == 0x07:
				return i + 1
			case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\':
				return i + 2
			case s[i] == 0xc2 && i+1 < len(s) && s[i+1] == 0x9c:
				return i + 2
			}
		}
		return len(s)
	}
	if s[0] == 0xc2 {
		return 0 // other C1 controls are displayed by Clean
	}
	if kind >= 0x20 && kind <= 0x2f { // ESC, intermediate bytes, one final byte
		for i := start; i < len(s); i++ {
			if s[i] < 0x20 || s[i] > 0x2f {
				return i + 1
			}
		}
		return len(s)
	}
	if kind >= 0x30 && kind <= 0x7e {
		return 2
	}
	return 1
}
