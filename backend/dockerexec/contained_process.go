package dockerexec

import (
	"io"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"

	"github.com/moby/moby/client"
)

// containedProcess is the part that Exec and Container have in common: the streams, the exit
// status and the state of Stop. They differ in how they detect the exit and in how they stop the
// process.
type containedProcess struct {
	cli    *client.Client
	engine Engine
	mark   string
	conn   client.HijackedResponse
	stdin  stdin
	stdout *io.PipeReader

	streamed chan struct{} // closed at the end of stdout and stderr
	done     chan struct{}
	exit     Exit // set before done closes

	ending *osutil.Closer
}

func newContained(cli *client.Client, at Engine, mark string) containedProcess {
	return containedProcess{
		cli: cli, engine: at, mark: mark,
		streamed: make(chan struct{}), done: make(chan struct{}), ending: osutil.NewCloser(),
	}
}

// Stdin returns the process's standard input. It supports SetWriteDeadline.
func (p *containedProcess) Stdin() io.WriteCloser { return p.stdin }

// Stdout returns the process's standard output. It must be read, because otherwise stderr is
// blocked as well.
func (p *containedProcess) Stdout() io.Reader { return p.stdout }

// Done is closed when the process has exited. In a container that was created for it, all its
// descendants have exited too. In another container they have been killed, if there is a shell to
// do that.
func (p *containedProcess) Done() <-chan struct{} { return p.done }

// Exit returns how the process exited. It is valid once Done is closed.
func (p *containedProcess) Exit() Exit {
	select {
	case <-p.done:
		return p.exit
	default:
		return Exit{Code: -1, Reason: "still running"}
	}
}
