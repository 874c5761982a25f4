package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/cli"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// listen opens the requested address, or else the configured one. If the port is taken, the error
// names its owner; listen does not use another port, because clients would send their tokens to the
// owner of the old one. Only a new installation, which no client knows yet, uses a free port and
// writes it to the configuration.
func listen(o cli.ServeOptions, files *config.Reloader, log *slog.Logger) (net.Listener, error) {
	address := o.Listen
	if address == "" {
		address = files.Current().Bridge.Listen
	}
	listener, err := loopback.Listen(address)
	if errors.Is(err, loopback.ErrPortTaken) && (o.Listen != "" || !isFirstRun(o)) {
		return nil, withFreePort(err, address, "drawbridge serve")
	}
	if !errors.Is(err, loopback.ErrPortTaken) {
		return listener, err
	}
	log.Warn("The default port is in use; saving a free port to the configuration", "error", err)
	if listener, err = loopback.Listen("127.0.0.1:0"); err != nil {
		return nil, err
	}
	if err := files.Set(context.Background(), listener.Addr().String(), "bridge", "listen"); err != nil {
		listener.Close()
		return nil, err
	}
	return listener, nil
}

// isFirstRun reports whether there is neither a configuration nor a client that could know our port.
func isFirstRun(o cli.ServeOptions) bool {
	if o.Sources.JSON != "" || o.Sources.File != "" {
		return false
	}
	for _, trace := range []string{o.Folders.ConfigFile(), filepath.Join(o.Folders.Data, "tokens.json"), filepath.Join(o.Folders.Data, "clients")} {
		if _, err := os.Stat(trace); err == nil {
			return false
		}
	}
	return true
}

// serveHTTP serves until ctx is done, then waits briefly for responses in progress.
func serveHTTP(ctx context.Context, server *http.Server, listener net.Listener) error {
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if server.Shutdown(grace) != nil {
		server.Close() // streams never end, so they are cut
	}
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// serveSocket serves on a socket until ctx is done. Its open connections are closed with the
// server.
func serveSocket(ctx context.Context, server *http.Server, socket net.Listener) error {
	defer context.AfterFunc(ctx, func() { socket.Close() })()
	if err := server.Serve(socket); ctx.Err() == nil {
		return err
	}
	return nil
}

// offerFreePort checks before the start of a daemon whether its port is taken. If so, it names the
// owner and offers a free port: on a terminal it asks and writes the answer to the configuration;
// otherwise the error contains the command to run. A new installation needs no question: see
// listen.
func offerFreePort(ctx context.Context, o cli.ServeOptions, command string) error {
	address := o.Listen
	if address == "" {
		if isFirstRun(o) {
			return nil
		}
		if c, err := o.Sources.Load(); err == nil {
			address = c.Bridge.Listen
		} else {
			address = config.Default().Bridge.Listen
		}
	}
	listener, err := loopback.Listen(address)
	if err == nil {
		return listener.Close()
	}
	taken, ok := errors.AsType[*core.Error](err)
	if !ok || !errors.Is(err, loopback.ErrPortTaken) {
		return nil // the daemon reports it
	}
	if held, err := loopback.IsDaemonRunning(o.Folders.Data); err != nil || held {
		return err // a daemon of ours has just started
	}
	free, err := freeAddress(address)
	if err != nil {
		return taken
	}
	if o.Listen == "" && o.Ask != nil {
		if !o.Ask(fmt.Sprintf("%s.\nUse %s from now on? The address will be saved to %s.", taken.Message, free, o.Sources.Main())) {
			return taken
		}
		return writeListen(ctx, o, free)
	}
	return withFreePort(taken, address, command)
}

// withFreePort returns the error of a port that is taken, with the command that uses a free one.
func withFreePort(err error, address, command string) error {
	taken, ok := errors.AsType[*core.Error](err)
	free, missing := freeAddress(address)
	if !ok || missing != nil {
		return err
	}
	better := *taken
	better.Hint = fmt.Sprintf("Stop that program, or use a free port: %s --listen %s. To keep it, set bridge.listen in the configuration.", command, free)
	return &better
}

// freeAddress returns address with one of the next ports that is free now. If there is none, it
// returns any free port, which another program may use tomorrow.
func freeAddress(address string) (string, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", err
	}
	for next := range uint64(20) {
		listener, err := loopback.Listen(net.JoinHostPort(host, strconv.FormatUint(port+1+next, 10)))
		if err == nil {
			defer listener.Close()
			return listener.Addr().String(), nil
		}
	}
	listener, err := loopback.Listen(net.JoinHostPort(host, "0"))
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

func writeListen(ctx context.Context, o cli.ServeOptions, address string) error {
	files := config.NewReloader(config.ReloaderOptions{Sources: o.Sources, Bus: new(core.Bus), Log: slog.New(slog.DiscardHandler)})
	if err := files.Load(); err != nil {
		return err
	}
	return files.Set(ctx, address, "bridge", "listen")
}

// runtimeCheckInterval is how often the daemon checks that runtime.json exists.
const runtimeCheckInterval = 3 * time.Second

// announce writes the file that says where the daemon answers, and writes it again whenever it is
// missing: without it, no command and no shim finds the daemon.
func (d *daemon) announce() error {
	if err := d.writeRuntime(); err != nil {
		return err
	}
	d.life.onStop("runtime file", time.Second, func(context.Context) error { return loopback.RemoveRuntime(d.options.Folders.Data) })
	d.life.run("runtime file check", time.Second, func(ctx context.Context) error {
		tick := time.NewTicker(runtimeCheckInterval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				d.restoreRuntime()
			case <-ctx.Done():
				return nil
			}
		}
	})
	return nil
}

func (d *daemon) writeRuntime() error {
	data := d.options.Folders.Data
	self := loopback.Runtime{PID: os.Getpid(), URL: d.url, Version: version, StartedAt: d.startedAt, Config: absolute(d.options.Sources.Main())}
	err := loopback.WriteRuntime(data, self)
	if err != nil && d.history.ReleaseReservedSpace(err) {
		err = loopback.WriteRuntime(data, self)
	}
	return err
}

// restoreRuntime writes runtime.json if it was removed. A data folder without our lock was removed,
// too, and is not ours any more.
func (d *daemon) restoreRuntime() {
	data := d.options.Folders.Data
	if _, err := loopback.ReadRuntime(data); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	if held, err := loopback.IsDaemonRunning(data); err != nil || !held {
		return
	}
	if err := d.writeRuntime(); err != nil {
		d.log.Debug("Cannot write the runtime file again", "error", err)
		return
	}
	d.log.Warn("The runtime file was removed by another program; it has been written again")
}
