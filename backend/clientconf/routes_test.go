package clientconf

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/profiles"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/backend/web/webtest"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// site has the operations of clients, with configuration files in a home directory of its own.
type site struct {
	*webtest.Site
	feature    *Feature
	home, ours string
	vault      *secret.Store
	costs      *profiles.Feature

	statuses  []core.ServerStatus
	bothEras  string
	peers     []bridge.ClientInfo
	presences []bridge.ClientActivity
	sessions  []bridge.Session
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{home: t.TempDir(), ours: filepath.Join(t.TempDir(), "config.jsonc"), vault: secret.For(t.TempDir(), func(string) string { return "off" })}
	c, err := New(Options{
		System: System{GOOS: "linux", Home: s.home, Getenv: func(string) string { return "" }},
		Dir:    filepath.Join(t.TempDir(), "clients"), Program: "/opt/drawbridge", Config: s.ours, Vault: s.vault,
	})
	require.NoError(t, err)
	tokens, err := loopback.NewTokens(t.TempDir(), nil)
	require.NoError(t, err)
	s.feature = &Feature{URL: "http://127.0.0.1:7575", Connector: c, Tokens: tokens, Config: config.Default, Servers: s, Views: registry.New(registry.Options{}), Bridge: s}
	s.feature.Limits = func(string) bridge.ClientLimits { return bridge.ClientLimits{} }
	s.costs = &profiles.Feature{Config: settings{s: s}, Views: s.feature.Views, Limits: s.feature.Limits, Entries: s.feature.EntriesOf}
	s.feature.ListCost = s.costs.ListCost
	s.Site = webtest.New(s.feature)
	return s
}

// settings is the configuration, as another feature sees it.
type settings struct {
	profiles.Editor
	s *site
}

func (c settings) Current() *config.Config { return c.s.feature.Config() }

func (s *site) Statuses() []core.ServerStatus             { return s.statuses }
func (s *site) HasBothEras(id string) bool                { return id == s.bothEras }
func (s *site) Sessions() []bridge.Session                { return s.sessions }
func (s *site) ClientInfos() []bridge.ClientInfo          { return s.peers }
func (s *site) ClientActivities() []bridge.ClientActivity { return s.presences }
func (s *site) Status(id string) (st core.ServerStatus, ok bool) {
	i := slices.IndexFunc(s.statuses, func(st core.ServerStatus) bool { return st.ID == id })
	if i < 0 {
		return st, false
	}
	return s.statuses[i], true
}

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

func (s *site) connection(t *testing.T, key string) Connection {
	t.Helper()
	var list web.List[Connection]
	s.Get(t, "/api/v1/connections", &list)
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
	s := newSite(t)
	const before = `{"mcpServers": {"a": {"command": "a"}}}`
	outside, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	outside = filepath.Join(outside, "mcp.json")
	save(t, outside, before)
	require.NoError(t, errors.Join(os.Mkdir(filepath.Join(s.home, ".cursor"), 0o700), os.Symlink(outside, filepath.Join(s.home, ".cursor/mcp.json"))))
	var one ConnectionPlan
	require.NoError(t, json.Unmarshal([]byte(s.Do(t, "/api/v1/connections/cursor/plan", `{"move":true}`, 200)), &one))
	var all TakeoverPlan
	s.Get(t, "/api/v1/takeover", &all)
	if one.Outside != outside || len(all.Clients) != 1 || all.Clients[0].Outside != outside {
		t.Fatalf("the plans name %q and %+v", one.Outside, all.Clients)
	}
	confirmed, _ := json.Marshal([]string{outside})
	for path, body := range map[string]string{"connections/cursor/connect": `{"move":true`, "takeover": `{"plan":"` + all.Plan + `"`} {
		for _, other := range []string{``, `,"outside":["/another"]`} {
			assert.Contains(t, s.Do(t, "/api/v1/"+path, body+other+`}`, 409), outside)
		}
	}
	require.Equal(t, before, load(t, outside), "changed without confirmation")
	s.Do(t, "/api/v1/takeover", `{"plan":"`+all.Plan+`","outside":`+string(confirmed)+`}`, 200)
	assert.NotEqual(t, before, load(t, outside), "the confirmed file is unchanged")
	s.Do(t, "/api/v1/connections/cursor/undo", ``, 200)
	s.Do(t, "/api/v1/connections/cursor/connect", `{"outside":`+string(confirmed)+`}`, 200)
}

