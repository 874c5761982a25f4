package clientconf

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// startGuard runs a guard and returns a channel with its reports.
func startGuard(t *testing.T, c *Connector) <-chan Status {
	t.Helper()
	told := make(chan Status, 64)
	g := &Guard{Connector: c, Log: slog.New(slog.DiscardHandler), OnChange: func(s Status) { told <- s }, Debounce: 50 * time.Millisecond, Interval: time.Hour}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { g.Run(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	return told
}

func waitForState(t *testing.T, reports <-chan Status, want State) {
	t.Helper()
	for {
		select {
		case s := <-reports:
			if s.State == want {
				return
			}
		case <-time.After(time.Minute):
			t.Fatalf("never heard %s", want)
		}
	}
}

const desktopFile = "{\n    \"globalShortcut\": \"x\",\n    \"mcpServers\": {\n        \"own\": {\"command\": \"true\"}\n    }\n}\n"

func noToken(string) (string, error) { return "", nil }

func TestWipedFileIsReportedAndRestoredExactly(t *testing.T) {
	c, home := newConnector(t)
	told := startGuard(t, c) // before any record or its directory exists
	path := filepath.Join(home, ".config", "Claude", "claude_desktop_config.json")
	write(t, path, desktopFile)
	connect(t, c, "claude-desktop")
	connected := content(t, path)
	for _, wiped := range []string{"", "{\"globalShortcut\": \"x\"}", "{\"globalShortcut\": \"x\", \"mcpServers\": {}}"} {
		write(t, path, wiped)
		waitForState(t, told, Vanished)
		whole, err := c.Restore(context.Background(), "claude-desktop", noToken)
		require.Truef(t, err == nil && whole, "restored whole: %v, %v", whole, err)
		require.Equal(t, connected, content(t, path))
		waitForState(t, told, Connected)
	}
	require.NoError(t, os.Remove(path))
	waitForState(t, told, Vanished)
}

func TestRestoreKeepsLaterForeignChanges(t *testing.T) {
	c, home := newConnector(t)
	path := filepath.Join(home, ".config", "Claude", "claude_desktop_config.json")
	write(t, path, desktopFile)
	connect(t, c, "claude-desktop")
	write(t, path, `{"globalShortcut": "y", "mcpServers": {"new": {"command": "z"}}}`)
	whole, err := c.Restore(context.Background(), "claude-desktop", noToken)
	require.Truef(t, err == nil && !whole, "restored whole: %v, %v", whole, err)
	got := content(t, path)
	require.Truef(t, strings.Contains(got, `"new"`) && !strings.Contains(got, `"own"`) && strings.Contains(got, EntryName), "restored\n%s", got)
}

func TestForgottenConnectionIsNotReported(t *testing.T) {
	c, home := newConnector(t)
	path := filepath.Join(home, ".cursor", "mcp.json")
	connect(t, c, "cursor")
	require.NoError(t, os.Remove(path))
	s, _ := c.Status("cursor")
	require.Equal(t, Vanished, s.State)
	require.NoError(t, c.Forget("cursor"))
	for _, s := range c.List() {
		require.Falsef(t, s.Key == "cursor" && (s.State != NotConnected || s.Problem != ""), "%+v", s)
	}
}

func TestChangedAddressAndTokenReachClientFile(t *testing.T) {
	c, home := newConnector(t)
	path := filepath.Join(home, ".cursor", "mcp.json")
	write(t, path, "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}\n  }\n}\n")
	before := content(t, path)
	p, err := c.Plan(Choice{Client: "cursor", HTTP: true, URL: "http://127.0.0.1:7575", Token: "dbr_oldtoken"})
	require.NoError(t, err)
	require.NotContains(t, p.Diff, "dbr_oldtoken", "the token is shown")
	require.NoError(t, c.Apply(context.Background(), p))
	done, err := c.UpdateEntries(context.Background(), "", "http://127.0.0.1:7600", func(string) (string, error) { return "dbr_newtoken", nil })
	require.Truef(t, err == nil && len(done) == 1 && done[0].Diff != "" && !strings.Contains(done[0].Diff, "dbr_newtoken"), "%+v %v", done, err)
	got := content(t, path)
	require.Truef(t, strings.Contains(got, "7600/mcp") && strings.Contains(got, "Bearer dbr_newtoken") && !strings.Contains(got, "oldtoken"), "%s", got)
	if how := undo(t, c, "cursor"); how != Restored || content(t, path) != before {
		t.Fatalf("%s:\n%s", how, content(t, path))
	}
}
