//go:build linux

package tray

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
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

// A session that ends takes the icon first: the program ends in order before the system
// ends it. When we end ourselves there is nothing to wait for.
func TestProgramEndsInOrderWithItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		quits := 0
		o := Options{Quit: func() { quits++; cancel() }}
		began := time.Now()
		leave(ctx, o, sessionEnd)
		if took := time.Since(began); quits != 1 || took != sessionEnd {
			t.Errorf("%d quits, %s", quits, took)
		}
		began = time.Now()
		leave(ctx, o, sessionEnd)
		if took := time.Since(began); quits != 1 || took != 0 {
			t.Errorf("after our own end: %d quits, %s", quits, took)
		}
	})
}
