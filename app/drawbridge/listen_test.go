package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/cli"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/config"
)

func TestRemovedRuntimeFileIsWrittenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := t.TempDir()
		lock, err := loopback.Lock(data)
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Close()
		log := slog.New(slog.DiscardHandler)
		d := &daemon{options: cli.ServeOptions{Folders: config.Folders{Data: data}}, log: log, life: newLifecycle(log), url: "http://127.0.0.1:1"}
		if err := d.announce(); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(data, "runtime.json")
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		time.Sleep(runtimeCheckInterval + time.Millisecond)
		if rt, ok, err := loopback.FindDaemon(data); !ok || err != nil || rt.URL != d.url {
			t.Errorf("%+v, %v, %v", rt, ok, err)
		}
		if err := d.life.stop(); err != nil {
			t.Error(err)
		}
		lock.Close()
		d.restoreRuntime()
		if _, err := os.Stat(file); err == nil {
			t.Error("it is written in a folder that is not locked")
		}
	})
}
