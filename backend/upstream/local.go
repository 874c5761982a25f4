package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
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

// launchers are programs that download a server and then run it as a child process.
var launchers = map[string]bool{"npx": true, "uvx": true, "bunx": true, "pnpx": true, "pipx": true}

// launcherName returns the name of the launcher or container command that command is, or "".
func launcherName(command string) string {
	name := strings.ToLower(filepath.Base(command))
	if runtime.GOOS == "windows" {
		for _, suffix := range []string{".exe", ".cmd", ".bat"} {
			name = strings.TrimSuffix(name, suffix)
		}
	}
	if launchers[name] || name == "docker" || name == "podman" {
		return name
	}
	return ""
}

// DownloadingLauncher returns the launcher, for example "npx", that is downloading a server during
// its start, or "" if no download is detected. A package launcher downloads while it has no child
// process; docker and podman report downloads on stderr.
func (d *Dialer) DownloadingLauncher(server string) string {
	for _, p := range d.running.get(server) {
		switch p.launcher {
		case "":
		case "docker", "podman":
			if isPullingImage(d.Logs.Tail(server, 50)) {
				return p.launcher
			}
		default:
			if u, err := p.Usage(); err == nil && len(u.Tree) == 1 {
				return p.launcher
			}
		}
	}
	return ""
}

// isPullingImage reports whether the last line about an image says that it is missing.
func isPullingImage(lines []serverlog.Line) bool {
	for i := len(lines) - 1; i >= 0; i-- {
		text := lines[i].Text
		switch {
		case lines[i].Level != serverlog.Stderr:
			if lines[i].Level == serverlog.Info && strings.HasPrefix(text, "starting") {
				return false // the lines before belong to an earlier start
			}
		case strings.HasPrefix(text, "Unable to find image"), strings.HasPrefix(text, "Trying to pull"):
			return true
		case strings.HasPrefix(text, "Status: "), strings.HasPrefix(text, "Writing manifest"):
			return false
		}
	}
	return false
}

// ErrDependencyMissing is wrapped by errors of Connect that are caused by a missing external
// dependency, such as Docker or a container. The server waits for it.
var ErrDependencyMissing = errors.New("waiting")

// MissingDependency is the error of Connect if something external, such as a Docker Engine or a
// container, is missing. Wait blocks until another start may succeed; it returns an error if it
// cannot detect that.
type MissingDependency struct {
	Cause error // wraps ErrDependencyMissing
	Wait  func(ctx context.Context) error
}

func (m *MissingDependency) Error() string { return m.Cause.Error() }
func (m *MissingDependency) Unwrap() error { return m.Cause }

var (
	corruptCacheProgram = osutil.LazyRegexp(`^sh: (?:line )?(?:\d+: )?\S+: (?:command )?not found$`) // the package is present but its program is missing
	npxCacheFolder      = osutil.LazyRegexp(`(?:[A-Za-z]:)?[/\\][^'"\n]*?[/\\]_npx[/\\][0-9a-f]{8,}`)
)

// corruptNpxCache returns the folder of the npx cache that contains a corrupt copy of the
// package, or "". npx does not verify its cache: after an interrupted download every start fails.
func corruptNpxCache(lines []string) string {
	for _, line := range lines {
		for _, sign := range []string{"ENOTEMPTY", "Cannot find module", "Cannot find package", "ERR_MODULE_NOT_FOUND", "EJSONPARSE", "ENOENT", "MODULE_NOT_FOUND", "Unexpected end of JSON"} {
			if !strings.Contains(line, sign) {
				continue
			}
			for _, l := range lines {
				if folder := npxCacheFolder().FindString(l); folder != "" {
					return folder
				}
			}
		}
		if corruptCacheProgram().MatchString(line) {
			return "the folder _npx inside the npm cache (`npm config get cache` prints its path)"
		}
	}
	return ""
}

// CacheHint returns the hint for a corrupt copy in the npx cache, or "". lines are the last lines
// of stderr.
func (p Process) CacheHint(lines []string) (string, core.Remedy) {
	if launcherName(p.Path) != "npx" {
		return "", core.Remedy{}
	}
	folder := corruptNpxCache(lines)
	if folder == "" {
		return "", core.Remedy{}
	}
	return fmt.Sprintf("The package in the npx cache may be corrupt, for example after an interrupted download: delete %s, then start the server again.", folder), core.Remedy{Kind: core.RemedyClearNpxCache, Name: folder}
}
