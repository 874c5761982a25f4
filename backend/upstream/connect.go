package upstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// failedStartCloseTimeout is how long a server may take to stop after a failed start.
const failedStartCloseTimeout = 10 * time.Second

var connections atomic.Int64

// Connect starts the server, performs the handshake and reads the whole catalog. ctx limits only
// this start, not the connection; it carries the startup timeout.
//
// The legacy era is tried first, because some legacy servers hang or exit on an unknown first
// message. After a JSON-RPC error or an exit, server/discover is tried, with a new process if the
// first one has exited. If a server stays silent, Connect waits until ctx is done.
func Connect(ctx context.Context, o Options) (*Conn, error) {
	if o.Server == "" || (o.Dial == nil) == (o.Remote == nil) {
		return nil, errors.New("upstream: Server and one of Dial and Remote are needed")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if len(o.ClientInfo) == 0 {
		o.ClientInfo = []byte(`{"name":"drawbridge","version":"0"}`)
	}
	if len(o.Capabilities) == 0 {
		o.Capabilities = []byte(`{}`)
	}
	c, err := dial(ctx, o)
	if err != nil {
		return nil, err
	}
	c, err = negotiate(ctx, c)
	if err == nil {
		close(c.handshakeDone)
		c.awaitListening(ctx)
		if !o.SkipCatalog {
			err = c.list(ctx)
		}
	}
	if err != nil {
		closeFailed(ctx, c)
		return nil, c.startError(ctx, err)
	}
	close(c.ready)
	return c, nil
}

// retryAsLegacySSE retries the connection to a remote server with the HTTP+SSE transport, as the
// specification recommends after status 400, 404 or 405. first is the error of the first transport;
// it is returned if this one fails as well.
func retryAsLegacySSE(ctx context.Context, c *Conn, first error) (*Conn, error) {
	status, ok := errors.AsType[*wire.StatusError](first)
	if !ok || c.o.Remote == nil || c.o.Remote.LegacySSE || c.o.Era != "" || ctx.Err() != nil {
		return c, first
	}
	switch status.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
	default:
		return c, first
	}
	o, remote := c.o, *c.o.Remote
	remote.LegacySSE, o.Remote = true, &remote
	older, err := dial(ctx, o)
	if err != nil {
		return c, first
	}
	if older.initialize(ctx) != nil {
		closeFailed(ctx, older)
		return c, first
	}
	closeFailed(ctx, c)
	c.o.Log.Info("Server uses the legacy HTTP+SSE transport (type sse)", "server", c.o.Server)
	return older, nil
}

// negotiate performs the handshake in the configured era, or in the era that the server speaks. It
// may return a different connection than c, even with an error.
func negotiate(ctx context.Context, c *Conn) (_ *Conn, err error) {
	if c.o.Era == core.Modern {
		return c, c.discover(ctx)
	}
	if c.o.Era == "" && c.o.FirstEra == core.Modern {
		if c, err = tryModernFirst(ctx, c); err != nil || c.era == core.Modern {
			return c, err
		}
	}
	err = c.initialize(ctx)
	if err == nil || c.o.Era != "" || ctx.Err() != nil || errors.Is(err, core.ErrNeedsLogin) {
		return c, err
	}
	if c, err = fallBackToModern(ctx, c, err); err != nil {
		return retryAsLegacySSE(ctx, c, err)
	}
	return c, nil
}

// tryModernFirst tries the modern era. If that fails, it returns a new connection for the legacy
// era.
func tryModernFirst(ctx context.Context, c *Conn) (*Conn, error) {
	limited := ctx
	if c.o.FirstEraIsGuess {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, guessedEraTimeout)
		defer cancel()
	}
	err := c.discover(limited)
	if err == nil || errors.Is(err, core.ErrNeedsLogin) || c.o.OneProcess && c.t.Err() != nil {
		return c, err
	}
	closeFailed(ctx, c)
	if ctx.Err() != nil {
		return c, err
	}
	fresh, err := dial(ctx, c.o)
	if err != nil {
		return c, err
	}
	return fresh, nil
}

// guessedEraTimeout is the handshake timeout in an era that the server is not known to speak.
const guessedEraTimeout = 20 * time.Second

// fallBackToModern tries the modern era after the legacy era failed with the error first.
func fallBackToModern(ctx context.Context, c *Conn, first error) (*Conn, error) {
	if c.t.Err() != nil {
		if c.o.OneProcess {
			return c, first
		}
		closeFailed(ctx, c)
		fresh, err := dial(ctx, c.o)
		if err != nil {
			return c, first
		}
		c = fresh
	}
	if err := c.discover(ctx); err != nil {
		if ctx.Err() != nil || errors.Is(err, core.ErrNeedsLogin) {
			return c, err
		}
		// The server speaks neither era; the error of initialize is more useful.
		return c, first
	}
	return c, nil
}

