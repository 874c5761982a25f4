package mcptest

import (
	"context"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
	"sync"
)

// Env is the environment variable that makes a test binary run as a server.
const Env = "DRAWBRIDGE_MCPTEST_MODE"

// Modes returns the description of every mode, by name.
func Modes() map[string]string {
	all := map[string]string{}
	for name, m := range modes {
		all[name] = m.about
	}
	return all
}

// Main runs the server of a mode on standard input and output and exits.
func Main(mode string) {
	os.Exit(run(mode, os.Stdin, os.Stdout, os.Stderr, os.Exit, nil))
}

// MainIfAsked calls Main if the environment variable Env names a mode. Call it first in TestMain.
func MainIfAsked() {
	if mode := os.Getenv(Env); mode != "" {
		Main(mode)
	}
}

func run(mode string, in io.Reader, out, stderr io.Writer, exit func(int), stopped <-chan struct{}) int {
	m, ok := modes[mode]
	if !ok {
		names := make([]string, 0, len(modes))
		for name := range modes {
			names = append(names, name)
		}
		sort.Strings(names)
		fmt.Fprintf(stderr, "unknown mode %q; choose one of %s\n", mode, strings.Join(names, ", "))
		return 2
	}
	s := newServer(in, out, stderr)
	s.exit, s.stopped = exit, stopped
	m.set(s)
	return s.serve()
}

// Pipe is a server in the process of the test. It implements upstream.Pipe.
type Pipe struct {
	stdin  *os.File
	stdout *os.File
	done   chan struct{}
	stop   chan struct{}
	once   sync.Once
	ends   [2]*os.File
}

// Start runs the server of a mode over two operating system pipes. A mode that exits the process
// closes its pipes instead. The caller must call Stop.
func Start(mode string) (*Pipe, error) {
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		inR.Close()
		inW.Close()
		return nil, err
	}
	p := &Pipe{stdin: inW, stdout: outR, done: make(chan struct{}), stop: make(chan struct{}), ends: [2]*os.File{inR, outW}}
	go func() {
		defer close(p.done)
		defer p.closeEnds()
		run(mode, inR, outW, io.Discard, func(int) { p.closeEnds() }, p.stop)
	}()
	return p, nil
}

func (p *Pipe) closeEnds() {
	p.ends[0].Close()
	p.ends[1].Close()
}

// Stdin returns the input of the server, which has SetWriteDeadline.
func (p *Pipe) Stdin() io.WriteCloser { return p.stdin }

// Stdout returns the output of the server.
func (p *Pipe) Stdout() io.Reader { return p.stdout }

// Done returns a channel that is closed when the server has ended.
func (p *Pipe) Done() <-chan struct{} { return p.done }

// Stop stops the server and waits until it has ended or ctx is cancelled.
func (p *Pipe) Stop(ctx context.Context) error {
	p.once.Do(func() {
		close(p.stop)
		p.stdin.Close()
		p.closeEnds()
		p.stdout.Close()
	})
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
