package upstream

import (
	"context"
	"io"
	"log/slog"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/mcptest"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// echoes makes this test program send back what it receives.
const echoes = "UPSTREAM_TEST_ECHOES"

func TestMain(m *testing.M) {
	mcptest.MainIfAsked()
	if os.Getenv(echoes) != "" {
		_, _ = io.Copy(os.Stdout, os.Stdin)
		os.Exit(0)
	}
	_ = os.Setenv("SHELL", "/bin/sh") // a login shell with little output
	goleak.VerifyTestMain(m)
}

func newDialer(t *testing.T) *Dialer {
	t.Helper()
	log, logs := slog.New(slog.DiscardHandler), serverlog.Open("", nil)
	d := &Dialer{Spawner: process.NewSpawner(process.Options{Log: log}), Logs: logs, Log: log}
	t.Cleanup(func() {
		assert.NoError(t, d.Spawner.Close(context.Background()))
		assert.NoError(t, logs.Close())
	})
	return d
}

func server(id string, set func(*config.Server)) config.Server {
	s := config.Server{ID: id, Label: id, Type: core.Stdio, Command: "run-" + id}
	set(&s)
	return s
}
