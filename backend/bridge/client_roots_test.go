package bridge

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

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
		c.s.post("/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":{"roots":[{"uri":"file://%s"}]}}`, ask.ID, c.folder), c.headers...)
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
	v := *s.bridge.visibility.Load()
	v.Folders = true
	s.bridge.SetVisibility(v)
}

func TestFolderThatClientReportsDecidesItsProfile(t *testing.T) {
	s := newProfileFixture(t)
	withFolders(s)
	office, elsewhere := newFolderClient(s, "/office", `{"roots":{"listChanged":true}}`), newFolderClient(s, "/elsewhere", `{"roots":{}}`)
	silent, incapable := newFolderClient(s, "/office", `{}`), newFolderClient(s, "/office", `{"sampling":{}}`)
	for round := range 3 {
		if got := office.request(round*10+1, "tools/list", ""); strings.Contains(got, "OUTSIDE") || !strings.Contains(got, "in__do") {
			t.Errorf("in the folder of the profile: %s", got)
		}
		if got := office.request(round*10+2, "tools/call", `"name":"out__do"`); !strings.Contains(got, "out__do") || strings.Contains(got, "do of out") {
			t.Errorf("a call outside of the profile: %s", got)
		}
		for _, c := range []*folderClient{elsewhere, silent, incapable} {
			if got := c.request(round*10+3, "tools/list", ""); !strings.Contains(got, "out__do") {
				t.Errorf("in no folder of a profile: %s", got)
			}
		}
	}
	if a, b, c := office.asked.Load(), elsewhere.asked.Load(), silent.asked.Load()+incapable.asked.Load(); a != 1 || b != 1 || c != 0 {
		t.Errorf("asked %d and %d times, without the capability %d times", a, b, c)
	}
}

func TestBoundClientsAndOtherEndpointsAreNotAskedForRoots(t *testing.T) {
	s := newProfileFixture(t)
	c := newFolderClient(s, "/office", `{"roots":{}}`)
	c.request(1, "tools/list", "") // no profile has folders
	withFolders(s)
	h := append(s.openSession("/mcp", `{"roots":{}}`, ClientHeader, "bound"), ClientHeader, "bound")
	if got := onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, h...)); strings.Contains(got, "roots/list") {
		t.Error(got)
	}
	if c.asked.Load() != 0 {
		t.Error("a client was asked although its folder decides nothing")
	}
}

func TestClientThatDoesNotListItsRootsIsAskedOnce(t *testing.T) {
	s := newProfileFixture(t, func(o *Options) { o.AskTimeout = 20 * time.Millisecond })
	withFolders(s)
	c := newFolderClient(s, "", `{"roots":{}}`)
	for i := range 3 {
		if got := c.request(i+1, "tools/list", ""); !strings.Contains(got, "out__do") {
			t.Error(got)
		}
	}
	if n := c.asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

func TestChangedRootsChangeListsWithNotification(t *testing.T) {
	s := newProfileFixture(t)
	withFolders(s)
	c := newFolderClient(s, "/office", `{"roots":{"listChanged":true}}`)
	stream := s.request(http.MethodGet, "/mcp", "", c.headers...)
	if got := c.request(1, "tools/list", ""); strings.Contains(got, "OUTSIDE") {
		t.Fatal(got)
	}
	c.folder = "/elsewhere"
	c.s.post("/mcp", `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, c.headers...)
	for m := range events(stream.Body) {
		if !c.answer(m) && strings.Contains(m, "notifications/tools/list_changed") {
			break
		}
	}
	if got := c.request(2, "tools/list", ""); !strings.Contains(got, "out__do") {
		t.Error(got)
	}
	if n := c.asked.Load(); n != 2 {
		t.Errorf("asked %d times", n)
	}
}
