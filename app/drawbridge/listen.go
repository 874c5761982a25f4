package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"drawbridge/backend/cli"
	"drawbridge/backend/loopback"
	"drawbridge/backend/reload"
)

// listen opens the address that was asked for, else the configured one. A port that
// is taken is an error that names its holder, because clients would send their tokens
// to whoever took it. Only a new installation, which no client knows yet, moves to a
// free port, and writes that down.
func listen(o cli.ServeOptions, files *reload.Reloader, log *slog.Logger) (net.Listener, error) {
	address := o.Listen
	if address == "" {
		address = files.Current().Bridge.Listen
	}
	listener, err := loopback.Listen(address)
	if !errors.Is(err, loopback.ErrPortTaken) || o.Listen != "" || !isNew(o) {
		return listener, err
	}
	log.Warn("The default port is taken: a free one is written to the configuration", "error", err)
	if listener, err = loopback.Listen("127.0.0.1:0"); err != nil {
		return nil, err
	}
	if err := files.Set(context.Background(), listener.Addr().String(), "bridge", "listen"); err != nil {
		listener.Close()
		return nil, err
	}
	return listener, nil
}

// isNew reports whether neither a configuration nor a client that could know our
// port exists.
func isNew(o cli.ServeOptions) bool {
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
