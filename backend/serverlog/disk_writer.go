package serverlog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// diskWriter writes lines to files in one goroutine, so that a slow disk blocks no server. If more
// than writeBuffer lines are queued, further lines are missing from the files, but not from
// memory; the files contain the number of missing lines.
type diskWriter struct {
	dir   string
	jobs  chan job
	start sync.Once
	done  chan struct{}

	mu     sync.RWMutex // guards closed; read-locked while sending to jobs
	closed bool

	missedMu sync.Mutex
	missed   map[string]int
}

// job is a line to write or, if done is not nil, a request to delete a server's files.
type job struct {
	server string
	line   Line
	done   chan error
}

func newDiskWriter(dir string) *diskWriter {
	return &diskWriter{dir: dir, jobs: make(chan job, writeBuffer), done: make(chan struct{}), missed: make(map[string]int)}
}

func (d *diskWriter) write(server string, line Line) {
	if d.dir == "" {
		return
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.closed {
		return
	}
	d.start.Do(func() { go d.run() })
	select {
	case d.jobs <- job{server: server, line: line}:
	default:
		d.missedMu.Lock()
		d.missed[server]++
		d.missedMu.Unlock()
	}
}

// remove deletes a server's files after all queued lines were written. It blocks until then.
func (d *diskWriter) remove(server string) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.closed {
		return removeFiles(d.dir, server)
	}
	d.start.Do(func() { go d.run() })
	done := make(chan error, 1)
	d.jobs <- job{server: server, done: done}
	return <-done
}

func (d *diskWriter) close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.start.Do(func() { close(d.done) })
	close(d.jobs)
	<-d.done
}

type logFile struct {
	f    *os.File
	w    *bufio.Writer
	size int64
}

func (d *diskWriter) run() {
	defer close(d.done)
	open := make(map[string]*logFile)
	flush := func() {
		for server, f := range open {
			_ = f.w.Flush()
			f.f.Close()
			delete(open, server)
		}
	}
	defer flush()
	idle := time.NewTimer(time.Hour)
	defer idle.Stop()
	for {
		select {
		case j, more := <-d.jobs:
			if !more {
				return
			}
			if j.done != nil {
				flush()
				j.done <- removeFiles(d.dir, j.server)
				continue
			}
			d.writeLine(open, j)
			if len(d.jobs) == 0 { // the queue is empty: make the lines visible to readers of the file
				for _, f := range open {
					_ = f.w.Flush()
				}
			}
			idle.Reset(10 * time.Second)
		case <-idle.C:
			flush() // close the files of idle servers
		}
	}
}

// writeLine writes one line. If the disk is full or missing, lines are lost without affecting the
// server.
func (d *diskWriter) writeLine(open map[string]*logFile, j job) {
	f := open[j.server]
	if f != nil && f.size >= fileBytes {
		_ = f.w.Flush()
		f.f.Close()
		delete(open, j.server)
		f = nil
	}
	if f == nil {
		var err error
		if f, err = d.open(j.server); err != nil {
			return
		}
		open[j.server] = f
	}
	d.missedMu.Lock()
	missed := d.missed[j.server]
	delete(d.missed, j.server)
	d.missedMu.Unlock()
	if missed > 0 {
		f.writeLine(Line{At: j.line.At, Level: Warn, Text: fmt.Sprintf("lines missing from this file because the disk was too slow: %d", missed)})
	}
	f.writeLine(j.line)
}

// writeLine writes one line as a JSON object, so that no text can forge another line. Control
// characters are preserved; bytes that are not UTF-8 become U+FFFD.
func (f *logFile) writeLine(line Line) {
	text, err := json.Marshal(line)
	if err != nil {
		return
	}
	n, _ := f.w.Write(append(text, '\n'))
	f.size += int64(n)
}

// open opens a server's file. It rotates the file first if it is full.
func (d *diskWriter) open(server string) (*logFile, error) {
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(d.dir, fileName(server, ""))
	if info, err := os.Stat(path); err == nil && info.Size() >= fileBytes {
		if err := os.Rename(path, filepath.Join(d.dir, fileName(server, ".1"))); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &logFile{f: f, w: bufio.NewWriterSize(f, 32<<10), size: info.Size()}, nil
}

func removeFiles(dir, server string) error {
	for _, suffix := range []string{"", ".1"} {
		if err := os.Remove(filepath.Join(dir, fileName(server, suffix))); !isGone(err) {
			return err
		}
	}
	return nil
}

// load fills the memory of a new log from the files of earlier runs.
func (g *serverLog) load(dir string) {
	if dir == "" {
		return
	}
	for _, suffix := range []string{".1", ""} {
		text, err := os.ReadFile(filepath.Join(dir, fileName(g.server, suffix)))
		if err != nil {
			continue
		}
		for raw := range bytes.SplitSeq(text, []byte{'\n'}) {
			var line Line
			if len(raw) > 0 && json.Unmarshal(raw, &line) == nil {
				g.store(line)
			}
		}
	}
}
