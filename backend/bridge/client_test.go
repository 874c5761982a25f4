package bridge

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// markedCatalog returns a catalog in which every text except the names contains word.
func markedCatalog(word, prefix string) *core.Catalog {
	raw := func(format string, args ...any) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(format, args...))
	}
	return &core.Catalog{
		Tools: []core.Item{
			{Name: "do", Raw: raw(`{"name":"do","description":"%s","inputSchema":{"type":"object"}}`, word)},
			{Name: "hide", Raw: raw(`{"name":"hide","description":"OUTSIDE","inputSchema":{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"R"}}}}`)},
		},
		Prompts:      []core.Item{{Name: "ask", Raw: raw(`{"name":"ask","description":"%s"}`, word)}},
		Resources:    []core.Item{{Name: prefix + "://doc", Raw: raw(`{"uri":"%s://doc","name":"%s"}`, prefix, word)}, {Name: "both://doc", Raw: raw(`{"uri":"both://doc","name":"%s"}`, word)}},
		Templates:    []core.Item{{Name: prefix + "://t/{x}", Raw: raw(`{"uriTemplate":"%s://t/{x}","name":"%s"}`, prefix, word)}},
		Capabilities: raw(`{"tools":{},"prompts":{},"resources":{"subscribe":true},"completions":{}}`),
		Instructions: word,
	}
}

// newProfileFixture returns a fixture with the servers out and in, in this order, the profile p (in
// without the tool hide), the profile q (everything), and the token bound, which is limited to p.
func newProfileFixture(t *testing.T, options ...func(*Options)) *fixture {
	s := newFixture(t, func(_ context.Context, c *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
		return core.Reply{Result: textReply("%s of %s", c.Name, c.Server)}, nil
	}, options...)
	s.registry.Configure(registry.Prefixed, []registry.Server{{ID: "out"}, {ID: "in"}, {ID: "late"}})
	s.registry.Set("out", "", markedCatalog("OUTSIDE", "out"))
	s.registry.Set("in", "", markedCatalog("inside", "in"))
	s.setProfiles(config.Profile{Name: "p", Servers: map[string]config.ProfileServer{"in": {Tools: config.Filter{Exclude: []string{"hide"}}}}}, config.Profile{Name: "q"})
	return s
}

func (s *fixture) setProfiles(profiles ...config.Profile) {
	s.registry.SetProfiles(profiles)
	v := Visibility{Clients: map[string]ClientVisibility{"bound": {Profile: "p"}, "sealed": {Profile: "gone"}}, Profiles: map[string]ProfileVisibility{},
		ProfileOf: func(folder string) string {
			return map[string]string{"office": "p", "lost": "gone"}[filepath.Base(folder)]
		}}
	for _, p := range profiles {
		v.Profiles[p.Name] = ProfileVisibility{ToolMode: p.ToolMode}
	}
	s.bridge.SetVisibility(v)
}

// absolute returns the path, on a drive if the system has drives.
func absolute(path string) string {
	folder, _ := filepath.Abs(path)
	return folder
}

// profileRoutes returns the ways for a client to be limited to the profile p, as paths and headers.
func profileRoutes() map[string][]string {
	work := base64.RawURLEncoding.EncodeToString([]byte(absolute("/office")))
	return map[string][]string{
		"token at all":            {"/mcp", ClientHeader, "bound"},
		"token at its profile":    {"/p/p/mcp", ClientHeader, "bound"},
		"token at a server":       {"/s/in/mcp", ClientHeader, "bound"},
		"address":                 {"/p/p/mcp", ClientHeader, "free"},
		"address without a token": {"/p/p/mcp"},
		"folder":                  {"/mcp", ClientHeader, "free", WorkspaceHeader, work},
		"folder in plain text":    {"/mcp", ClientHeader, "free", WorkspaceHeader, absolute("/office")},
		"token before folder":     {"/mcp", ClientHeader, "bound", WorkspaceHeader, base64.RawURLEncoding.EncodeToString([]byte(absolute("/elsewhere")))},
	}
}

