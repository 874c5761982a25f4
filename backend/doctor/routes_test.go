package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/backend/web/webtest"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func save(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
}

func load(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

// fakeWorld is a configuration without servers, and the clients that a test sets.
type fakeWorld struct {
	sessions []bridge.Session
	listed   []bridge.ClientActivity
}

func (*fakeWorld) Current() *config.Config                     { return config.Default() }
func (*fakeWorld) Problems() []config.Problem                  { return nil }
func (*fakeWorld) Statuses() []core.ServerStatus               { return nil }
func (*fakeWorld) Restart(context.Context, string) error       { return nil }
func (f *fakeWorld) Sessions() []bridge.Session                { return f.sessions }
func (*fakeWorld) ClientInfos() []bridge.ClientInfo            { return nil }
func (f *fakeWorld) ClientActivities() []bridge.ClientActivity { return f.listed }

func TestDoctorAppliesOfferedFixes(t *testing.T) {
	home := t.TempDir()
	vault := secret.For(t.TempDir(), func(string) string { return "off" })
	connector, err := clientconf.New(clientconf.Options{
		System: clientconf.System{GOOS: "linux", Home: home, Getenv: func(string) string { return "" }},
		Dir:    filepath.Join(t.TempDir(), "clients"), Program: "/opt/drawbridge", Config: filepath.Join(t.TempDir(), "config.jsonc"), Vault: vault,
	})
	require.NoError(t, err)
	tokens, err := loopback.NewTokens(t.TempDir(), nil)
	require.NoError(t, err)
	world := &fakeWorld{}
	clients := &clientconf.Feature{Connector: connector, Tokens: tokens, Config: config.Default, Views: registry.New(registry.Options{}), Bridge: world}
	clients.Limits = func(string) bridge.ClientLimits { return bridge.ClientLimits{} }
	clients.ListCost = func(string, []string, string) (*bridge.ListCost, string, string) {
		return &bridge.ListCost{}, config.ToolsAll, ""
	}
	s := webtest.New(&Feature{
		Config: world, Servers: world, Clients: clients, Secrets: vault, Withheld: func() map[string]int { return nil },
		Local: func(_ context.Context, c *config.Config, _ func(string) string) Options {
			return Options{Config: c, Getenv: func(string) string { return "" }, Listening: func(string) bool { return true }, LookPath: func(string) (string, error) { return "/bin/x", nil }}
		},
	})
	connect := webtest.New(clients)
	path := filepath.Join(home, ".cursor/mcp.json")
	save(t, path, "{\"mcpServers\": {}}\n")
	connect.Do(t, "/api/v1/connections/cursor/connect", `{}`, 200)
	// A list that differs matters only to a client that still has a session.
	world.listed = []bridge.ClientActivity{{Token: "cursor", Endpoint: "/mcp", First: time.Now(), Last: time.Now().Add(time.Hour), Tools: 70}}
	for _, open := range []bool{false, true} {
		if world.sessions = nil; open {
			world.sessions = []bridge.Session{{Client: core.Client{Token: "cursor"}, LastUsed: time.Now()}}
		}
		var list web.List[Finding]
		s.Get(t, "/api/v1/doctor", &list)
		assert.Equal(t, open, slices.ContainsFunc(list.Items, func(f Finding) bool { return f.Check == "list" }), list.Items)
	}
	whole := load(t, path)
	save(t, path, "{}\n")
	finding := func() Finding {
		t.Helper()
		var list web.List[Finding]
		s.Get(t, "/api/v1/doctor", &list)
		for _, f := range list.Items {
			if f.ID == "client-cursor" {
				return f
			}
		}
		t.Fatalf("%+v", list.Items)
		return Finding{}
	}
	f := finding()
	require.Truef(t, f.Level == Problem && f.Action != "", "%+v", f)
	s.Do(t, "/api/v1/doctor/client-cursor", "", 200)
	require.Equal(t, whole, load(t, path))
	s.Do(t, "/api/v1/doctor/nothing", "", 404)
	s.Do(t, "/api/v1/doctor/client-cursor", "", 403) // no problem to fix
}
