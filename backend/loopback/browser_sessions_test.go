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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	require.NoError(t, err)
	otherCookie, otherKey, err := s.Exchange(s.NewCode())
	require.NoError(t, err)
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
		assert.Equal(t, c.want, s.Check(httptest.NewRecorder(), c.r), name)
	}
	data, err := os.ReadFile(filepath.Join(dir, "sessions.json"))
	if err != nil || strings.Contains(string(data), cookie.Value) || strings.Contains(string(data), key) {
		t.Errorf("the file holds the halves themselves, or %v", err)
	}
	assert.True(t, OpenBrowserSessions(SessionOptions{DataDir: dir, Port: 7575}).Check(nil, visit([]*http.Cookie{cookie}, key)), "a restart ends the session")
}

func TestOneTimeCodeWorksOnceAndExpires(t *testing.T) {
	t.Parallel()
	c := &clock{time.Now()}
	s := OpenBrowserSessions(SessionOptions{DataDir: t.TempDir(), Port: 1, Now: c.now})
	code := s.NewCode()
	_, _, err := s.Exchange(code)
	require.NoError(t, err)
	_, _, err = s.Exchange(code)
	assert.Equal(t, core.CodeUnauthorized, core.CodeOf(err), "a second time")
	code = s.NewCode()
	c.at = c.at.Add(CodeLife)
	_, _, err = s.Exchange(code)
	assert.Equal(t, core.CodeUnauthorized, core.CodeOf(err), "too late")
	limited := 0
	for range 50 {
		if _, _, err := s.Exchange("guess"); core.CodeOf(err) == core.CodeRateLimited {
			limited++
		}
	}
	assert.Truef(t, limited >= 30, "%d of 50 guesses were held back", limited)
	first := s.NewCode()
	for range maxCodes {
		s.NewCode()
	}
	_, _, err = s.Exchange(first)
	assert.Error(t, err, "codes pile up")
}

func TestSessionIsExtendedByUse(t *testing.T) {
	t.Parallel()
	c := &clock{time.Now()}
	dir := t.TempDir()
	s := OpenBrowserSessions(SessionOptions{DataDir: dir, Port: 1, Now: c.now})
	cookie, key, err := s.Exchange(s.NewCode())
	require.NoError(t, err)
	for range 5 {
		c.at = c.at.Add(SessionLife - time.Hour)
		w := httptest.NewRecorder()
		require.True(t, s.Check(w, visit([]*http.Cookie{cookie}, key)), "a session in use ended")
		require.Contains(t, w.Header().Get("Set-Cookie"), "Max-Age=2592000", "the browser's cookie is not made to last")
		s = OpenBrowserSessions(SessionOptions{DataDir: dir, Port: 1, Now: c.now})
	}
	c.at = c.at.Add(SessionLife)
	assert.False(t, s.Check(nil, visit([]*http.Cookie{cookie}, key)), "a session that nobody used lives on")
}

func TestBrowserSessionsAreBounded(t *testing.T) {
	t.Parallel()
	c := &clock{time.Now()}
	s := OpenBrowserSessions(SessionOptions{DataDir: t.TempDir(), Port: 1, Now: c.now})
	cookie, key, _ := s.Exchange(s.NewCode())
	for range maxSessions {
		c.at = c.at.Add(time.Second)
		_, _, err := s.Exchange(s.NewCode())
		require.NoError(t, err)
	}
	if s.Check(nil, visit([]*http.Cookie{cookie}, key)) || len(s.sessions) != maxSessions {
		t.Errorf("%d browsers are let in", len(s.sessions))
	}
}