// hiddenRequests are requests for items outside of the profile, under public names (%s is the
// prefix of the server) and the server's own names.
var hiddenRequests = []struct{ method, name, params string }{
	{"tools/list", "", ``}, {"prompts/list", "", ``}, {"resources/list", "", ``}, {"resources/templates/list", "", ``},
	{"tools/call", "out__do", `"name":"out__do","arguments":{}`},
	{"tools/call", "out__hide", `"name":"out__hide","arguments":{"r":"x"}`},
	{"tools/call", "in__hide", `"name":"in__hide","arguments":{"r":"x"}`},
	{"tools/call", "hide", `"name":"hide","arguments":{}`},
	{"tools/call", "late__any", `"name":"late__any","arguments":{}`},
	{"tools/call", "drawbridge__calls", `"name":"drawbridge__calls","arguments":{}`},
	{"tools/call", "calls", `"name":"calls","arguments":{}`},
	{"prompts/get", "out__ask", `"name":"out__ask"`},
	{"prompts/get", "late__ask", `"name":"late__ask"`},
	{"resources/read", "out://doc", `"uri":"out://doc"`},
	{"resources/read", "out://t/1", `"uri":"out://t/1"`},
	{"completion/complete", "", `"ref":{"type":"ref/prompt","name":"out__ask"},"argument":{"name":"a","value":""}`},
	{"completion/complete", "", `"ref":{"type":"ref/resource","uri":"out://t/{x}"},"argument":{"name":"x","value":""}`},
}

// A client that is limited to a profile can neither list nor call other items, however it is
// limited, in both eras.
func TestProfileHidesOtherToolsFromListAndCall(t *testing.T) {
	for way, req := range profileRoutes() {
		for _, era := range []core.Era{core.Legacy, core.Modern} {
			t.Run(way+"/"+string(era), func(t *testing.T) {
				s := newProfileFixture(t, func(o *Options) {
					o.Builtin = registry.New(registry.Options{})
					o.Builtin.Set("drawbridge", "", &core.Catalog{Tools: []core.Item{{Name: "calls", Raw: json.RawMessage(`{"name":"calls","description":"OUTSIDE"}`)}}})
					o.BuiltinTools = func() bool { return true }
				})
				s.checkHidden(era, req[0], req[1:])
			})
		}
	}
}

