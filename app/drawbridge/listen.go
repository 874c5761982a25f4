package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/cli"
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