// dial connects to the server and starts the goroutines of the connection.
func dial(ctx context.Context, o Options) (*Conn, error) {
	c := &Conn{
		o: o, closed: make(chan struct{}),
		id:      o.Server + "#" + strconv.FormatInt(connections.Add(1), 10),
		changed: make(chan struct{}, 1), handshakeDone: make(chan struct{}), ready: make(chan struct{}), listening: make(chan struct{}),
		refresh: make(chan struct{}, 1), relisten: make(chan struct{}, 1), acknowledged: make(chan struct{}, 1), warnings: map[core.Kind][]string{},
	}
	c.catalog.Store(&core.Catalog{})
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.cancel = cancel
	open := c.openPipe
	if o.Remote != nil {
		open = c.openRemote
	}
	if err := open(ctx, background); err != nil {
		cancel()
		return nil, err
	}
	c.running.Go(func() { c.followChanges(background) })
	c.running.Go(func() { c.listen(background) })
	return c, nil
}

func (c *Conn) openPipe(ctx, background context.Context) error {
	pipe, err := c.o.Dial(ctx)
	if err != nil {
		return err
	}
	mux := wire.NewMux(wire.MuxOptions{
		Server: c.o.Server, Account: c.o.Account, In: pipe.Stdout(), Out: pipe.Stdin(), Framing: c.o.Framing,
		MaxMessage: c.o.MaxMessage, WriteTimeout: c.o.WriteTimeout,
		OnNotification: c.handleNotification, OnRequest: c.o.OnRequest, OnJunk: c.o.OnJunk, Log: c.o.Log,
	})
	c.t = mux
	c.stop = func(ctx context.Context) error {
		mux.Close(errStopped)
		return pipe.Stop(ctx)
	}
	c.running.Go(func() { _ = mux.Run() })
	c.running.Go(func() { c.watchExit(background, pipe.Done(), mux) })
	return nil
}

func (c *Conn) openRemote(ctx, background context.Context) error {
	if err := c.o.Remote.checkTransportSecurity(c.o.Server); err != nil {
		return err
	}
	o := wire.RemoteOptions{
		Server: c.o.Server, Account: c.o.Account, URL: c.o.Remote.URL, Header: c.o.Remote.Header, HTTP: c.o.Remote.HTTP, MaxMessage: c.o.MaxMessage,
		OnNotification: c.handleNotification, OnRequest: c.o.OnRequest, OnJunk: c.o.OnJunk, OnSessionReplaced: c.handleSessionRenewed, Log: c.o.Log, OnMessage: c.o.Remote.OnMessage,
	}
	if c.o.Remote.LegacySSE {
		c.o.Dial = func(ctx context.Context) (Pipe, error) { return wire.OpenLegacySSE(ctx, o) }
		c.o.Framing = wire.NDJSON
		return c.openPipe(ctx, background)
	}
	remote, err := wire.NewRemote(o)
	if err != nil {
		return err
	}
	c.t, c.stop, c.remote = remote, remote.Close, remote
	c.running.Go(func() { _ = remote.Run() })
	return nil
}

// setEra sets the era and revision, also in a transport that depends on them.
func (c *Conn) setEra(era core.Era, version string) {
	c.era, c.version = era, version
	if t, ok := c.t.(interface{ SetEra(core.Era, string) }); ok {
		t.SetEra(era, version)
	}
}

var (
	errStopped = errors.New("the connection was closed")
	errExited  = errors.New("the server exited")
)

// Exited reports whether err means that the server exited, or closed its output or its input as an
// exiting process does. The end of the input is noticed first if a request was being written: the
// pipe is broken, or was closed already because the exit was noticed.
func Exited(err error) bool {
	return errors.Is(err, errExited) || errors.Is(err, wire.ErrClosed) || errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed)
}

// exitDrainTimeout is how long output that a server wrote before it exited may still arrive.
const exitDrainTimeout = 500 * time.Millisecond

// watchExit closes the connection when the server exits, even if a child process keeps its output
// open.
func (c *Conn) watchExit(ctx context.Context, exited <-chan struct{}, mux *wire.Mux) {
	select {
	case <-ctx.Done():
		return
	case <-mux.Done():
		return
	case <-exited:
	}
	timer := time.NewTimer(exitDrainTimeout)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-mux.Done():
	case <-timer.C:
		mux.Close(errExited)
	}
}

func closeFailed(ctx context.Context, c *Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), failedStartCloseTimeout)
	defer cancel()
	if err := c.Close(ctx); err != nil {
		c.o.Log.Warn("Cannot stop server after a failed start", "server", c.o.Server, "error", err)
	}
}

// startError converts the error of a failed start for the user.
func (c *Conn) startError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		if core.CodeOf(context.Cause(ctx)) == core.CodeTimeout {
			return &core.Error{
				Code: core.CodeTimeout, Message: fmt.Sprintf("server %q did not start in time", c.o.Server),
				Hint: "See the server's log, or raise startupTimeoutMs.", Remedy: core.EditConfig("startupTimeoutMs"), Cause: err, Retriable: true,
			}
		}
		return context.Cause(ctx)
	}
	return fmt.Errorf("cannot connect to server %q: %w", c.o.Server, err)
}