func (s *fixture) checkHidden(era core.Era, path string, from []string) {
	var session []string
	if era == core.Legacy {
		resp := s.post(path, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"probe","version":"9"}}}`, from...)
		id := resp.Header.Get(sessionHeader)
		s.expectUnknown("initialize", strings.Join(messages(s, resp), ""))
		session = append([]string{sessionHeader, id, versionHeader, "2025-11-25"}, from...)
		s.post(path, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, session...)
	}
	ask := func(method, name, params string) string {
		if era == core.Legacy {
			return strings.Join(messages(s, s.post(path, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+`}}`, session...)), "")
		}
		return strings.Join(messages(s, s.modern(path, method, name, params, from...)), "")
	}
	if era == core.Modern {
		s.expectUnknown("server/discover", ask("server/discover", "", ""))
	}
	server := strings.HasPrefix(path, "/s/")
	for _, o := range hiddenRequests {
		if server && o.method == "resources/read" {
			continue // at the endpoint of one server every URI belongs to it
		}
		if server && strings.Contains(o.params, "ref/resource") {
			continue
		}
		before := len(s.gateway.seen)
		answer := ask(o.method, o.name, o.params)
		s.expectUnknown(o.method+" "+o.params, answer)
		for _, c := range s.gateway.seen[before:] {
			if c.Server != "" {
				s.Errorf("%s %s reached %s", o.method, o.params, c.Server)
			}
		}
	}
	// Items of the profile are visible, even if an earlier hidden server has the same URI.
	prefix := "in__"
	if server {
		prefix = ""
	}
	for _, in := range []struct{ method, name, params string }{
		{"tools/call", prefix + "do", `"name":"` + prefix + `do","arguments":{}`},
		{"prompts/get", prefix + "ask", `"name":"` + prefix + `ask"`},
		{"resources/read", "in://doc", `"uri":"in://doc"`}, {"resources/read", "in://t/9", `"uri":"in://t/9"`}, {"resources/read", "both://" + prefix + "doc", `"uri":"both://` + prefix + `doc"`},
	} {
		answer := ask(in.method, in.name, in.params)
		if got := s.gateway.last(); got == nil || got.Server != "in" || got.Profile != "p" {
			s.Errorf("%s %s: %s, the gateway saw %+v", in.method, in.params, answer, got)
		}
	}
	if list := ask("tools/list", "", ""); !strings.Contains(list, `"inside"`) || strings.Count(list, `"description"`) != 1 {
		s.Errorf("the tools are %s", list)
	}
	if era == core.Legacy && !server {
		s.expectUnknown("subscribe", ask("resources/subscribe", "", `"uri":"out://doc"`))
		if got := s.gateway.last(); got.Method == "resources/subscribe" {
			s.Errorf("a subscription outside reached %s", got.Server)
		}
		batch := `[{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{}},{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"out__do","arguments":{}}}]`
		before := len(s.gateway.seen)
		s.expectUnknown("a batch", strings.Join(messages(s, s.post(path, batch, append([]string{sessionHeader, session[1], versionHeader, "2025-03-26"}, from...)...)), ""))
		for _, c := range s.gateway.seen[before:] {
			if c.Server == "out" {
				s.Error("a batch reached out")
			}
		}
	}
}

func (s *fixture) expectUnknown(what, answer string) {
	s.Helper()
	if strings.Contains(answer, "OUTSIDE") {
		s.Errorf("%s tells of what is outside:\n%s", what, answer)
	}
}

// A token that is limited to a profile is refused at all other endpoints, for every method.
func TestBoundTokenIsRefusedAtOtherEndpoints(t *testing.T) {
	s := newProfileFixture(t, func(o *Options) {
		o.Builtin = registry.New(registry.Options{})
		o.Builtin.Set("drawbridge", "", &core.Catalog{})
	})
	for _, path := range []string{"/p/q/mcp", "/s/out/mcp", "/s/late/mcp", "/s/drawbridge/mcp", "/p/nobody/mcp", "/p/P/mcp", "/s/OUT/mcp", "/p/p%2f..%2fq/mcp", "/p/q/../p/mcp"} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
			body := ""
			if method == http.MethodPost {
				body = `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
			}
			resp := s.request(method, path, body, ClientHeader, "bound")
			answer, _ := io.ReadAll(resp.Body)
			assert.Equalf(t, http.StatusNotFound, resp.StatusCode, "%v %v %v", method, path, answer)
			s.expectUnknown(path, string(answer))
		}
	}
	// A client whose profile was deleted sees nothing, and gets an error that says what to do.
	for _, path := range []string{"/mcp", "/p/p/mcp", "/p/gone/mcp", "/s/in/mcp"} {
		answer := strings.Join(messages(s, s.modern(path, "tools/list", "", "", ClientHeader, "sealed")), "")
		s.expectUnknown(path, answer)
		assert.NotContains(t, answer, "inside", path)
		if (path == "/mcp" || path == "/s/in/mcp") && !strings.Contains(answer, `no longer exists: choose another one`) {
			t.Errorf("%s does not say what to do: %s", path, answer)
		}
	}
}

