package desktop

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/web/webtest"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fakeDesktop records the settings that are made.
type fakeDesktop struct{ login, paused, quit bool }

func (d *fakeDesktop) StartsAtLogin() (bool, error)               { return d.login, nil }
func (d *fakeDesktop) SetStartAtLogin(on bool) error              { d.login = on; return nil }
func (d *fakeDesktop) Paused() bool                               { return d.paused }
func (d *fakeDesktop) SetPaused(_ context.Context, on bool) error { d.paused = on; return nil }
func (d *fakeDesktop) Tray() (bool, string)                       { return false, "no session bus" }
func (d *fakeDesktop) Quit()                                      { d.quit = true }

// pageSite is the feature behind a real port, for its stream.
type pageSite struct {
	*webtest.Site
	feature *Feature
}

func newPageSite(t *testing.T, settings Settings) *pageSite {
	t.Helper()
	f := &Feature{URL: "http://127.0.0.1:7575", Sessions: loopback.OpenBrowserSessions(loopback.SessionOptions{DataDir: t.TempDir(), Port: 7575}), Settings: settings}
	s := &pageSite{webtest.New(f), f}
	s.Mux.HandleFunc("GET /api/v1/window", f.FollowWindow)
	return s
}

// follow opens the window's event stream.
func (s *pageSite) follow(t *testing.T) *wire.EventReader {
	t.Helper()
	server := httptest.NewServer(s.Mux)
	res, err := http.Get(server.URL + "/api/v1/window") //nolint:noctx // closed at the end
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = res.Body.Close()
		server.CloseClientConnections()
		server.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	stream := bufio.NewReader(res.Body)
	_, err = stream.ReadString('\n') // the first comment confirms the subscription
	require.NoError(t, err)
	return wire.NewEventReader(stream, 1<<20)
}

func receiveCommand(t *testing.T, events *wire.EventReader) (c windowCommand) {
	t.Helper()
	for {
		e, err := events.Next()
		require.NoError(t, err)
		if len(e.Data) > 0 {
			require.NoError(t, json.Unmarshal(e.Data, &c))
			return c
		}
	}
}

func TestWindowOpensRequestedPage(t *testing.T) {
	s := newPageSite(t, new(fakeDesktop))
	_, body := s.Ask("POST", "/api/v1/window", `{"to":"/servers"}`)
	require.Contains(t, body, `"shown":false`, "without a window")
	commands := s.follow(t)
	_, body = s.Ask("POST", "/api/v1/window", `{"to":"/servers/files"}`)
	require.Contains(t, body, `"shown":true`, "with a window")
	c := receiveCommand(t, commands)
	require.Truef(t, c.Command == "focus" && c.To == "/servers/files", "%+v", c)
	for _, to := range []string{"//evil.example", "javascript:alert(1)", "/a#b", "servers"} {
		s.feature.Focus(to)
		assert.Emptyf(t, receiveCommand(t, commands).To, "%q", to)
	}
	_, body = s.Ask("GET", "/api/v1/desktop", "")
	assert.Contains(t, body, `"window":true`)
}

func TestFilePickerReturnsChosenFile(t *testing.T) {
	s := newPageSite(t, new(fakeDesktop))
	s.Want(t, "POST", "/api/v1/window/pick", `{"kind":"file"}`, 503, "no Drawbridge window")
	commands := s.follow(t)
	result := make(chan string, 1)
	go func() {
		defer close(result) // also if ask fails
		_, body := s.Ask("POST", "/api/v1/window/pick", `{"kind":"folder"}`)
		result <- body
	}()
	c := receiveCommand(t, commands)
	require.Truef(t, c.Command == "pick" && c.Kind == "folder" && c.ID != "", "%+v", c)
	s.Want(t, "POST", "/api/v1/window/pick", `{"kind":"file"}`, 409)
	s.Want(t, "POST", "/api/v1/window/picked", `{"id":"guess","path":"/etc"}`, 404)
	s.Ask("POST", "/api/v1/window/picked", `{"id":"`+c.ID+`","path":"/home/me/a b"}`)
	body := <-result
	require.Contains(t, body, `"/home/me/a b"`)
}

func TestAddressOpensItsPage(t *testing.T) {
	s := newPageSite(t, new(fakeDesktop))
	for to, want := range map[string]string{`{"to":"/add?name=x&from=link"}`: "&to=%2Fadd%3Fname%3Dx%26from%3Dlink", `{"to":"http://evil"}`: "", `{}`: "", ``: ""} {
		_, body := s.Ask("POST", "/api/v1/open-code", to)
		var open OpenAddress
		require.NoError(t, json.Unmarshal([]byte(body), &open), to)
		require.Contains(t, open.URL, "/#code=", to)
		_, rest, _ := strings.Cut(open.URL, "&to=")
		assert.Truef(t, (want == "") == (rest == "") && !(want != "" && "&to="+rest != want), "%s: %s", to, open.URL)
	}
}

func TestOnlyUserSetsStartAtLoginPauseAndQuit(t *testing.T) {
	d := new(fakeDesktop)
	s := newPageSite(t, d)
	_, body := s.Ask("PUT", "/api/v1/desktop", `{"startAtLogin":true}`)
	require.Truef(t, d.login && !d.paused && strings.Contains(body, `"startAtLogin":true`), "%+v %s", d, body)
	_, body = s.Ask("PUT", "/api/v1/desktop", `{"paused":true}`)
	require.Truef(t, d.paused && d.login && strings.Contains(body, "no session bus"), "%+v %s", d, body)
	commands := s.follow(t)
	if s.Ask("POST", "/api/v1/quit", ""); !d.quit {
		t.Fatal("it does not end")
	}
	require.Equal(t, "quit", receiveCommand(t, commands).Command, "the window hears")
}

func TestOpenWindowsAreBounded(t *testing.T) {
	var w windowList
	for range maxWindows {
		_, _, err := w.subscribe()
		require.NoError(t, err)
	}
	_, _, err := w.subscribe()
	require.Equal(t, core.CodeRejected, core.CodeOf(err), "one too many")
}
