package serverlog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of one server's log.
const (
	MaxLine      = 8 << 10 // bytes of one line; the rest of a longer one is dropped and counted
	ringBytes    = 1 << 20 // text kept in memory
	ringLines    = 10000
	fileBytes    = 1 << 20 // size at which the file is rotated
	burst        = 2000    // lines that may come at once ...
	perSecond    = 500     // ... and how fast the allowance grows again
	followBuffer = 256     // lines that a follower may lag behind
	writeBuffer  = 4096    // lines that may wait for the disk
)

// Logs holds the logs of all servers.
type Logs struct {
	dir string
	now func() time.Time

	redact atomic.Pointer[func(string) string]

	mu     sync.Mutex // guards the map and closed
	logs   map[string]*log
	closed bool
	disk   *disk
}

// Open returns the logs kept in dir, one pair of files for each server:
// SERVER.log and the older SERVER.1.log. dir is made when the first line comes.
// With "" lines are kept in memory only. Close it at the end.
func Open(dir string) *Logs { return open(dir, time.Now) }

func open(dir string, now func() time.Time) *Logs {
	return &Logs{dir: dir, now: now, logs: make(map[string]*log), disk: newDisk(dir)}
}

// Close writes what waits for the disk and ends every Follow.
func (l *Logs) Close() error {
	l.mu.Lock()
	already := l.closed
	l.closed = true
	all := make([]*log, 0, len(l.logs))
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

// of returns the log of a server, made from its files on first use.
func (l *Logs) of(server string) *log {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.logs[server]
	if g == nil {
		g = newLog(server, l.disk, l.now)
		g.redact = &l.redact
		g.load(l.dir)
		l.logs[server] = g
	}
	return g
}

// Redact takes secrets out of every line from now on.
func (l *Logs) Redact(f func(string) string) { l.redact.Store(&f) }

// Writer returns a writer for one start of a server's stderr. It splits lines,
// keeps a line without an end until more comes (or the writer is closed), never
// blocks and never fails. Each start needs its own.
func (l *Logs) Writer(server string) io.WriteCloser {
	return &writer{log: l.of(server)}
}

// Append adds a line of ours. It is never dropped by the rate cap.
func (l *Logs) Append(server string, level Level, text string) {
	g := l.of(server)
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, one := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		g.add(Line{At: l.now().UTC(), Level: level, Text: cut(one)})
	}
}

// Tail returns the last n lines, oldest first; all that are in memory for n <= 0.
func (l *Logs) Tail(server string, n int) []Line { return l.of(server).tail(n) }

// Follow returns the last n lines and a channel of those that come after them,
// with none lost or doubled in between. A follower that lags behind misses lines
// and is told how many by a Warn line. stop ends it; the channel is then closed, as it
// is by Close.
func (l *Logs) Follow(server string, n int) (last []Line, lines <-chan Line, stop func()) {
	return l.of(server).follow(n)
}

// Remove forgets a server's lines and deletes its files.
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

// Path is the file that a server's newest lines are in, or "".
func (l *Logs) Path(server string) string {
	if l.dir == "" {
		return ""
	}
	return filepath.Join(l.dir, fileName(server, ""))
}

// fileName keeps a server's name from leaving the folder.
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

// cut bounds a line and says how much is missing.
func cut(text string) string {
	if len(text) <= MaxLine {
		return text
	}
	return fmt.Sprintf("%s ... (%d bytes more)", text[:MaxLine], len(text)-MaxLine)
}

func gone(err error) bool { return err == nil || errors.Is(err, os.ErrNotExist) }
