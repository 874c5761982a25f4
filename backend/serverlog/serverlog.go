package serverlog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
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
