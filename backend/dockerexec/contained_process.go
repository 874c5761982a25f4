package dockerexec

import (
	"io"

	"github.com/drawbridge-mcp/drawbridge/backend/closeonce"

	"github.com/moby/moby/client"
)

// contained is a process in a container as its owner sees it, and how it is stopped. An
// Exec and a Box differ in how they learn of the end and in what they do about it.
type contained struct {
	cli    *client.Client
	at     Engine
	mark   string
	conn   client.HijackedResponse
	stdin  stdin
	stdout *io.PipeReader

	streamed chan struct{} // closed at the end of the output
	done     chan struct{}
	exit     Exit // set before done closes

	ending *closeonce.Closer
}

func newContained(cli *client.Client, at Engine, mark string) contained {
	return contained{
		cli: cli, at: at, mark: mark,
		streamed: make(chan struct{}), done: make(chan struct{}), ending: closeonce.New(),
	}
}

// Stdin is the process's standard input. It has SetWriteDeadline.
func (p *contained) Stdin() io.WriteCloser { return p.stdin }

// Stdout is the process's standard output, and ends with it. It has to be read:
// while it is not, stderr does not flow either.
func (p *contained) Stdout() io.Reader { return p.stdout }

// Done is closed when the process has ended: with it everything in a container of its
// own, and in another one what it started there, as far as there is a shell to end it.
func (p *contained) Done() <-chan struct{} { return p.done }

// Exit is how the process ended. It is valid once Done is closed.
func (p *contained) Exit() Exit {
	select {
	case <-p.done:
		return p.exit
	default:
		return Exit{Code: -1, Reason: "still running"}
	}
}
