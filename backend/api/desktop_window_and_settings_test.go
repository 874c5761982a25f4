package api

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// fakeDesktop records the settings that are made.
type fakeDesktop struct{ login, paused, quit bool }

func (d *fakeDesktop) StartsAtLogin() (bool, error)               { return d.login, nil }
func (d *fakeDesktop) SetStartAtLogin(on bool) error              { d.login = on; return nil }
func (d *fakeDesktop) Paused() bool                               { return d.paused }
func (d *fakeDesktop) SetPaused(_ context.Context, on bool) error { d.paused = on; return nil }
func (d *fakeDesktop) Tray() (bool, string)                       { return false, "no session bus" }
func (d *fakeDesktop) Quit()                                      { d.quit = true }

// follow opens the window's event stream.
func (s *site) follow(t *testing.T) <-chan sse {
	t.Helper()
	events := s.listen(t, "/api/v1/window")
	next(t, events) // the first comment confirms the subscription
	return events
}

func receiveCommand(t *testing.T, events <-chan sse) (c windowCommand) {
	t.Helper()
	e := next(t, events)
	for e.data == "" {
		e = next(t, events)
	}
	must(t, json.Unmarshal([]byte(e.data), &c))
	return c
}

func TestWindowOpensRequestedPage(t *testing.T) {
	s := newSite(t)
	if _, body, _ := s.ask(t, "POST", "/api/v1/window", `{"to":"/servers"}`); !strings.Contains(body, `"shown":false`) {
		t.Fatalf("without a window: %s", body)
	}
	commands := s.follow(t)
	if _, body, _ := s.ask(t, "POST", "/api/v1/window", `{"to":"/servers/files"}`); !strings.Contains(body, `"shown":true`) {
		t.Fatalf("with a window: %s", body)
	}
	if c := receiveCommand(t, commands); c.Command != "focus" || c.To != "/servers/files" {
		t.Fatalf("%+v", c)
	}
	for _, to := range []string{"//evil.example", "javascript:alert(1)", "/a#b", "servers"} {
		s.api.Focus(to)
		if c := receiveCommand(t, commands); c.To != "" {
			t.Errorf("%q leads to %q", to, c.To)
		}
	}
	if _, body, _ := s.ask(t, "GET", "/api/v1/desktop", ""); !strings.Contains(body, `"window":true`) {
		t.Errorf("%s", body)
	}
}

func TestFilePickerReturnsChosenFile(t *testing.T) {
	s := newSite(t)
	s.want(t, "POST", "/api/v1/window/pick", `{"kind":"file"}`, 503, "no Drawbridge window")
	commands := s.follow(t)
	result := make(chan string, 1)
	go func() {
		defer close(result) // also if ask fails
		_, body, _ := s.ask(t, "POST", "/api/v1/window/pick", `{"kind":"folder"}`)
		result <- body
	}()
	c := receiveCommand(t, commands)
	if c.Command != "pick" || c.Kind != "folder" || c.ID == "" {
		t.Fatalf("%+v", c)
	}
	s.want(t, "POST", "/api/v1/window/pick", `{"kind":"file"}`, 409)
	s.want(t, "POST", "/api/v1/window/picked", `{"id":"guess","path":"/etc"}`, 404)
	s.ask(t, "POST", "/api/v1/window/picked", `{"id":"`+c.ID+`","path":"/home/me/a b"}`)
	if body := <-result; !strings.Contains(body, `"/home/me/a b"`) {
		t.Fatal(body)
	}
}

func TestAddressOpensItsPage(t *testing.T) {
	s := newSite(t)
	for to, want := range map[string]string{`{"to":"/add?name=x&from=link"}`: "&to=%2Fadd%3Fname%3Dx%26from%3Dlink", `{"to":"http://evil"}`: "", `{}`: "", ``: ""} {
		_, body, _ := s.ask(t, "POST", "/api/v1/open-code", to)
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
	s := newSite(t)
	s.api.Desktop = d
	if _, body, _ := s.ask(t, "PUT", "/api/v1/desktop", `{"startAtLogin":true}`); !d.login || d.paused || !strings.Contains(body, `"startAtLogin":true`) {
		t.Fatalf("%+v %s", d, body)
	}
	if _, body, _ := s.ask(t, "PUT", "/api/v1/desktop", `{"paused":true}`); !d.paused || !d.login || !strings.Contains(body, "no session bus") {
		t.Fatalf("%+v %s", d, body)
	}
	commands := s.follow(t)
	if s.ask(t, "POST", "/api/v1/quit", ""); !d.quit {
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