func TestClientIsConnectedAtFirstHandshakeWithToolCount(t *testing.T) {
	s := newSite(t)
	save(t, filepath.Join(s.home, ".cursor/mcp.json"), `{"mcpServers": {}}`)
	s.presences = []bridge.ClientActivity{{Token: "cursor", Endpoint: "/mcp", First: time.Now().Add(-time.Hour), Last: time.Now().Add(-time.Hour), Tools: 3}}
	s.peers = []bridge.ClientInfo{{Client: core.Client{Token: "cursor"}, LastSeen: time.Now().Add(-time.Hour)}}
	s.Do(t, "/api/v1/connections/cursor/connect", `{}`, 200)
	c := s.connection(t, "cursor")
	require.Truef(t, !c.Live && c.Reloads && c.Tools == 0 && c.Next != "" && c.Link, "what was before the connection counts: %+v", c)
	s.peers = []bridge.ClientInfo{{Client: core.Client{Token: "zed"}, LastSeen: time.Now().Add(time.Second)}}
	c = s.connection(t, "cursor")
	require.Falsef(t, c.Live, "another client makes it green: %+v", c)
	at := time.Now().Add(time.Second)
	s.peers = append(s.peers, bridge.ClientInfo{Client: core.Client{Token: "cursor"}, LastSeen: at})
	c = s.connection(t, "cursor")
	require.Truef(t, c.Live && c.Next == "" && c.Since != nil && c.Since.Equal(at.UTC()) && c.Tools == 0, "after the handshake: %+v", c)
	s.presences = []bridge.ClientActivity{{Token: "cursor", Endpoint: "/mcp", First: at, Last: at.Add(time.Second), Tools: 12}}
	c = s.connection(t, "cursor")
	require.Truef(t, c.Tools == 12 && c.LastSeen.Equal(at.Add(time.Second).UTC()), "after the list: %+v", c)
}

// What a client called before it was disconnected is no sign of an entry elsewhere.
func TestDisconnectedClientHasLeftAtThatTime(t *testing.T) {
	s := newSite(t)
	save(t, filepath.Join(s.home, ".cursor/mcp.json"), `{"mcpServers": {}}`)
	require.Nil(t, s.connection(t, "cursor").LeftAt, "it was not connected")
	s.Do(t, "/api/v1/connections/cursor/connect", `{}`, 200)
	require.Nil(t, s.connection(t, "cursor").LeftAt)
	_, err := s.feature.Connector.Undo(t.Context(), "cursor", UndoOptions{}) // as by the command line
	require.NoError(t, err)
	left := s.connection(t, "cursor").LeftAt
	require.NotNil(t, left)
	assert.Equal(t, left, s.connection(t, "cursor").LeftAt, "it left once")
	s.Do(t, "/api/v1/connections/cursor/connect", `{}`, 200)
	assert.Nil(t, s.connection(t, "cursor").LeftAt)
}

// A client whose entries each name a server pays for the tools of these servers, however lists are shortened at /mcp;
// one with an entry for all pays for all.
func TestListCostsWhatTheEntriesOfAClientOffer(t *testing.T) {
	s := newSite(t)
	cfg := config.Default()
	cfg.Clients = map[string]config.Client{"cursor": {ToolMode: config.ToolsSearch}, "windsurf": {ToolMode: config.ToolsSearch}}
	s.feature.Config = func() *config.Config { return cfg }
	for id, size := range map[string]int{"a": 800, "b": 4000, "other": 4000} {
		tools := []core.Item{{Name: "t", Raw: json.RawMessage(`{"name":"t","description":"` + strings.Repeat("x", size) + `","inputSchema":{"type":"object"}}`)}}
		s.feature.Views.Set(id, id, &core.Catalog{Tools: tools})
	}
	save(t, filepath.Join(s.home, ".cursor/mcp.json"), `{"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}, "gone": {"command": "c"}}}`)
	s.Do(t, "/api/v1/connections/cursor/connect", `{"move":true}`, 200)
	assert.Contains(t, s.Do(t, "/api/v1/connections/windsurf/plan", `{}`, 200), "tokens in each session (tool listing: all).")
	s.Do(t, "/api/v1/connections/windsurf/connect", `{}`, 200)
	for client, want := range map[string]struct {
		byServer bool
		all      int // tokens of all tools
		offered  int // tools in the mode search: for cursor, that of a, and the two that search those of b
	}{"cursor": {true, 1200, 3}, "windsurf": {false, 2300, 2}} {
		c := s.connection(t, client)
		cost, mode, _ := s.feature.ListCost(client, s.feature.EntriesOf(client), "")
		assert.Truef(t, c.ByServer == want.byServer && c.ToolMode == config.ToolsSearch && mode == config.ToolsSearch, "%s: %+v", client, c)
		assert.Equal(t, want.offered, c.Offered, client)
		assert.InDelta(t, want.all, cost.Tokens(""), 120, client)
		assert.Less(t, c.Tokens, want.all*2/3, client)
		assert.Equal(t, c.Tokens, cost.Tokens(config.ToolsSearch), client)
		assert.Positive(t, cost.Discovery(config.ToolsSearch, "b", "t"), client)
	}
	cfg.Clients["cursor"] = config.Client{ToolMode: config.ToolsAuto}
	c := s.connection(t, "cursor")
	assert.Truef(t, c.ToolMode == config.ToolsAll && c.Offered == 2, "the entries for one server list all tools: %+v", c)
	assert.Empty(t, append(c.Own, c.Warnings...))
	s.feature.Views.SetProfiles([]config.Profile{{Name: "lean", Servers: map[string]config.ProfileServer{"a": {}}}})
	cfg.Profiles, cfg.Clients["cursor"] = []config.Profile{{Name: "lean"}}, config.Client{Profile: "lean"}
	c = s.connection(t, "cursor")
	assert.Equal(t, 1, c.Offered)
	require.Len(t, c.Warnings, 1)
	assert.Contains(t, c.Warnings[0], `Its profile "lean" does not include b: Cursor`)
}

