package main

import (
	"log/slog"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/cli"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// After a start with a full disk the history is migrated while the daemon answers. Commands would
// otherwise wait for its start forever.
func TestLateMigrationDoesNotReportAStart(t *testing.T) {
	data := t.TempDir()
	log := slog.New(slog.DiscardHandler)
	d := &daemon{options: cli.ServeOptions{Folders: config.Folders{Data: data}}, log: log, life: newLifecycle(log), url: "http://127.0.0.1:7575"}
	runtime := func() loopback.Runtime {
		t.Helper()
		now, err := loopback.ReadRuntime(data)
		if err != nil {
			t.Fatal(err)
		}
		return now
	}
	d.migrating(1, 2)
	if now := runtime(); now.Starting == "" || now.URL != "" {
		t.Errorf("while it starts: %+v", now)
	}
	if err := d.writeRuntime(); err != nil {
		t.Fatal(err)
	}
	d.migrating(2, 2)
	if now := runtime(); now.Starting != "" || now.URL != d.url {
		t.Errorf("after the start: %+v", now)
	}
	if err := d.life.stop(); err != nil {
		t.Error(err)
	}
}
