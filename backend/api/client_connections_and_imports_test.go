package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/doctor"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// newConnectableSite returns a site with clients' configuration files in a home directory of its
// own.
func newConnectableSite(t *testing.T) (s *site, home, ours string) {
	t.Helper()
	s = newSite(t)
	home, ours = t.TempDir(), filepath.Join(t.TempDir(), "config.jsonc")
	s.api.Secrets = secret.For(t.TempDir(), func(string) string { return "off" })
	c, err := clientconf.New(clientconf.Options{
		System: clientconf.System{GOOS: "linux", Home: home, Getenv: func(string) string { return "" }},
		Dir:    filepath.Join(t.TempDir(), "clients"), Program: "/opt/drawbridge", Config: ours, Vault: s.api.Secrets,
	})
	must(t, err)
	s.api.Connector = c
	return s, home, ours
}

func save(t *testing.T, path, text string) {
	t.Helper()
	must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
}

func load(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return string(b)
}

// do sends a POST request and checks the status.
func (s *site) do(t *testing.T, path, body string, want int) string {
	t.Helper()
	status, got, _ := s.ask(t, "POST", path, body)
	if status != want {
		t.Fatalf("POST %s: %d %s, want %d", path, status, got, want)
	}
	return got
}

func (s *site) connection(t *testing.T, key string) Connection {
	t.Helper()
	var list web.List[Connection]
	s.get(t, "/api/v1/connections", &list)
	for _, c := range list.Items {
		if c.Key == key {
			return c
		}
	}
	t.Fatalf("no connection %s", key)
	return Connection{}
}

// A link out of the home folder is followed only if the user has confirmed the file that it leads to.
func TestLinkOutOfHomeIsFollowedOnlyWhenConfirmed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	s, home, _ := newConnectableSite(t)
	const before = `{"mcpServers": {"a": {"command": "a"}}}`
	outside, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	outside = filepath.Join(outside, "mcp.json")
	save(t, outside, before)
	must(t, errors.Join(os.Mkdir(filepath.Join(home, ".cursor"), 0o700), os.Symlink(outside, filepath.Join(home, ".cursor/mcp.json"))))
	var one ConnectionPlan
	must(t, json.Unmarshal([]byte(s.do(t, "/api/v1/connections/cursor/plan", `{"move":true}`, 200)), &one))
	var all TakeoverPlan
	s.get(t, "/api/v1/takeover", &all)
	if one.Outside != outside || len(all.Clients) != 1 || all.Clients[0].Outside != outside {
		t.Fatalf("the plans name %q and %+v", one.Outside, all.Clients)
	}
	confirmed, _ := json.Marshal([]string{outside})
	for path, body := range map[string]string{"connections/cursor/connect": `{"move":true`, "takeover": `{"plan":"` + all.Plan + `"`} {
		for _, other := range []string{``, `,"outside":["/another"]`} {
			if got := s.do(t, "/api/v1/"+path, body+other+`}`, 409); !strings.Contains(got, outside) {
				t.Error(got)
			}
		}
	}
	if got := load(t, outside); got != before {
		t.Fatalf("changed without confirmation: %s", got)
	}
	s.do(t, "/api/v1/takeover", `{"plan":"`+all.Plan+`","outside":`+string(confirmed)+`}`, 200)
	if got := load(t, outside); got == before {
		t.Error("the confirmed file is unchanged")
	}
	s.do(t, "/api/v1/connections/cursor/undo", ``, 200)
	s.do(t, "/api/v1/connections/cursor/connect", `{"outside":`+string(confirmed)+`}`, 200)
}

func TestClientIsConnectedAtFirstHandshakeWithToolCount(t *testing.T) {
	s, home, _ := newConnectableSite(t)
	save(t, filepath.Join(home, ".cursor/mcp.json"), `{"mcpServers": {}}`)
	s.presences = []bridge.ClientActivity{{Token: "cursor", Endpoint: "/mcp", First: time.Now().Add(-time.Hour), Last: time.Now().Add(-time.Hour), Tools: 3}}
	s.peers = []bridge.ClientInfo{{Client: core.Client{Token: "cursor"}, LastSeen: time.Now().Add(-time.Hour)}}
	s.do(t, "/api/v1/connections/cursor/connect", `{}`, 200)
	if c := s.connection(t, "cursor"); c.Live || c.Tools != 0 || c.Next == "" || !c.Link {
		t.Fatalf("what was before the connection counts: %+v", c)
	}
	s.peers = []bridge.ClientInfo{{Client: core.Client{Token: "zed"}, LastSeen: time.Now().Add(time.Second)}}
	if c := s.connection(t, "cursor"); c.Live {
		t.Fatalf("another client makes it green: %+v", c)
	}
	at := time.Now().Add(time.Second)
	s.peers = append(s.peers, bridge.ClientInfo{Client: core.Client{Token: "cursor"}, LastSeen: at})
	if c := s.connection(t, "cursor"); !c.Live || c.Next != "" || c.Since == nil || !c.Since.Equal(at.UTC()) || c.Tools != 0 {
		t.Fatalf("after the handshake: %+v", c)
	}
	s.presences = []bridge.ClientActivity{{Token: "cursor", Endpoint: "/mcp", First: at, Last: at.Add(time.Second), Tools: 12}}
	if c := s.connection(t, "cursor"); c.Tools != 12 || !c.LastSeen.Equal(at.Add(time.Second).UTC()) {
		t.Fatalf("after the list: %+v", c)
	}
}