func TestImportMovesSecretsAndIsUndone(t *testing.T) {
	s := newSite(t)
	save(t, filepath.Join(s.home, ".cursor/mcp.json"), `{"mcpServers": {"gh": {"command": "x", "env": {"API_TOKEN": "canary-api-1"}}}}`)
	planned := s.Do(t, "/api/v1/connections/cursor/import/plan", `{}`, 200)
	var p ImportPlan
	err := json.Unmarshal([]byte(planned), &p)
	require.Truef(t, err == nil && len(p.Secrets) == 1 && p.ID == "", "%s %v", planned, err)
	_, err = os.Stat(s.ours)
	require.Error(t, err, "a plan writes")
	s.Do(t, "/api/v1/connections/cursor/import", `{"diff":"another"}`, http.StatusConflict)
	body, _ := json.Marshal(map[string]string{"diff": p.Diff})
	done := s.Do(t, "/api/v1/connections/cursor/import", string(body), 200)
	err = json.Unmarshal([]byte(done), &p)
	require.Truef(t, err == nil && p.ID != "", "%v %v", done, err)
	require.NotContains(t, planned+done+load(t, s.ours), "canary", "a secret is shown")
	var list web.List[CompletedImport]
	if s.Get(t, "/api/v1/imports", &list); len(list.Items) != 1 || list.Items[0].ID != p.ID || list.Items[0].Client != "cursor" {
		t.Fatalf("%+v", list)
	}
	s.Do(t, "/api/v1/imports/"+p.ID+"/undo", "", 200)
	_, err = os.Stat(s.ours)
	require.Error(t, err, "it is still there")
	all, err := s.vault.List(t.Context())
	require.Truef(t, err == nil && len(all) == 0, "secrets are left: %v %v", all, err)
}

func TestMovesAreUndoneOneByOne(t *testing.T) {
	s := newSite(t)
	path := filepath.Join(s.home, ".cursor/mcp.json")
	const text = `{"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}}}`
	save(t, path, text)
	s.Do(t, "/api/v1/connections/cursor/connect", `{"move":true,"servers":["a"]}`, 200)
	s.Do(t, "/api/v1/connections/cursor/connect", `{"move":true,"servers":["b"]}`, 200)
	require.Len(t, s.connection(t, "cursor").Moved, 2)
	s.Do(t, "/api/v1/connections/cursor/undo", `{"servers":["a"]}`, 200)
	if c := s.connection(t, "cursor"); len(c.Moved) != 1 || c.Moved[0].Name != "b" || !strings.Contains(load(t, path), `"a": {"command": "a"}`) {
		t.Fatalf("%+v\n%s", c.Moved, load(t, path))
	}
	s.Do(t, "/api/v1/connections/cursor/undo", "", 200)
	require.Equal(t, text, load(t, path))
}

