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
	must(t, err)
	t.Cleanup(func() {
		_ = res.Body.Close()
		server.CloseClientConnections()
		server.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	stream := bufio.NewReader(res.Body)
	_, err = stream.ReadString('\n') // the first comment confirms the subscription
	must(t, err)
	return wire.NewEventReader(stream, 1<<20)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func receiveCommand(t *testing.T, events *wire.EventReader) (c windowCommand) {
	t.Helper()
	for {
		e, err := events.Next()
		must(t, err)
		if len(e.Data) > 0 {
			must(t, json.Unmarshal(e.Data, &c))
			return c
		}
	}
}

func TestWindowOpensRequestedPage(t *testing.T) {
	s := newPageSite(t, new(fakeDesktop))
	if _, body := s.Ask("POST", "/api/v1/window", `{"to":"/servers"}`); !strings.Contains(body, `"shown":false`) {
		t.Fatalf("without a window: %s", body)
	}
	commands := s.follow(t)
	if _, body := s.Ask("POST", "/api/v1/window", `{"to":"/servers/files"}`); !strings.Contains(body, `"shown":true`) {
		t.Fatalf("with a window: %s", body)
	}
	if c := receiveCommand(t, commands); c.Command != "focus" || c.To != "/servers/files" {
		t.Fatalf("%+v", c)
	}
	for _, to := range []string{"//evil.example", "javascript:alert(1)", "/a#b", "servers"} {
		s.feature.Focus(to)
		if c := receiveCommand(t, commands); c.To != "" {
			t.Errorf("%q leads to %q", to, c.To)
		}
	}
	if _, body := s.Ask("GET", "/api/v1/desktop", ""); !strings.Contains(body, `"window":true`) {
		t.Errorf("%s", body)
	}
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
	if c.Command != "pick" || c.Kind != "folder" || c.ID == "" {
		t.Fatalf("%+v", c)
	}
	s.Want(t, "POST", "/api/v1/window/pick", `{"kind":"file"}`, 409)
	s.Want(t, "POST", "/api/v1/window/picked", `{"id":"guess","path":"/etc"}`, 404)
	s.Ask("POST", "/api/v1/window/picked", `{"id":"`+c.ID+`","path":"/home/me/a b"}`)
	if body := <-result; !strings.Contains(body, `"/home/me/a b"`) {
		t.Fatal(body)
	}
}

func TestAddressOpensItsPage(t *testing.T) {
	s := newPageSite(t, new(fakeDesktop))
	for to, want := range map[string]string{`{"to":"/add?name=x&from=link"}`: "&to=%2Fadd%3Fname%3Dx%26from%3Dlink", `{"to":"http://evil"}`: "", `{}`: "", ``: ""} {
		_, body := s.Ask("POST", "/api/v1/open-code", to)
		var open OpenAddress
		if json.Unmarshal([]byte(body), &open) != nil || !strings.Contains(open.URL, "/#code=") {
			t.Fatalf("%s: %s", to, body)
		}
		if _, rest, _ := strings.Cut(open.URL, "&to="); (want == "") != (rest == "") || want != "" && "&to="+rest != want {
			t.Errorf("%s: %s", to, open.URL)
		}
	}
}

func TestOnlyUserSetsStartAtLoginPauseAndQuit(t *testing.T) {
	d := new(fakeDesktop)
	s := newPageSite(t, d)
	if _, body := s.Ask("PUT", "/api/v1/desktop", `{"startAtLogin":true}`); !d.login || d.paused || !strings.Contains(body, `"startAtLogin":true`) {
		t.Fatalf("%+v %s", d, body)
	}
	if _, body := s.Ask("PUT", "/api/v1/desktop", `{"paused":true}`); !d.paused || !d.login || !strings.Contains(body, "no session bus") {
		t.Fatalf("%+v %s", d, body)
	}
	commands := s.follow(t)
	if s.Ask("POST", "/api/v1/quit", ""); !d.quit {
		t.Fatal("it does not end")
	}
	if c := receiveCommand(t, commands); c.Command != "quit" {
		t.Fatalf("the window hears %+v", c)
	}
}

func TestOpenWindowsAreBounded(t *testing.T) {
	var w windowList
	for range maxWindows {
		if _, _, err := w.subscribe(); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := w.subscribe(); core.CodeOf(err) != core.CodeRejected {
		t.Fatalf("one too many: %v", err)
	}
}
