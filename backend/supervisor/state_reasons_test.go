package supervisor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden file anew")

// TestEachStateReadsWithItsReason brings a server into each state and compares its status with a
// golden file. Tests of the command line, the API and the page use the same file to check how
// each of them shows it.
func TestEachStateReadsWithItsReason(t *testing.T) {
	type reading struct {
		Title  string            `json:"title"`
		Word   string            `json:"word"`
		Status core.ServerStatus `json:"status"`
	}
	var readings []reading
	show := func(title string, g *rig) {
		st, _ := g.Status("files")
		readings = append(readings, reading{title, st.State.Word(), st})
	}
	listed := func(context.Context, upstream.Request, int) (*core.Catalog, error) {
		return &core.Catalog{
			Tools: []core.Item{{Name: "read", Raw: []byte(`{"name":"read","inputSchema":{"type":"object"}}`)}}, Info: []byte(`{"name":"files","version":"1"}`),
			Warnings: []string{"1 of 2 tools: entry 2 has no name"},
		}, nil
	}
	slow := func(ctx context.Context, r upstream.Request, n int) (*core.Catalog, error) {
		time.Sleep(10 * time.Second)
		return listed(ctx, r, n)
	}
	for _, c := range []struct {
		title   string
		start   func(context.Context, upstream.Request, int) (*core.Catalog, error)
		options func(*rig, *Options)
		set     func(*config.Server)
		act     func(*rig)
	}{
		{title: "stopped: by the user", act: func(g *rig) { _ = g.Stop(context.Background(), "files") }},
		{title: "stopped: start is manual", set: func(s *config.Server) { s.Start = config.StartManual }},
		{title: "stopped: idle", set: idle(10 * time.Minute), act: func(*rig) { advance(11 * time.Minute) }},
		{title: "starting", start: slow, act: func(*rig) { advance(2 * time.Second) }},
		{title: "starting: downloading", start: slow, options: func(_ *rig, o *Options) { o.DownloadingLauncher = func(string) string { return "npx" } }, act: func(*rig) { advance(2 * time.Second) }},
		{title: "starting: again after a failure", start: func(ctx context.Context, r upstream.Request, n int) (*core.Catalog, error) {
			if n == 1 {
				return nil, errBoom
			}
			return slow(ctx, r, n)
		}, act: func(*rig) { advance(2 * time.Second) }},
		{title: "running"},
		{title: "running: for two clients", options: func(g *rig, _ *Options) { g.several = true }, set: session(config.SessionPerClient), act: func(g *rig) {
			g.served(from(call("files"), "ann"))
			g.served(from(call("files"), "bob"))
			synctest.Wait()
		}},
		{title: "degraded: silent", act: func(g *rig) {
			g.conn("files").silence()
			advance(50 * time.Second)
		}},
		{title: "waiting", start: always(fmt.Errorf("%w: %w", upstream.ErrDependencyMissing, errors.New(`the container is not running: "box"`)))},
		{title: "restarting", start: always(errBoom), set: func(s *config.Server) { s.Restart.Backoff, s.Restart.Strategy = time.Minute, config.RestartFixed }, act: func(*rig) { advance(time.Second) }},
		{title: "failed: gave up", start: always(errBoom), set: func(s *config.Server) { s.Restart.MaxAttempts = 2 }, act: func(*rig) { advance(time.Minute) }},
		{title: "failed: wrong command", start: always(core.Errorf(core.CodeValidation, `executable not found: "npx"`))},
		{title: "needs sign-in", start: always(fmt.Errorf("%w: %w", upstream.ErrDependencyMissing, &core.Error{Code: core.CodeUnauthorized, Message: `server "files": it requires you to sign in`, Cause: core.ErrNeedsLogin})),
			options: logins(core.LoginNeeded, "it requires you to sign in"), set: remoteServer},
		{title: "degraded: more permissions", options: logins(core.LoginMorePermissions, "it requires another permission: files:write"), set: remoteServer},
		{title: "running: signed in", options: logins(core.LoginDone, ""), set: remoteServer},
		{title: "needs approval", options: func(g *rig, _ *Options) { g.requireApproval(true) }},
		{title: "paused", act: func(g *rig) { _ = g.SetPaused(context.Background(), true) }},
		{title: "disabled", set: func(s *config.Server) { s.Disabled = true }},
	} {
		inBubble(t, func(g *rig, o *Options) {
			if g.start = c.start; g.start == nil {
				g.start = listed
			}
			if c.options != nil {
				c.options(g, o)
			}
		}, func(g *rig) {
			s := server("files")
			if c.set != nil {
				c.set(&s)
			}
			g.apply(s)
			if c.act != nil {
				c.act(g)
			}
			show(c.title, g)
		})
	}
	got, err := json.MarshalIndent(readings, "", "  ")
	require.NoError(t, err)
	got = append(got, '\n')
	const golden = "../../frontend/src/testdata/server-states.json"
	if *update {
		require.NoError(t, os.WriteFile(golden, got, 0o644))
	}
	want, err := os.ReadFile(golden)
	assert.Truef(t, err == nil && bytes.Equal(want, got), "states read otherwise than %s (%v); after a look run this test with -update\n%s", golden, err, got)
}

func logins(state core.LoginState, reason string) func(*rig, *Options) {
	return func(_ *rig, o *Options) {
		o.Logins = func(string) (core.LoginState, string) { return state, reason }
	}
}

func remoteServer(s *config.Server) {
	s.Type, s.Command, s.URL = core.HTTP, "", "https://example.com/mcp"
}