func TestSnippetAndBundleContainNoToken(t *testing.T) {
	s := newSite(t)
	var h ManualSetup
	s.Get(t, "/api/v1/connections/cursor/snippet", &h)
	require.Truef(t, strings.HasPrefix(h.Link, "cursor://") && strings.Contains(h.Text, "/opt/drawbridge"), "%+v", h)
	s.Get(t, "/api/v1/connections/cursor/snippet?http=true", &h)
	require.NotContains(t, h.Text, "dbr_")
	require.Empty(t, h.Link)
	s.feature.Connector.data = `/home/me/my "data"`
	var generic ManualEntry
	s.Get(t, "/api/v1/manual-entry", &generic)
	require.JSONEq(t, `{"mcpServers":{"drawbridge":{"command":"/opt/drawbridge","args":["stdio","--data","/home/me/my \"data\""]}}}`, generic.Text)
	w := s.Record("GET", "/api/v1/connections/claude-desktop/bundle", "")
	status, body, header := w.Code, w.Body.String(), w.Header()
	if status != 200 || !strings.HasPrefix(body, "PK") || header.Get("Content-Type") != "application/zip" || !strings.Contains(header.Get("Content-Disposition"), "drawbridge.mcpb") || strings.Contains(body, "dbr_") {
		t.Fatalf("%d %v", status, header)
	}
	s.Want(t, "GET", "/api/v1/connections/zed/bundle", "", 404)
}

func TestRotatedTokenReplacesOldAndRevokedIsRemoved(t *testing.T) {
	s := newSite(t)
	path := filepath.Join(s.home, ".cursor/mcp.json")
	const text = "{\"mcpServers\": {}}\n"
	save(t, path, text)
	s.Do(t, "/api/v1/connections/cursor/connect", `{"http":true}`, 200)
	old, _ := s.feature.TokenFor("cursor")
	require.Contains(t, load(t, path), old)
	held := load(t, path)
	for action, want := range map[string]string{"rotate": `"key":"cursor"`, "revoke": "-"} {
		got := s.Do(t, "/api/v1/tokens/cursor/"+action, `{"dryRun":true}`, 200)
		if same, _ := s.feature.TokenFor("cursor"); same != old || load(t, path) != held || !strings.Contains(got, want) || !strings.Contains(got, "drawbridge") || strings.Contains(got, old) {
			t.Fatalf("asking what %s changes changes it, or does not say so: %s\n%s", action, got, load(t, path))
		}
	}
	got := s.Do(t, "/api/v1/tokens/cursor/rotate", "", 200)
	now, _ := s.feature.TokenFor("cursor")
	if now == old || !strings.Contains(load(t, path), now) || !strings.Contains(got, `"key":"cursor"`) || strings.Contains(got, now) || strings.Contains(got, old) {
		t.Fatalf("%s\n%s", got, load(t, path))
	}
	s.Do(t, "/api/v1/tokens/cursor/revoke", "", 200)
	require.Equal(t, text, load(t, path))
	s.Do(t, "/api/v1/tokens/nobody/rotate", "", 404)

	// A token that is in no client's file is shown to the user, once.
	got = s.Do(t, "/api/v1/tokens/by-hand/create", "", 200)
	first, _ := s.feature.TokenFor("by-hand")
	require.Contains(t, got, `"token":"`+first+`"`)
	if got = s.Do(t, "/api/v1/tokens/by-hand/create", "", 409); strings.Contains(got, "dbr_") {
		t.Fatal(got)
	}
	got = s.Do(t, "/api/v1/tokens/by-hand/rotate", "", 200)
	second, _ := s.feature.TokenFor("by-hand")
	require.True(t, second != first && strings.Contains(got, second), got)
}

func TestSnippetForUnknownClientCreatesNoToken(t *testing.T) {
	s := newSite(t)
	s.Want(t, "GET", "/api/v1/connections/nobody/snippet?http=true", "", http.StatusNotFound)
	if _, made, err := s.feature.Tokens.Get("nobody"); made || err != nil {
		t.Errorf("a token for an unknown client: %v %v", made, err)
	}
	dir := t.TempDir()
	tokens, err := loopback.NewTokens(dir, nil)
	require.NoError(t, err)
	save(t, filepath.Join(dir, "tokens.json"), "not JSON")
	s.feature.Tokens = tokens
	status, body := s.Ask("GET", "/api/v1/connections/cursor/snippet?http=true", "")
	assert.Truef(t, status >= 400, "a token that cannot be made: %d %s", status, body)
}

