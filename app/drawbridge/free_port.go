package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"

	"github.com/drawbridge-mcp/drawbridge/backend/cli"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/config"
)

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