func TestImportMovesSecretsAndIsUndone(t *testing.T) {
	s, home, ours := newConnectableSite(t)
	save(t, filepath.Join(home, ".cursor/mcp.json"), `{"mcpServers": {"gh": {"command": "x", "env": {"API_TOKEN": "canary-api-1"}}}}`)
	planned := s.do(t, "/api/v1/connections/cursor/import/plan", `{}`, 200)
	var p ImportPlan
	if err := json.Unmarshal([]byte(planned), &p); err != nil || len(p.Secrets) != 1 || p.ID != "" {
		t.Fatalf("%s %v", planned, err)
	}
	if _, err := os.Stat(ours); err == nil {
		t.Fatal("a plan writes")
	}
	s.do(t, "/api/v1/connections/cursor/import", `{"diff":"another"}`, http.StatusConflict)
	body, _ := json.Marshal(map[string]string{"diff": p.Diff})
	done := s.do(t, "/api/v1/connections/cursor/import", string(body), 200)
	if err := json.Unmarshal([]byte(done), &p); err != nil || p.ID == "" {
		t.Fatal(done, err)
	}
	if strings.Contains(planned+done+load(t, ours), "canary") {
		t.Fatalf("a secret is shown:\n%s\n%s\n%s", planned, done, load(t, ours))
	}
	var list web.List[clientconf.CompletedImport]
	if s.get(t, "/api/v1/imports", &list); len(list.Items) != 1 || list.Items[0].ID != p.ID || list.Items[0].Client != "cursor" {
		t.Fatalf("%+v", list)
	}
	s.do(t, "/api/v1/imports/"+p.ID+"/undo", "", 200)
	if _, err := os.Stat(ours); err == nil {
		t.Fatal("it is still there")
	}
	if all, err := s.api.Secrets.List(t.Context()); err != nil || len(all) != 0 {
		t.Fatalf("secrets are left: %v %v", all, err)
	}
}

func TestMovesAreUndoneOneByOne(t *testing.T) {
	s, home, _ := newConnectableSite(t)
	path := filepath.Join(home, ".cursor/mcp.json")
	const text = `{"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}}}`
	save(t, path, text)
	s.do(t, "/api/v1/connections/cursor/connect", `{"move":true,"servers":["a"]}`, 200)
	s.do(t, "/api/v1/connections/cursor/connect", `{"move":true,"servers":["b"]}`, 200)
	if c := s.connection(t, "cursor"); len(c.Moved) != 2 {
		t.Fatalf("%+v", c.Moved)
	}
	s.do(t, "/api/v1/connections/cursor/undo", `{"servers":["a"]}`, 200)
	if c := s.connection(t, "cursor"); len(c.Moved) != 1 || c.Moved[0].Name != "b" || !strings.Contains(load(t, path), `"a": {"command": "a"}`) {
		t.Fatalf("%+v\n%s", c.Moved, load(t, path))
	}
	s.do(t, "/api/v1/connections/cursor/undo", "", 200)
	if load(t, path) != text {
		t.Fatal(load(t, path))
	}
}

func TestSnippetAndBundleContainNoToken(t *testing.T) {
	s, _, _ := newConnectableSite(t)
	var h clientconf.ManualSetup
	s.get(t, "/api/v1/connections/cursor/snippet", &h)
	if !strings.HasPrefix(h.Link, "cursor://") || !strings.Contains(h.Text, "/opt/drawbridge") {
		t.Fatalf("%+v", h)
	}
	s.get(t, "/api/v1/connections/cursor/snippet?http=true", &h)
	if strings.Contains(h.Text, "dbr_") || h.Link != "" {
		t.Fatalf("%+v", h)
	}
	status, body, header := s.ask(t, "GET", "/api/v1/connections/claude-desktop/bundle", "")
	if status != 200 || !strings.HasPrefix(body, "PK") || header.Get("Content-Type") != "application/zip" || !strings.Contains(header.Get("Content-Disposition"), "drawbridge.mcpb") || strings.Contains(body, "dbr_") {
		t.Fatalf("%d %v", status, header)
	}
	s.want(t, "GET", "/api/v1/connections/zed/bundle", "", 404)
}

