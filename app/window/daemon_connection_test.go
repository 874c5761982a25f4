package window

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
)

// running creates a data folder with a running daemon that serves routes.
func running(t *testing.T, routes http.Handler) (d *daemon, admin string) {
	t.Helper()
	data := t.TempDir()
	lock, err := loopback.Lock(data)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Close() })
	if _, err := loopback.OpenAdminToken(data); err != nil {
		t.Fatal(err)
	}
	admin, err = loopback.ReadAdminToken(data)
	if err != nil {
		t.Fatal(err)
	}
	d = newDaemon(data)
	d.retry = 10 * time.Millisecond
	serve(t, d, routes)
	return d, admin
}

// serve starts the daemon of d at a new address.
func serve(t *testing.T, d *daemon, routes http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(routes)
	t.Cleanup(s.Close)
	if err := loopback.WriteRuntime(d.data, loopback.Runtime{PID: os.Getpid(), URL: s.URL, Version: "t", StartedAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWindowFollowsDaemonAndReconnects(t *testing.T) {
	var admin string
	var visits atomic.Int32
	routes := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/window" || r.Header.Get("Authorization") != "Bearer "+admin {
			t.Errorf("asked %s as %q", r.URL.Path, r.Header.Get("Authorization"))
		}
		fmt.Fprintf(w, ": here\n\nevent: command\ndata: {\"command\":\"focus\",\"to\":\"/servers/%d\"}\n\ndata: nonsense\n\n", visits.Add(1))
	})
	d, token := running(t, routes)
	admin = token
	ctx, cancel := context.WithCancel(t.Context())
	heard, returns, done := make(chan command, 16), make(chan struct{}, 16), make(chan struct{})
	go func() {
		defer close(done)
		d.follow(ctx, func() { returns <- struct{}{} }, func(c command) {
			select {
			case heard <- c:
			default:
			}
		})
	}()
	for i := range 2 { // the stream ends after each command, so the window reconnects
		if c := <-heard; c.Command != "focus" || c.To != fmt.Sprint("/servers/", i+1) {
			t.Fatalf("%+v", c)
		}
	}
	<-returns
	cancel()
	<-done
}

func TestWindowFindsDaemonAtNewAddress(t *testing.T) {
	page := func(name string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, `{"url":"http://127.0.0.1/%s"}`, name) })
	}
	d, _ := running(t, page("first"))
	if got := d.newPageURL(t.Context()); !strings.HasSuffix(got, "/first") {
		t.Fatal(got)
	}
	serve(t, d, page("second"))
	if got := d.newPageURL(t.Context()); !strings.HasSuffix(got, "/second") {
		t.Fatal(got)
	}
	if got := newDaemon("").newPageURL(t.Context()); got != "" {
		t.Fatalf("without a folder: %q", got)
	}
	if got := newDaemon(t.TempDir()).newPageURL(t.Context()); got != "" {
		t.Fatalf("without a daemon: %q", got)
	}
}

func TestNavigationScriptEscapesAddress(t *testing.T) {
	const page = "http://127.0.0.1:7575/#code=abc&to=%2Fold"
	for _, to := range []string{`/a"</script><script>alert(1)//`, "/x\u2028y", "/ok?view=log&x=1"} {
		js := navigationScript(to, page)
		_, given, _ := strings.Cut(js, "})(")
		var got [3]string
		if err := json.Unmarshal([]byte("["+strings.TrimSuffix(given, ", 400)")+"]"), &got); err != nil {
			t.Fatalf("%v: %s", err, given)
		}
		if want := "http://127.0.0.1:7575/#code=abc&to=" + url.QueryEscape(to); got != [3]string{to, "127.0.0.1:7575", want} {
			t.Errorf("%q is led by %q", to, got)
		}
		if strings.ContainsAny(given, "<>\u2028\n") {
			t.Errorf("%q makes %s", to, js)
		}
	}
	if js := navigationScript("/ok", "http://127.0.0.1:7575/"); !strings.Contains(js, `"http://127.0.0.1:7575/#/ok"`) {
		t.Errorf("without a code: %s", js)
	}
	for _, c := range [][2]string{{"", page}, {"javascript:alert(1)", page}, {"servers", page}, {"/servers", ""}, {"/servers", "http://evil.example/#code=1"}} {
		if js := navigationScript(c[0], c[1]); js != "" {
			t.Errorf("%q makes %s", c, js)
		}
	}
	if js := moveScript("http://evil.example/"); js != "" {
		t.Error(js)
	}
	u := url.URL{Scheme: "http", Host: net.JoinHostPort("127.0.0.1", "7575"), Path: "/", Fragment: "code=x"}
	if js := moveScript(u.String()); js != `location.replace("http://127.0.0.1:7575/#code=x")` {
		t.Error(js)
	}
}

func TestWindowPositionIsRestored(t *testing.T) {
	data := t.TempDir()
	if p, known := readWindowState(data); known || p.Width != defaultWidth {
		t.Fatalf("%+v %v", p, known)
	}
	want := windowState{X: -20, Y: 40, Width: 900, Height: 700, Maximised: true}
	saveWindowState(data, want)
	if p, known := readWindowState(data); !known || p != want {
		t.Fatalf("%+v %v", p, known)
	}
	for _, nonsense := range []string{"", "{", `{"Width":1,"Height":1}`, `{"Width":900,"Height":700,"X":999999}`} {
		if err := os.WriteFile(filepath.Join(data, "window.json"), []byte(nonsense), 0o600); err != nil {
			t.Fatal(err)
		}
		if p, known := readWindowState(data); known || p.Width != defaultWidth {
			t.Errorf("%q: %+v", nonsense, p)
		}
	}
	saveWindowState("", want)
}

func TestWindowFitsOnScreen(t *testing.T) {
	for _, c := range []struct{ width, height, screenWidth, screenHeight, wantWidth, wantHeight int }{
		{1180, 800, 1920, 1080, 1180, 800},
		{1180, 800, 1366, 800, 1180, 700},
		{1180, 800, 1024, 768, 1024, 668},
		{2500, 1400, 1366, 768, 1366, 668},
		{1180, 800, 320, 200, minWidth, minHeight},
		{1180, 800, 0, 0, 1180, 800},
	} {
		got, smaller := windowState{Width: c.width, Height: c.height}.fitting(c.screenWidth, c.screenHeight)
		if got.Width != c.wantWidth || got.Height != c.wantHeight || smaller != (got.Width < c.width || got.Height < c.height) {
			t.Errorf("%+v: %+v, smaller: %v", c, got, smaller)
		}
	}
}

func TestLinkDuringLoadIsFollowed(t *testing.T) {
	var l recentLink
	now := time.Now()
	if to := l.route(now); to != "" {
		t.Errorf("led to %q without a link", to)
	}
	l.set("/servers/x", now)
	for after, want := range map[time.Duration]string{
		0: "/servers/x", time.Second: "/servers/x", linkLifetime: "/servers/x",
		linkLifetime + 1: "", -time.Minute: "",
	} {
		if to := l.route(now.Add(after)); to != want {
			t.Errorf("a page that is ready %s after the link is led to %q, want %q", after, to, want)
		}
	}
}
