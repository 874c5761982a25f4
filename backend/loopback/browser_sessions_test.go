package loopback

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func visit(cookies []*http.Cookie, keys ...string) *http.Request {
	r := httptest.NewRequest("GET", "/api/v1/status", nil)
	for _, c := range cookies {
		r.AddCookie(c)
	}
	if keys != nil {
		r.Header[KeyHeader] = keys
	}
	return r
}

func TestBrowserSessionNeedsCookieAndHeader(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := OpenBrowserSessions(SessionOptions{DataDir: dir, Port: 7575})
	cookie, key, err := s.Exchange(s.NewCode())
	must(t, err)
	otherCookie, otherKey, err := s.Exchange(s.NewCode())
	must(t, err)
	if cookie.Name != "drawbridge_7575" || !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" {
		t.Errorf("the cookie is %+v", cookie)
	}
	tossed := &http.Cookie{Name: cookie.Name, Value: "planted"}
	wrongPort := &http.Cookie{Name: "drawbridge_7576", Value: cookie.Value}
	for name, c := range map[string]struct {
		r    *http.Request
		want bool
	}{
		"both":                 {visit([]*http.Cookie{cookie}, key), true},
		"a planted one first":  {visit([]*http.Cookie{tossed, cookie}, key), true},
		"cookie alone":         {visit([]*http.Cookie{cookie}), false},
		"key alone":            {visit(nil, key), false},
		"key of another":       {visit([]*http.Cookie{cookie}, otherKey), false},
		"cookie of another":    {visit([]*http.Cookie{otherCookie}, key), false},
		"swapped":              {visit([]*http.Cookie{{Name: cookie.Name, Value: key}}, cookie.Value), false},
		"empty":                {visit([]*http.Cookie{{Name: cookie.Name}}, ""), false},
		"two keys":             {visit([]*http.Cookie{cookie}, key, key), false},
		"cookie of other port": {visit([]*http.Cookie{wrongPort}, key), false},
	} {
		if got := s.Check(httptest.NewRecorder(), c.r); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "sessions.json"))
	if err != nil || strings.Contains(string(data), cookie.Value) || strings.Contains(string(data), key) {
		t.Errorf("the file holds the halves themselves, or %v", err)
	}
	if again := OpenBrowserSessions(SessionOptions{DataDir: dir, Port: 7575}); !again.Check(nil, visit([]*http.Cookie{cookie}, key)) {
		t.Error("a restart ends the session")
	}
}

func TestOneTimeCodeWorksOnceAndExpires(t *testing.T) {
	t.Parallel()
	c := &clock{time.Now()}
	s := OpenBrowserSessions(SessionOptions{DataDir: t.TempDir(), Port: 1, Now: c.now})
	code := s.NewCode()
	if _, _, err := s.Exchange(code); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Exchange(code); core.CodeOf(err) != core.CodeUnauthorized {
		t.Errorf("a second time: %v", err)
	}
	code = s.NewCode()
	c.at = c.at.Add(CodeLife)
	if _, _, err := s.Exchange(code); core.CodeOf(err) != core.CodeUnauthorized {
		t.Errorf("too late: %v", err)
	}
	limited := 0
	for range 50 {
		if _, _, err := s.Exchange("guess"); core.CodeOf(err) == core.CodeRateLimited {
			limited++
		}
	}
	if limited < 30 {
		t.Errorf("%d of 50 guesses were held back", limited)
	}
	first := s.NewCode()
	for range maxCodes {
		s.NewCode()
	}
	if _, _, err := s.Exchange(first); err == nil {
		t.Error("codes pile up")
	}
}

func TestSessionIsExtendedByUse(t *testing.T) {
	t.Parallel()
	c := &clock{time.Now()}
	dir := t.TempDir()
	s := OpenBrowserSessions(SessionOptions{DataDir: dir, Port: 1, Now: c.now})
	cookie, key, err := s.Exchange(s.NewCode())
	must(t, err)
	for range 5 {
		c.at = c.at.Add(SessionLife - time.Hour)
		w := httptest.NewRecorder()
		if !s.Check(w, visit([]*http.Cookie{cookie}, key)) {
			t.Fatal("a session in use ended")
		}
		if !strings.Contains(w.Header().Get("Set-Cookie"), "Max-Age=2592000") {
			t.Fatalf("the browser's cookie is not made to last: %v", w.Header())
		}
		s = OpenBrowserSessions(SessionOptions{DataDir: dir, Port: 1, Now: c.now})
	}
	c.at = c.at.Add(SessionLife)
	if s.Check(nil, visit([]*http.Cookie{cookie}, key)) {
		t.Error("a session that nobody used lives on")
	}
}

func TestBrowserSessionsAreBounded(t *testing.T) {
	t.Parallel()
	c := &clock{time.Now()}
	s := OpenBrowserSessions(SessionOptions{DataDir: t.TempDir(), Port: 1, Now: c.now})
	cookie, key, _ := s.Exchange(s.NewCode())
	for range maxSessions {
		c.at = c.at.Add(time.Second)
		if _, _, err := s.Exchange(s.NewCode()); err != nil {
			t.Fatal(err)
		}
	}
	if s.Check(nil, visit([]*http.Cookie{cookie}, key)) || len(s.sessions) != maxSessions {
		t.Errorf("%d browsers are let in", len(s.sessions))
	}
}