func TestRotatedTokenReplacesOldAndRevokedIsRemoved(t *testing.T) {
	s, home, _ := newConnectableSite(t)
	path := filepath.Join(home, ".cursor/mcp.json")
	const text = "{\"mcpServers\": {}}\n"
	save(t, path, text)
	s.do(t, "/api/v1/connections/cursor/connect", `{"http":true}`, 200)
	old, _ := s.api.tokenFor("cursor")
	if !strings.Contains(load(t, path), old) {
		t.Fatal(load(t, path))
	}
	held := load(t, path)
	for action, want := range map[string]string{"rotate": `"key":"cursor"`, "revoke": "-"} {
		got := s.do(t, "/api/v1/tokens/cursor/"+action, `{"dryRun":true}`, 200)
		if same, _ := s.api.tokenFor("cursor"); same != old || load(t, path) != held || !strings.Contains(got, want) || !strings.Contains(got, "drawbridge") || strings.Contains(got, old) {
			t.Fatalf("asking what %s changes changes it, or does not say so: %s\n%s", action, got, load(t, path))
		}
	}
	got := s.do(t, "/api/v1/tokens/cursor/rotate", "", 200)
	now, _ := s.api.tokenFor("cursor")
	if now == old || !strings.Contains(load(t, path), now) || !strings.Contains(got, `"key":"cursor"`) || strings.Contains(got, now) || strings.Contains(got, old) {
		t.Fatalf("%s\n%s", got, load(t, path))
	}
	s.do(t, "/api/v1/tokens/cursor/revoke", "", 200)
	if load(t, path) != text {
		t.Fatal(load(t, path))
	}
	s.do(t, "/api/v1/tokens/nobody/rotate", "", 404)

	// A token that is in no client's file is shown to the user, once.
	got = s.do(t, "/api/v1/tokens/by-hand/create", "", 200)
	first, _ := s.api.tokenFor("by-hand")
	if !strings.Contains(got, `"token":"`+first+`"`) {
		t.Fatal(got)
	}
	if got = s.do(t, "/api/v1/tokens/by-hand/create", "", 409); strings.Contains(got, "dbr_") {
		t.Fatal(got)
	}
	got = s.do(t, "/api/v1/tokens/by-hand/rotate", "", 200)
	if second, _ := s.api.tokenFor("by-hand"); second == first || !strings.Contains(got, second) {
		t.Fatal(got)
	}
}

func TestDoctorAppliesOfferedFixes(t *testing.T) {
	s, home, _ := newConnectableSite(t)
	s.api.Doctor = func(context.Context) (doctor.Options, error) {
		return doctor.Options{Config: config.Default(), Getenv: func(string) string { return "" }, Listening: func(string) bool { return true },
			LookPath: func(string) (string, error) { return "/bin/x", nil }}, nil
	}
	path := filepath.Join(home, ".cursor/mcp.json")
	save(t, path, "{\"mcpServers\": {}}\n")
	s.do(t, "/api/v1/connections/cursor/connect", `{}`, 200)
	whole := load(t, path)
	save(t, path, "{}\n")
	finding := func() doctor.Finding {
		t.Helper()
		var list web.List[doctor.Finding]
		s.get(t, "/api/v1/doctor", &list)
		for _, f := range list.Items {
			if f.ID == "client-cursor" {
				return f
			}
		}
		t.Fatalf("%+v", list.Items)
		return doctor.Finding{}
	}
	if f := finding(); f.Level != doctor.Problem || f.Action == "" {
		t.Fatalf("%+v", f)
	}
	s.do(t, "/api/v1/doctor/client-cursor", "", 200)
	if load(t, path) != whole {
		t.Fatal(load(t, path))
	}
	s.do(t, "/api/v1/doctor/nothing", "", 404)
	s.do(t, "/api/v1/doctor/client-cursor", "", 403) // no problem to fix
}

func TestSnippetForUnknownClientCreatesNoToken(t *testing.T) {
	s, _, _ := newConnectableSite(t)
	s.want(t, "GET", "/api/v1/connections/nobody/snippet?http=true", "", http.StatusNotFound)
	if _, made, err := s.api.Tokens.Get("nobody"); made || err != nil {
		t.Errorf("a token for an unknown client: %v %v", made, err)
	}
	dir := t.TempDir()
	tokens, err := loopback.NewTokens(dir, nil)
	must(t, err)
	save(t, filepath.Join(dir, "tokens.json"), "not JSON")
	s.api.Tokens = tokens
	if status, body, _ := s.ask(t, "GET", "/api/v1/connections/cursor/snippet?http=true", ""); status < 400 {
		t.Errorf("a token that cannot be made: %d %s", status, body)
	}
}