func TestFeaturesAreListedByClientAndServer(t *testing.T) {
	s := newSite(t)
	s.statuses = []core.ServerStatus{{ID: "files", Era: core.Legacy}, {ID: "late"}}
	s.feature.Views.Set("files", "", &core.Catalog{Capabilities: json.RawMessage(`{"tools":{},"resources":{"subscribe":true}}`)})
	s.bothEras = "files"
	s.peers = []bridge.ClientInfo{
		{Client: core.Client{Token: "cursor", Name: "Cursor", Version: "1"}, Protocol: core.LegacyVersion, LastSeen: time.Unix(9, 0),
			Peer: bridge.Peer{Era: core.Legacy, Capabilities: json.RawMessage(`{"roots":{}}`)}},
		{Client: core.Client{Token: "claude", Name: "Claude"}, Protocol: core.ModernVersion, LastSeen: time.Unix(8, 0),
			Peer: bridge.Peer{Era: core.Modern, Capabilities: json.RawMessage(`{}`)}},
	}
	tell := func(query string) string {
		var list web.List[ClientFeatures]
		s.Get(t, "/api/v1/features"+query, &list)
		var out []string
		for _, c := range list.Items {
			for _, server := range c.Servers {
				line := fmt.Sprintf("%s/%s %s/%s %v", c.Token, server.Server, c.Era, server.Era, server.Known)
				for _, f := range server.Features {
					switch f.Name {
					case "tools", "prompts", "subscriptions", "elicitation", "roots":
						line += " " + f.Name + ":" + f.How
					}
				}
				out = append(out, line)
			}
		}
		return strings.Join(out, "\n")
	}
	cursor := "cursor/files legacy/legacy true tools:passes prompts:not server subscriptions:passes elicitation:with approval roots:passes"
	claude := "claude/files modern/modern true tools:passes prompts:not server subscriptions:passes elicitation:with approval roots:not client"
	for query, want := range map[string]string{
		"":                            cursor + "\ncursor/late legacy/ false\n" + claude + "\nclaude/late modern/ false",
		"?client=Cursor":              cursor + "\ncursor/late legacy/ false",
		"?server=files&client=claude": claude,
		"?client=nobody":              "",
	} {
		assert.Equalf(t, want, tell(query), "%q", query)
	}
	s.Want(t, "GET", "/api/v1/features?server=nobody", "", 404)
}

// Nobody has agreed to anything yet during a preview: it creates no access token, and names none.
func TestPreviewOfAConnectionCreatesNoToken(t *testing.T) {
	s := newSite(t)
	file := filepath.Join(s.home, ".cursor/mcp.json")
	save(t, file, `{"mcpServers":{"a":{"command":"x"}}}`)
	before := filesIn(t, s.home, filepath.Dir(s.ours), s.feature.Connector.dir)
	var plan ConnectionPlan
	for _, body := range []string{`{"http":true}`, `{"http":true,"move":true}`, `{"move":true}`, `{}`} {
		plan = ConnectionPlan{}
		require.NoError(t, json.Unmarshal([]byte(s.Do(t, "/api/v1/connections/cursor/plan", body, 200)), &plan))
		assert.NotEmpty(t, plan.Diff)
	}
	s.Do(t, "/api/v1/connections/cursor/import/plan", `{}`, 200)
	s.Want(t, "GET", "/api/v1/takeover", "", 200)
	s.Want(t, "GET", "/api/v1/connections/cursor/undo", "", 200)
	s.Do(t, "/api/v1/connections/cursor/connect", `{"http":true,"diff":"another"}`, 409)
	_, known, err := s.feature.Tokens.Get("cursor")
	assert.False(t, known, err)
	assert.Equal(t, before, filesIn(t, s.home, filepath.Dir(s.ours), s.feature.Connector.dir))

	require.NoError(t, json.Unmarshal([]byte(s.Do(t, "/api/v1/connections/cursor/plan", `{"http":true}`, 200)), &plan))
	body, err := json.Marshal(map[string]any{"http": true, "diff": plan.Diff})
	require.NoError(t, err)
	s.Do(t, "/api/v1/connections/cursor/connect", string(body), 200)
	token, known, err := s.feature.Tokens.Get("cursor")
	require.Truef(t, known && err == nil, "%v", err)
	assert.Contains(t, load(t, file), token.Token)
}

// filesIn returns the files in folders, with their contents.
func filesIn(t *testing.T, folders ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				all[path] = load(t, path)
			}
			return nil
		})
		require.NoError(t, err)
	}
	return all
}
