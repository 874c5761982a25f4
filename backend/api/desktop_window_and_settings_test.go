package api

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

// fakeDesktop records the settings that are made.
type fakeDesktop struct{ login, paused, quit bool }

func (d *fakeDesktop) StartsAtLogin() (bool, error)               { return d.login, nil }
func (d *fakeDesktop) SetStartAtLogin(on bool) error              { d.login = on; return nil }
func (d *fakeDesktop) Paused() bool                               { return d.paused }
func (d *fakeDesktop) SetPaused(_ context.Context, on bool) error { d.paused = on; return nil }
func (d *fakeDesktop) Tray() (bool, string)                       { return false, "no session bus" }
func (d *fakeDesktop) Quit()                                      { d.quit = true }

// follow opens the window's event stream and returns its commands.
func (s *site) follow(t *testing.T) <-chan windowCommand {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", s.url+"/api/v1/window", nil)
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+s.admin)
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the stream answers %d", resp.StatusCode)
	}
	lines := bufio.NewScanner(resp.Body)
	if !lines.Scan() { // the first comment confirms the subscription
		t.Fatal("the stream says nothing")
	}
	commands := make(chan windowCommand, 8)
	go func() {
		defer resp.Body.Close()
		defer close(commands)
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				var c windowCommand
				if json.Unmarshal([]byte(data), &c) == nil {
					commands <- c
				}
			}
		}
	}()
	return commands
}

func receiveCommand(t *testing.T, commands <-chan windowCommand) windowCommand {
	t.Helper()
	return eventually.Receive(t, time.Minute, "no command arrives", commands)
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
	if status, body, _ := s.ask(t, "POST", "/api/v1/window/pick", `{"kind":"file"}`); status != 503 || !strings.Contains(body, "no Drawbridge window") {
		t.Fatalf("without a window: %d %s", status, body)
	}
	commands := s.follow(t)
	result := make(chan string, 1)
	go func() {
		_, body, _ := s.ask(t, "POST", "/api/v1/window/pick", `{"kind":"folder"}`)
		result <- body
	}()
	c := receiveCommand(t, commands)
	if c.Command != "pick" || c.Kind != "folder" || c.ID == "" {
		t.Fatalf("%+v", c)
	}
	if status, _, _ := s.ask(t, "POST", "/api/v1/window/pick", `{"kind":"file"}`); status != 409 {
		t.Errorf("a second dialog opens: %d", status)
	}
	if status, _, _ := s.ask(t, "POST", "/api/v1/window/picked", `{"id":"guess","path":"/etc"}`); status != 404 {
		t.Errorf("a wrong answer counts: %d", status)
	}
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
	if status, _, _ := s.ask(t, "PUT", "/api/v1/desktop", `{"paused":true}`); status != 503 {
		t.Errorf("without a desktop: %d", status)
	}
	if status, _, _ := s.ask(t, "POST", "/api/v1/quit", ""); status != 503 {
		t.Errorf("quit without a desktop: %d", status)
	}
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
