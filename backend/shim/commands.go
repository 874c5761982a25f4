package shim

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/spf13/cobra"
)

// startEvery is the delay before a shim starts another daemon in place of one that did not start.
const startEvery = 15 * time.Second

// stdioFlags are the flags of the shim.
type stdioFlags struct {
	client, server, profile, socket string
	debug                           bool
}

// Commands adds the command that connects a stdio client.
func Commands(e *terminal.Env, root *cobra.Command) { root.AddCommand(stdio(e)) }

// stdio is an ordinary command: building the tree of commands takes 0.2 ms, which does not justify
// a second entry point.
func stdio(e *terminal.Env) *cobra.Command {
	var flags stdioFlags
	cmd := &cobra.Command{
		Use: "stdio", Short: "Connect a stdio client: MCP over stdin and stdout", Args: terminal.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runStdio(cmd.Context(), e, flags) },
	}
	f := cmd.Flags()
	f.StringVar(&flags.client, "client", "stdio", "the `NAME` under which the calls are recorded")
	f.StringVar(&flags.server, "server", "", "offer only this `SERVER`, with the original tool names")
	f.StringVar(&flags.profile, "profile", "", "offer only this `PROFILE`")
	f.StringVar(&flags.socket, "socket", "", "connect to this `SOCKET` of a guest, with the access token in DRAWBRIDGE_TOKEN or beside it; also DRAWBRIDGE_SOCKET")
	f.BoolVar(&flags.debug, "debug", false, "print debug messages on stderr")
	return cmd
}

func runStdio(ctx context.Context, e *terminal.Env, flags stdioFlags) error {
	path := "/mcp"
	switch {
	case flags.server != "" && flags.profile != "":
		return terminal.UsageError(errors.New("--server and --profile cannot be combined"))
	case flags.server != "":
		path = "/s/" + url.PathEscape(flags.server) + "/mcp"
	case flags.profile != "":
		path = "/p/" + url.PathEscape(flags.profile) + "/mcp"
	}
	if !loopback.ValidTokenName(flags.client) {
		return terminal.UsageError(fmt.Errorf("%q is not a valid client name", flags.client))
	}
	log := slog.New(slog.DiscardHandler)
	if flags.debug || e.DebugEnabled() {
		log = slog.New(slog.NewTextHandler(e.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	o := Options{In: e.Stdin, Out: e.Stdout, Log: log}
	if socket := cmp.Or(flags.socket, e.Getenv("DRAWBRIDGE_SOCKET")); socket != "" {
		guest := &guestSocket{path: socket, endpoint: path, getenv: e.Getenv}
		// Processes in different containers can have the same number.
		o.Find, o.Dial, o.ID = guest.find, guest.dial, "guest-"+rand.Text()
	} else {
		folders, err := e.Folders()
		if err != nil {
			return err
		}
		finder := &daemonFinder{folders: folders, path: path, client: flags.client, own: folders.CustomData, log: log}
		o.Find, o.Dial, o.ID = finder.find, loopback.Dialer(folders.Data), flags.client+"-"+strconv.Itoa(os.Getpid())
		if o.Dir, err = os.Getwd(); err != nil {
			log.Debug("The working directory is unknown", "error", err)
			o.Dir = ""
		}
	}
	s, err := New(o)
	if err != nil {
		return err
	}
	if os.Getenv("GOMAXPROCS") == "" {
		// A message passes through six goroutines, one after the other. On several processors
		// each hand-over would wake a thread for nothing.
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	}
	return s.Run(ctx)
}

// guestSocket is the socket of a guest, which the sandbox of this process has been given. The daemon is
// on another system, so it is never started here.
type guestSocket struct {
	path, endpoint string
	getenv         func(string) string
}

// find implements Options.Find.
func (g *guestSocket) find(context.Context, bool) (Address, error) {
	token := g.getenv("DRAWBRIDGE_TOKEN")
	if token == "" {
		file := filepath.Join(filepath.Dir(g.path), loopback.GuestToken)
		data, err := os.ReadFile(file)
		if err != nil {
			return Address{}, &core.Error{Code: core.CodeUnavailable, Message: "cannot read the access token of this guest: " + err.Error(),
				Hint: "Mount the folder of the guest, or set DRAWBRIDGE_TOKEN. The command drawbridge guests show NAME, on the host, prints how."}
		}
		token = strings.TrimSpace(string(data))
	}
	return Address{URL: "http://localhost" + g.endpoint, Token: token}, nil
}

func (g *guestSocket) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "unix", g.path)
}

// daemonFinder finds the daemon for a shim and starts it if none is running.
type daemonFinder struct {
	folders config.Folders
	path    string
	client  string
	own     bool
	log     *slog.Logger
}

// find implements Options.Find.
func (f *daemonFinder) find(ctx context.Context, start bool) (Address, error) {
	var started time.Time
	for {
		address, ok, err := f.resolveAddress()
		if ok || err != nil {
			return address, err
		}
		if !start {
			return Address{}, core.Errorf(core.CodeUnavailable, "Drawbridge is not running")
		}
		if why, ended := f.lastEnd(started); ended {
			return Address{}, &core.Error{Code: core.CodeUnavailable, Message: "Drawbridge cannot start: " + why,
				Hint: "Fix this, then try again. To see the error in a terminal, run: drawbridge serve."}
		}
		held, err := loopback.IsDaemonRunning(f.folders.Data)
		if err == nil && !held && time.Since(started) > startEvery {
			started = time.Now()
			if err := f.start(); err != nil {
				return Address{}, err
			}
		}
		select {
		case <-ctx.Done():
			if starting := loopback.StartingDaemon(f.folders.Data); starting != "" {
				return Address{}, &core.Error{Code: core.CodeUnavailable, Message: starting, Hint: "Try again in a moment.", Cause: ctx.Err()}
			}
			return Address{}, &core.Error{Code: core.CodeUnavailable, Message: "Drawbridge did not start in time",
				Hint: "Run \"drawbridge serve\" in a terminal to see why.", Cause: ctx.Err()}
		case <-time.After(25 * time.Millisecond):
		}
	}
}

// resolveAddress finds the running daemon and creates the token of the client if it has none.
func (f *daemonFinder) resolveAddress() (address Address, ok bool, err error) {
	rt, ok, err := loopback.FindDaemon(f.folders.Data)
	if err != nil || !ok {
		return address, false, nil // a file that is being written exists a moment later
	}
	tokens, err := loopback.NewTokens(f.folders.Data, f.log)
	if err != nil {
		return address, false, err
	}
	t, err := tokens.Create(f.client)
	if err != nil {
		return address, false, err
	}
	return Address{URL: rt.URL + f.path, Token: t.Token}, true, nil
}

// lastEnd returns the reason why the daemon that was started at that time has exited.
func (f *daemonFinder) lastEnd(started time.Time) (why string, ended bool) {
	if started.IsZero() {
		return "", false
	}
	info, err := os.Stat(f.folders.ExitReasonFile())
	if err != nil || info.ModTime().Before(started) {
		return "", false
	}
	text, err := os.ReadFile(f.folders.ExitReasonFile())
	return strings.TrimSpace(string(text)), err == nil && len(text) > 0
}

// start starts a daemon that outlives this process and the client, with a tray icon where possible,
// so that the user sees that it runs.
func (f *daemonFinder) start() error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find the drawbridge program: %w", err)
	}
	args := []string{"serve"}
	if f.own {
		args = append(args, "--data", f.folders.Data)
	}
	f.log.Info("Starting Drawbridge")
	return process.Launch(nil, self, args...)
}
