package loopback

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOnlyBearerTokenNamesClient(t *testing.T) {
	t.Parallel()
	tokens, err := NewTokens(t.TempDir(), nil)
	require.NoError(t, err)
	cursor, err := tokens.Create("cursor")
	require.NoError(t, err)
	for _, c := range []struct {
		name     string
		required bool
		auth     []string
		status   int
		client   string
	}{
		{"right", true, []string{"Bearer " + cursor.Token}, 200, "cursor"},
		{"right, small", true, []string{"bearer " + cursor.Token}, 200, "cursor"},
		{"none", true, nil, 401, ""},
		{"wrong", true, []string{"Bearer dbr_x"}, 401, ""},
		{"empty", true, []string{"Bearer "}, 401, ""},
		{"basic", true, []string{"Basic " + cursor.Token}, 401, ""},
		{"bare", true, []string{cursor.Token}, 401, ""},
		{"two headers", true, []string{"Bearer " + cursor.Token, "Bearer " + cursor.Token}, 401, ""},
		{"giant", true, []string{"Bearer " + strings.Repeat("x", 20000)}, 401, ""},
		{"open, none", false, nil, 200, ""},
		{"open, wrong", false, []string{"Bearer x"}, 200, ""},
		{"open, right", false, []string{"Bearer " + cursor.Token}, 200, "cursor"},
	} {
		var seen http.Header
		h := Bearer(BearerOptions{Tokens: tokens, Required: func() bool { return c.required }})(
			http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r.Header }))
		r := httptest.NewRequest("POST", "/mcp?token="+cursor.Token+"&access_token="+cursor.Token, nil)
		r.Header.Set(ClientHeader, "admin")
		r.Header["Authorization"] = c.auth
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status || (w.Code == 200 && (seen.Get(ClientHeader) != c.client || seen.Get("Authorization") != "")) {
			t.Errorf("%s: %d, client %q", c.name, w.Code, seen.Get(ClientHeader))
		}
		if w.Code == 401 && (w.Header().Get("WWW-Authenticate") == "" || !json.Valid(w.Body.Bytes()) || strings.Contains(w.Body.String(), "dbr_x")) {
			t.Errorf("%s: %v %s", c.name, w.Header(), w.Body)
		}
	}
}

func TestGuessingIsThrottledWithoutLockout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // however slow the machine is
		tokens, err := NewTokens(t.TempDir(), nil)
		require.NoError(t, err)
		cursor, err := tokens.Create("cursor")
		require.NoError(t, err)
		h := Bearer(BearerOptions{Tokens: tokens})(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		counts := map[int]int{}
		send := func(token string) int {
			r := httptest.NewRequest("POST", "/mcp", nil)
			r.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w.Code
		}
		for range 200 {
			counts[send("dbr_guess")]++
		}
		assert.Truef(t, counts[401] <= 3*failuresPerSecond && counts[429] >= 100, "200 guesses got %v", counts)
		assert.Equal(t, 200, send(cursor.Token), "the right token gets")
	})
}
