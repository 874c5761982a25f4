//go:build linux

package tray

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

func TestTrayWaitsWithoutSessionBus(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+t.TempDir()+"/bus")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	log := firstWriteLog{first: func() { time.AfterFunc(100*time.Millisecond, cancel) }}
	err := Run(ctx, Options{
		Statuses: func() []core.ServerStatus { return nil },
		Bus:      new(core.Bus),
		Shown:    func(bool, string) {},
		Log:      slog.New(slog.NewTextHandler(&log, nil)),
	})
	require.NoError(t, err)
	require.Error(t, ctx.Err())
	if n := strings.Count(log.String(), "No tray icon"); n != 1 || !strings.Contains(log.String(), "there is no session bus") {
		t.Fatalf("said so %d times:\n%s", n, log.String())
	}
}

// firstWriteLog is a log that calls first once, when something is written to it.
type firstWriteLog struct {
	bytes.Buffer
	first func()
}

func (s *firstWriteLog) Write(p []byte) (int, error) {
	if s.Len() == 0 {
		s.first()
	}
	return s.Buffer.Write(p)
}

// A session that ends removes the icon first. The program stops in order before the system ends it.
// If the program stops by itself, there is nothing to wait for.
func TestProgramStopsCleanlyWithDesktopSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		quits := 0
		o := Options{Quit: func() { quits++; cancel() }}
		began := time.Now()
		stopAtLogout(ctx, o, logoutTimeout)
		took := time.Since(began)
		assert.Truef(t, quits == 1 && took == logoutTimeout, "%d quits, %s", quits, took)
		began = time.Now()
		stopAtLogout(ctx, o, logoutTimeout)
		took = time.Since(began)
		assert.Truef(t, quits == 1 && took == 0, "after our own end: %d quits, %s", quits, took)
	})
}

// ownBus starts a session bus for this test.
func ownBus(t *testing.T) (end func()) {
	t.Helper()
	if _, err := exec.LookPath("dbus-daemon"); err != nil {
		t.Skip("there is no dbus-daemon")
	}
	cmd := exec.Command("dbus-daemon", "--session", "--nofork", "--print-address=1")
	printed, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	end = sync.OnceFunc(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	t.Cleanup(end)
	address, err := bufio.NewReader(printed).ReadString('\n')
	require.NoError(t, err)
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", strings.TrimSpace(address))
	return end
}

// The icon is reported as gone with its panel and as shown with the next one. If the session bus
// ends, the session is over, unless a service manager runs the program.
func TestIconFollowsPanelAndProgramFollowsSession(t *testing.T) {
	for _, unit := range []string{"", "0123456789abcdef"} {
		t.Run("unit "+unit, func(t *testing.T) {
			t.Setenv("INVOCATION_ID", unit)
			endBus := ownBus(t)
			panel, err := sessionBus(t.Context())
			require.NoError(t, err)
			defer panel.Close()
			come := func() {
				t.Helper()
				if _, err := panel.RequestName(watcherName, dbus.NameFlagDoNotQueue); err != nil {
					t.Fatal(err)
				}
			}
			come()
			shown, quit, ended := make(chan string, 8), make(chan bool, 8), make(chan bool)
			o := Options{
				Shown: func(on bool, why string) { shown <- fmt.Sprint(on, why) },
				Quit:  func() { quit <- true },
				Log:   slog.New(slog.DiscardHandler),
			}
			go func() { watchPanel(t.Context(), o); close(ended) }()
			said := func(want string) {
				t.Helper()
				select {
				case got := <-shown:
					require.Equal(t, want, got)
				case <-time.After(time.Minute):
					t.Fatalf("not told %q", want)
				}
			}
			_, err = panel.ReleaseName(watcherName)
			require.NoError(t, err)
			said("false" + noPanel)
			come()
			said("true")
			endBus()
			said("falsethe connection to the session bus was lost")
			eventually.Receive(t, time.Minute, "it goes on without a bus", ended)
			assert.Equal(t, unit == "", len(quit) == 1, "the program was ended")
		})
	}
}
