package marketplace

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// configured is a house with a configuration.
type configured struct {
	fakeHouse
	c *config.Config
}

func (c configured) Current() *config.Config { return c.c }

func TestRegistryIsAskedOnceADayAndOnlyIfUpdatesAreWanted(t *testing.T) {
	npx := func(id, pkg string, set func(*config.Server)) config.Server {
		s := config.Server{ID: id, Label: id, Type: core.Stdio, Command: "npx", Args: []string{"-y", pkg}, Launch: config.LaunchDirect}
		if set != nil {
			set(&s)
		}
		return s
	}
	c := &config.Config{Servers: []config.Server{
		npx("any", "srv", nil), npx("tag", "srv@next", nil), npx("pinned", "srv@1.0.0", nil),
		npx("off", "srv", func(s *config.Server) { s.Disabled = true }),
		npx("by-npx", "srv", func(s *config.Server) { s.Launch = config.LaunchNpx }),
	}}
	history, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "history.db")})
	require.NoError(t, err)
	defer history.Close()
	var asked []string
	version, failed := "2.0.0", error(nil)
	open := func() *Feature {
		return &Feature{Config: configured{c: c}, Store: history, AskNewest: func(_ context.Context, s *config.Server, spec Spec) (string, error) {
			asked = append(asked, s.ID+" "+spec.Text)
			return version, failed
		}}
	}
	f, now := open(), time.Now()
	check := func(at time.Time, want ...string) {
		t.Helper()
		asked = nil
		f.askNewest(t.Context(), at)
		require.Equal(t, want, asked)
	}
	check(now)
	c.Updates.Check = true
	check(now, "any srv", "tag srv@next")
	check(now.Add(23 * time.Hour))
	failed = errors.New("no network")
	check(now.Add(25*time.Hour), "any srv", "tag srv@next")
	assert.Equal(t, "2.0.0", f.newest.get("any", "srv"), "after an error, the newest version")
	check(now.Add(26 * time.Hour))
	c.Servers[0].Args[1] = "other"
	assert.Empty(t, f.newest.get("any", "other"), "another package has the version")
	failed, version = nil, "3.0.0"
	check(now.Add(50*time.Hour), "any other", "tag srv@next")

	f = open() // after a restart
	f.loadNewest(t.Context())
	got := f.newest.get("any", "other") + " " + f.newest.get("tag", "srv@next")
	assert.Equal(t, "3.0.0 3.0.0", got, "after a restart")
}