// If the configuration cannot be read, the restrictions are unknown, so no client sees anything,
// not even in an open session. Sessions do not cache what their client sees: an edit applies to the
// next request.
func TestUnknownVisibilityHidesEverything(t *testing.T) {
	s := newProfileFixture(t)
	session := s.openSession("/mcp", `{}`, ClientHeader, "bound")
	list := func() string {
		return onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, session...))
	}
	require.Contains(t, list(), "in__do")
	s.bridge.SetVisibility(Visibility{Unknown: "fix line 3 of config.jsonc"})
	for _, path := range []string{"/mcp", "/p/p/mcp", "/s/in/mcp"} {
		for _, o := range []struct{ method, name, params string }{
			{"tools/list", "", ""}, {"server/discover", "", ""}, {"tools/call", "in__do", `"name":"in__do","arguments":{}`}, {"resources/read", "in://doc", `"uri":"in://doc"`},
		} {
			before := len(s.gateway.seen)
			answer := strings.Join(messages(s, s.modern(path, o.method, o.name, o.params, ClientHeader, "free")), "")
			if s.expectUnknown(path, answer); strings.Contains(answer, "inside") || !strings.Contains(answer, "fix line 3") || len(s.gateway.seen) > before {
				t.Errorf("%s %s: %s", path, o.method, answer)
			}
		}
	}
	answer := strings.Join(messages(s, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"in__do","arguments":{}}}`, session...)), "")
	assert.Contains(t, answer, "fix line 3")
	s.setProfiles(config.Profile{Name: "p"})
	assert.Contains(t, list(), "in__do")
	s.setProfiles(config.Profile{Name: "p", Servers: map[string]config.ProfileServer{}})
	assert.NotContains(t, list(), "in__do", "an empty profile")
}

// An equal visibility is not set again; a different one must be.
func TestDifferentVisibilitiesAreNotEqual(t *testing.T) {
	s := newProfileFixture(t)
	r := func() Visibility {
		return Visibility{Clients: map[string]ClientVisibility{"a": {Profile: "p"}}, Profiles: map[string]ProfileVisibility{"p": {}}}
	}
	s.bridge.SetVisibility(r())
	assert.True(t, s.bridge.HasVisibility(r()), "the same is another")
	for what, change := range map[string]func(*Visibility){
		"unknown":             func(r *Visibility) { r.Unknown = "mend it" },
		"another profile":     func(r *Visibility) { r.Clients["a"] = ClientVisibility{Profile: "q"} },
		"another client":      func(r *Visibility) { r.Clients["b"] = ClientVisibility{Profile: "p"} },
		"another way to list": func(r *Visibility) { r.Profiles["p"] = ProfileVisibility{ToolMode: ToolsSearch} },
	} {
		other := r()
		change(&other)
		assert.Falsef(t, s.bridge.HasVisibility(other), "%s is the same", what)
	}
}

// folderClient is a legacy client that answers roots/list with its folder.
type folderClient struct {
	s       *fixture
	headers []string
	folder  string
	asked   atomic.Int32
}

func newFolderClient(s *fixture, folder, capabilities string, headers ...string) *folderClient {
	headers = append([]string{ClientHeader, "free"}, headers...)
	return &folderClient{s: s, folder: folder, headers: append(s.openSession("/mcp", capabilities, headers...), headers...)}
}

// answer answers a message if it is roots/list, and reports whether it was.
func (c *folderClient) answer(m string) bool {
	var ask struct{ ID, Method string }
	if json.Unmarshal([]byte(m), &ask); ask.Method != "roots/list" {
		return false
	}
	c.asked.Add(1)
	if c.folder != "" {
		c.s.post("/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":{"roots":[{"uri":"file://%s"}]}}`, ask.ID, strings.Replace("/"+filepath.ToSlash(absolute(c.folder)), "//", "/", 1)), c.headers...)
	}
	return true
}

// request returns the response to a request.
func (c *folderClient) request(id int, method, params string) (got string) {
	resp := c.s.post("/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, id, method, params), c.headers...)
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return onlyMessage(c.s, resp)
	}
	for m := range events(resp.Body) {
		if !c.answer(m) && strings.Contains(m, fmt.Sprintf(`"id":%d,`, id)) {
			got = m
		}
	}
	return got
}

func withFolders(s *fixture) {
	v := *s.bridge.views.visibility.Load()
	v.Folders = true
	s.bridge.SetVisibility(v)
}

func TestFolderThatClientReportsDecidesItsProfile(t *testing.T) {
	s := newProfileFixture(t)
	withFolders(s)
	office, elsewhere := newFolderClient(s, "/office", `{"roots":{"listChanged":true}}`), newFolderClient(s, "/elsewhere", `{"roots":{}}`)
	silent, incapable := newFolderClient(s, "/office", `{}`), newFolderClient(s, "/office", `{"sampling":{}}`)
	for round := range 3 {
		got := office.request(round*10+1, "tools/list", "")
		assert.Truef(t, !strings.Contains(got, "OUTSIDE") && strings.Contains(got, "in__do"), "in the folder of the profile: %s", got)
		got = office.request(round*10+2, "tools/call", `"name":"out__do"`)
		assert.Truef(t, strings.Contains(got, "out__do") && !strings.Contains(got, "do of out"), "a call outside of the profile: %s", got)
		for _, c := range []*folderClient{elsewhere, silent, incapable} {
			assert.Contains(t, c.request(round*10+3, "tools/list", ""), "out__do", "in no folder of a profile")
		}
	}
	a, b, c := office.asked.Load(), elsewhere.asked.Load(), silent.asked.Load()+incapable.asked.Load()
	assert.Truef(t, a == 1 && b == 1 && c == 0, "asked %d and %d times, without the capability %d times", a, b, c)
}

