//go:build linux

package tray

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"drawbridge/backend/event"
	"drawbridge/backend/hub"
)

func TestWithoutASessionBusTheTrayWaitsQuietly(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+t.TempDir()+"/bus")
	if ok, why := Available(); ok || why != "there is no session bus" {
		t.Fatalf("available: %v, %q", ok, why)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	var log bytes.Buffer
	err := Run(ctx, Options{
		Statuses: func() []hub.ServerStatus { return nil },
		Bus:      new(event.Bus),
		Log:      slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil || ctx.Err() == nil {
		t.Fatalf("returned %v before its context ended", err)
	}
	if n := strings.Count(log.String(), "No tray icon"); n != 1 {
		t.Fatalf("said so %d times:\n%s", n, log.String())
	}
}

func TestTrayNeedsStatusesAndBus(t *testing.T) {
	if err := Run(context.Background(), Options{}); err == nil {
		t.Fatal("runs with nothing to show")
	}
}
