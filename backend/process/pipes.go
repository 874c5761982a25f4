package process

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// pipes are the standard streams of a child; index 0 of each is the read end, index 1 the write
// end. They are created by os.Pipe and not by exec.Cmd, because they support deadlines and
// nothing waits for their end of file.
type pipes struct {
	stdin, stdout, stderr [2]*os.File
}

func newPipes() (p *pipes, err error) {
	p = &pipes{}
	for _, ends := range []*[2]*os.File{&p.stdin, &p.stdout, &p.stderr} {
		if ends[0], ends[1], err = os.Pipe(); err != nil {
			p.close()
			return nil, err
		}
	}
	return p, nil
}

func (p *pipes) close() {
	for _, f := range []*os.File{p.stdin[0], p.stdin[1], p.stdout[0], p.stdout[1], p.stderr[0], p.stderr[1]} {
		if f != nil {
			f.Close()
		}
	}
}

func (p *pipes) closeChildEnds() {
	p.stdin[0].Close()
	p.stdout[1].Close()
	p.stderr[1].Close()
}

// childOutput is our end of a child's stdout or stderr.
type childOutput struct {
	file *os.File

	mu      sync.Mutex // guards the fields below
	expired bool
	closed  bool
}

// Read reads the output of the child. After expire, it returns the rest of the pipe and then
// io.EOF, even if another process keeps the write end open.
func (o *childOutput) Read(b []byte) (int, error) {
	n, err := o.file.Read(b)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		if n, _ = readAvailable(o.file, b); n > 0 { // any error means end of file here
			return n, nil
		}
	case errors.Is(err, os.ErrClosed):
		return n, io.EOF
	}
	o.close()
	if n > 0 {
		return n, nil
	}
	return 0, io.EOF
}

// expire makes Read return io.EOF once the pipe is empty.
func (o *childOutput) expire() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.expired && !o.closed {
		o.expired = true
		_ = o.file.SetReadDeadline(time.Unix(1, 0))
	}
}

func (o *childOutput) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.closed = true
		o.file.Close()
	}
}
