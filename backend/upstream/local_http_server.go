package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// A server with both a command and a url is a local program that serves its url. Drawbridge
// starts the program, waits until the address accepts connections, and closes both when either
// ends.

// serveRetryInterval is the interval of attempts to connect to an address that does not answer yet.
const serveRetryInterval = 100 * time.Millisecond

// dialLocalHTTP starts the program and connects to its url.
func (d *Dialer) dialLocalHTTP(ctx context.Context, c *config.Server, env environment, s *startedProcess, o Options) (Connection, error) {
	host, err := hostPort(o.Remote.URL)
	if err != nil {
		return nil, err
	}
	if onLoopback(host) && acceptsConnections(ctx, host) {
		return nil, &core.Error{Code: core.CodeUnavailable, Retriable: true,
			Message: fmt.Sprintf("another program is already listening on %s", host),
			Hint:    "Stop that program, or use another port in the server's command and url.", Remedy: core.Remedy{Kind: core.RemedyFreePort, Name: host}}
	}
	spec, err := d.processSpec(c, env, s)
	if err != nil {
		return nil, err
	}
	pipe, err := d.spawn(c, spec, s)
	if err != nil {
		return nil, err
	}
	stdoutLog := d.Logs.Writer(c.ID)
	go func() { // ends at the end of stdout, at the latest when the process is stopped
		_, _ = io.Copy(stdoutLog, pipe.Stdout())
		_ = stdoutLog.Close()
	}()
	conn, err := connectServed(ctx, host, pipe, o)
	if err != nil {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), serveStopTimeout)
		defer cancel()
		return nil, errors.Join(err, pipe.Stop(stopping))
	}
	both := &servedConn{Conn: conn, pipe: pipe, done: make(chan struct{})}
	go both.watch()
	return both, nil
}

// serveStopTimeout is the timeout of stopping a program to which no connection could be opened.
const serveStopTimeout = 10 * time.Second

// connectServed waits until the address accepts connections, and connects. A program that listens
// may not be ready yet, so errors that may be temporary are retried while the program runs.
func connectServed(ctx context.Context, host string, pipe Pipe, o Options) (*Conn, error) {
	last := fmt.Errorf("nothing is listening on %s", host)
	for {
		if acceptsConnections(ctx, host) {
			conn, err := Connect(ctx, o)
			own, ok := errors.AsType[*core.Error](err)
			if err == nil || ok && !own.Retriable && own.Code != core.CodeTimeout {
				return conn, err
			}
			last = err
		}
		timer := time.NewTimer(serveRetryInterval)
		select {
		case <-timer.C:
		case <-pipe.Done():
			timer.Stop()
			return nil, errors.New("the program exited before it started listening on its url")
		case <-ctx.Done():
			timer.Stop()
			return nil, &core.Error{Code: core.CodeTimeout, Retriable: true, Cause: context.Cause(ctx),
				Message: "the program is running, but did not start listening on its url in time: " + last.Error(),
				Hint:    "Check that command and url use the same port, or increase startupTimeoutMs.", Remedy: core.EditConfig("url")}
		}
	}
}

func hostPort(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return "", core.Errorf(core.CodeValidation, "its url is not an http or https URL")
	}
	port := u.Port()
	if port == "" {
		port = map[bool]string{true: "443", false: "80"}[u.Scheme == "https"]
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}

func onLoopback(host string) bool {
	name, _, _ := net.SplitHostPort(host)
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

// acceptsConnections reports whether host accepts TCP connections.
func acceptsConnections(ctx context.Context, host string) bool {
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", host)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// servedConn is a connection together with the program that serves it.
type servedConn struct {
	*Conn
	pipe Pipe
	done chan struct{}
}

func (s *servedConn) watch() {
	defer close(s.done)
	select {
	case <-s.pipe.Done():
	case <-s.Conn.Done():
	}
}

func (s *servedConn) Done() <-chan struct{} { return s.done }

func (s *servedConn) Err() error {
	select {
	case <-s.pipe.Done():
		return errors.New("the program that serves its url exited")
	default:
		return s.Conn.Err()
	}
}

func (s *servedConn) Close(ctx context.Context) error {
	return errors.Join(s.Conn.Close(ctx), s.pipe.Stop(ctx))
}
