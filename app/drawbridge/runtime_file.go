package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
)

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

// writeRuntime writes runtime.json.
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
