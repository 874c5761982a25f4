package api

import (
	"context"
	"fmt"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// maxRestarts limits how often one instance is started again during a comparison.
const maxRestarts = 5

// comparedInstance is a version of a server during a comparison. It is started again after a call
// without a response, so that one crash does not fail the calls after it. It is not safe for
// concurrent use.
type comparedInstance struct {
	a        *API
	server   *config.Server
	id, text string // the id of the configured server, and the version

	conn     upstream.Connection
	end      func()
	again    func() error // starts it again
	restarts int
	gone     error // why it was not started again
}

// start starts the server for a trial, which lasts until stop.
func (i *comparedInstance) start(ctx context.Context) error {
	i.again = func() error { return i.start(ctx) }
	started, release, ended := make(chan upstream.Connection), make(chan struct{}), make(chan upstream.Trial, 1)
	go func() {
		ended <- i.a.Try(ctx, i.server, i.id, func(conn upstream.Connection) {
			started <- conn
			<-release
		})
	}()
	select {
	case i.conn = <-started:
		i.end = func() { close(release); <-ended }
		return nil
	case t := <-ended:
		return unusableVersionError(i.text, &t)
	}
}

// Catalog returns what the version lists.
func (i *comparedInstance) Catalog() *core.Catalog { return i.conn.Catalog() }

func (i *comparedInstance) stop() {
	if i.end != nil {
		i.end()
		i.end = nil
	}
}

// Send sends a call. The error wraps history.ErrNotSent if the server could not be started again.
func (i *comparedInstance) Send(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
	if i.gone != nil {
		return core.Reply{}, i.gone
	}
	reply, err := i.conn.Send(ctx, call, sink)
	if err == nil {
		return reply, nil
	}
	i.stop()
	if i.restarts++; i.restarts > maxRestarts {
		i.gone = notSent(fmt.Sprintf("%s was restarted %d times and will not be restarted again", i.text, maxRestarts))
	} else if failed := i.again(); failed != nil {
		message, _ := core.Describe(failed)
		i.gone = notSent(message)
	}
	return reply, err
}

func notSent(why string) error {
	return &core.Error{Code: core.CodeUnavailable, Message: why, Cause: history.ErrNotSent}
}