// The folders of a client on another file system mean nothing here: a rule or a profile for a folder of
// the same name must not apply.
func TestFoldersOfClientElsewhereAreIgnored(t *testing.T) {
	s := newProfileFixture(t, func(o *Options) {
		o.Elsewhere = func(token string) bool { return token == "free" }
		o.WantsWorkspace = func(*core.Call) bool { return true }
	})
	withFolders(s)
	c := newFolderClient(s, "/office", `{"roots":{}}`, WorkspaceHeader, absolute("/office"))
	if got := c.request(1, "tools/call", `"name":"out__do"`); !strings.Contains(got, "do of out") || c.asked.Load() != 0 {
		t.Errorf("got %s, asked %d times", got, c.asked.Load())
	}
	assert.Empty(t, s.gateway.last().Workspace, "the call is made")
}

func TestEndedClientLosesItsSessionsAndCalls(t *testing.T) {
	s := newFixture(t, func(ctx context.Context, c *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
		if c.Client.Token == "free" {
			<-ctx.Done()
			return core.Reply{}, context.Cause(ctx)
		}
		return core.Reply{Result: textReply("ok")}, nil
	})
	gone, other := newFolderClient(s, "", `{}`), append(s.openSession("/mcp", `{}`, ClientHeader, "other"), ClientHeader, "other")
	ended := make(chan string)
	go func() { ended <- gone.request(1, "tools/call", `"name":"math__add"`) }()
	eventually.Complete(t, 5*time.Second, func() string {
		if s.gateway.last() == nil {
			return "no call"
		}
		return ""
	})
	s.bridge.EndClient("free")
	select {
	case got := <-ended:
		assert.Contains(t, got, "session ended", "the call in flight")
	case <-time.After(5 * time.Second):
		t.Fatal("the call in flight has not ended")
	}
	assert.Contains(t, gone.request(2, "tools/list", ""), "unknown or has ended", "the session is still used")
	assert.Contains(t, onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"math__add"}}`, other...)), "ok")
}

func TestBoundClientsAndOtherEndpointsAreNotAskedForRoots(t *testing.T) {
	s := newProfileFixture(t)
	c := newFolderClient(s, "/office", `{"roots":{}}`)
	c.request(1, "tools/list", "") // no profile has folders
	withFolders(s)
	h := append(s.openSession("/mcp", `{"roots":{}}`, ClientHeader, "bound"), ClientHeader, "bound")
	assert.NotContains(t, onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, h...)), "roots/list")
	assert.EqualValues(t, 0, c.asked.Load(), "a client was asked although its folder decides nothing")
}

func TestClientThatDoesNotListItsRootsIsAskedOnce(t *testing.T) {
	s := newProfileFixture(t, func(o *Options) { o.AskTimeout = 20 * time.Millisecond })
	withFolders(s)
	c := newFolderClient(s, "", `{"roots":{}}`)
	for i := range 3 {
		assert.Contains(t, c.request(i+1, "tools/list", ""), "out__do")
	}
	assert.EqualValues(t, 1, c.asked.Load())
}

func TestChangedRootsChangeListsWithNotification(t *testing.T) {
	s := newProfileFixture(t)
	withFolders(s)
	c := newFolderClient(s, "/office", `{"roots":{"listChanged":true}}`)
	stream := s.request(http.MethodGet, "/mcp", "", c.headers...)
	require.NotContains(t, c.request(1, "tools/list", ""), "OUTSIDE")
	c.folder = "/elsewhere"
	c.s.post("/mcp", `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, c.headers...)
	for m := range events(stream.Body) {
		if !c.answer(m) && strings.Contains(m, "notifications/tools/list_changed") {
			break
		}
	}
	assert.Contains(t, c.request(2, "tools/list", ""), "out__do")
	assert.EqualValues(t, 2, c.asked.Load())
}
