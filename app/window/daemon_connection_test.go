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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// running creates a data folder with a running daemon that serves routes.
func running(t *testing.T, routes http.Handler) (d *daemon, admin string) {
	t.Helper()
	data := t.TempDir()
	lock, err := loopback.Lock(data)
	require.NoError(t, err)
	t.Cleanup(func() { lock.Close() })
	_, err = loopback.OpenAdminToken(data)
	require.NoError(t, err)
	admin, err = loopback.ReadAdminToken(data)
	require.NoError(t, err)
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
	require.NoError(t, loopback.WriteRuntime(d.data, loopback.Runtime{PID: os.Getpid(), URL: s.URL, Version: "t", StartedAt: time.Now()}))
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
		c := <-heard
		require.Truef(t, c.Command == "focus" && c.To == fmt.Sprint("/servers/", i+1), "%+v", c)
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
	got := d.newPageURL(t.Context())
	require.True(t, strings.HasSuffix(got, "/first"), got)
	serve(t, d, page("second"))
	got = d.newPageURL(t.Context())
	require.True(t, strings.HasSuffix(got, "/second"), got)
	require.Empty(t, newDaemon("").newPageURL(t.Context()), "without a folder")
	require.Empty(t, newDaemon(t.TempDir()).newPageURL(t.Context()), "without a daemon")
}

func TestNavigationScriptEscapesAddress(t *testing.T) {
	const page = "http://127.0.0.1:7575/#code=abc&to=%2Fold"
	for _, to := range []string{`/a"</script><script>alert(1)//`, "/x\u2028y", "/ok?view=log&x=1"} {
		js := navigationScript(to, page)
		_, given, _ := strings.Cut(js, "})(")
		var got [3]string
		require.NoError(t, json.Unmarshal([]byte("["+strings.TrimSuffix(given, ", 400)")+"]"), &got), given)
		want := "http://127.0.0.1:7575/#code=abc&to=" + url.QueryEscape(to)
		assert.Equal(t, [3]string{to, "127.0.0.1:7575", want}, got)
		assert.Falsef(t, strings.ContainsAny(given, "<>\u2028\n"), "%q makes %s", to, js)
	}
	assert.Contains(t, navigationScript("/ok", "http://127.0.0.1:7575/"), `"http://127.0.0.1:7575/#/ok"`, "without a code")
	for _, c := range [][2]string{{"", page}, {"javascript:alert(1)", page}, {"servers", page}, {"/servers", ""}, {"/servers", "http://evil.example/#code=1"}} {
		assert.Emptyf(t, navigationScript(c[0], c[1]), "%q", c)
	}
	assert.Empty(t, moveScript("http://evil.example/"))
	u := url.URL{Scheme: "http", Host: net.JoinHostPort("127.0.0.1", "7575"), Path: "/", Fragment: "code=x"}
	assert.Equal(t, `location.replace("http://127.0.0.1:7575/#code=x")`, moveScript(u.String()))
}

func TestWindowPositionIsRestored(t *testing.T) {
	data := t.TempDir()
	p, known := readWindowState(data)
	require.Truef(t, !known && p.Width == defaultWidth, "%+v %v", p, known)
	want := windowState{X: -20, Y: 40, Width: 900, Height: 700, Maximised: true}
	saveWindowState(data, want)
	p, known = readWindowState(data)
	require.Truef(t, known && p == want, "%+v %v", p, known)
	for _, nonsense := range []string{"", "{", `{"Width":1,"Height":1}`, `{"Width":900,"Height":700,"X":999999}`} {
		require.NoError(t, os.WriteFile(filepath.Join(data, "window.json"), []byte(nonsense), 0o600))
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
	assert.Empty(t, l.route(now))
	l.set("/servers/x", now)
	for after, want := range map[time.Duration]string{
		0: "/servers/x", time.Second: "/servers/x", linkLifetime: "/servers/x",
		linkLifetime + 1: "", -time.Minute: "",
	} {
		assert.Equalf(t, want, l.route(now.Add(after)), "a page that is ready %s", after)
	}
}
