//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// issued are the secrets of a sign-in.
var issued = map[string]string{
	"access token": "cnryA1-access-token-value", "refresh token": "cnryA2-refresh-token-value", "second access token": "cnryA3-access-token-value",
	"rotated refresh token": "cnryA4-refresh-token-value", "code": "cnryA5-code-value", "client secret": "cnryA6-client-secret-value",
}

// startServerWithSignIn is a remote server with its authorization server; its tool returns the
// token that it received.
func startServerWithSignIn(t *testing.T) (server *httptest.Server, expire *atomic.Bool) {
	expire = &atomic.Bool{}
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		say := func(status int, doc any) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			json.NewEncoder(w).Encode(doc)
		}
		base := "http://" + r.Host
		switch r.URL.Path {
		case "/.well-known/oauth-protected-resource/mcp":
			say(200, object{"resource": base + "/mcp", "authorization_servers": []string{base}})
		case "/.well-known/oauth-authorization-server":
			say(200, object{"issuer": base, "authorization_endpoint": base + "/authorize", "token_endpoint": base + "/token", "registration_endpoint": base + "/register",
				"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"client_secret_post"}})
		case "/register":
			say(201, object{"client_id": "drawbridge-1", "client_secret": issued["client secret"], "token_endpoint_auth_method": "client_secret_post"})
		case "/authorize":
			q := r.URL.Query()
			http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {issued["code"]}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
		case "/token":
			r.ParseForm()
			access, refresh := issued["access token"], issued["refresh token"]
			switch {
			case r.Form.Get("client_secret") != issued["client secret"]:
				say(401, object{"error": "invalid_client"})
				return
			case r.Form.Get("grant_type") == "refresh_token" && r.Form.Get("refresh_token") != issued["refresh token"]:
				say(400, object{"error": "invalid_grant"})
				return
			case r.Form.Get("grant_type") == "refresh_token":
				access, refresh = issued["second access token"], issued["rotated refresh token"]
			}
			say(200, object{"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": 3600})
		case "/mcp":
			token, want := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), issued["access token"]
			if expire.Load() {
				want = issued["second access token"]
			}
			if token != want {
				w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token", error_description="`+token+` is not known"`)
				say(401, object{"error": "invalid_token", "was": token})
				return
			}
			answerAsServer(w, r, "whoami", "you sent "+token)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server, expire
}

// answerAsServer responds as a remote server with one tool, which returns text.
func answerAsServer(w http.ResponseWriter, r *http.Request, tool, text string) {
	body, _ := io.ReadAll(r.Body)
	id := between(string(body), `"id":`, `,`)
	result := `{"content":[{"type":"text","text":"` + text + `"}]}`
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case id == "":
		w.WriteHeader(http.StatusAccepted)
		return
	case strings.Contains(string(body), `"initialize"`):
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`
	case strings.Contains(string(body), `"tools/list"`):
		result = `{"tools":[{"name":"` + tool + `","inputSchema":{"type":"object"}}]}`
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

// The user signs in on the command line. After a call, a refresh and a restart the tokens are in
// use, and are stored only encrypted.
func TestSignInTokensAppearNowhere(t *testing.T) {
	t.Parallel()
	server, expire := startServerWithSignIn(t)
	d := start(t, object{"mcpServers": object{"web": object{"url": server.URL + "/mcp", "debug": true}}}, "DRAWBRIDGE_KEYRING=off")
	eventually.Complete(t, limit(10*time.Second), func() string {
		if state := d.state("web"); state != "needs-login" {
			return "the server is " + state
		}
		return ""
	})
	_, refused := d.do("POST", "/api/v1/call", strings.NewReader(`{"server":"web","tool":"whoami","arguments":{}}`))
	assert.Contains(t, refused, "sign in", "a call before the sign-in")
	assert.Contains(t, refused, "drawbridge login web", "a call before the sign-in")
	var pending struct{ URL, Host string }
	require.NoError(t, json.Unmarshal([]byte(d.cli(0, "login", "web", "--json")), &pending))
	assert.Equal(t, strings.TrimPrefix(server.URL, "http://"), pending.Host, "the host that is shown")
	resp, err := http.Get(pending.URL)
	require.NoError(t, err)
	page, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	require.Contains(t, string(page), "is signed in to web")
	d.running("web")
	require.Empty(t, d.says("web", "whoami", `{}`))
	expire.Store(true) // the token expires early: it is refreshed without the user
	require.Empty(t, d.says("web", "whoami", `{}`))
	d.stop()
	d.launch("DRAWBRIDGE_KEYRING=off")
	d.running("web")
	require.Empty(t, d.says("web", "whoami", `{}`))
	look := func(where, text string) {
		t.Helper()
		for what, value := range issued {
			assert.NotContainsf(t, text, value, "%s holds the %s", where, what)
		}
	}
	for _, path := range []string{"calls?limit=200", "export", "status", "servers", "servers/web", "servers/web/debug", "servers/web/log", "servers/web/login", "frames?server=web", "secrets", "config"} {
		code, text := d.do("GET", "/api/v1/"+path, nil)
		assert.Equalf(t, 200, code, "GET %s", path)
		look("GET "+path, text)
	}
	for _, row := range d.calls() {
		_, text := d.do("GET", "/api/v1/calls/"+row.ID, nil)
		look("call "+row.Tool, text)
		assert.Falsef(t, strings.Contains(text, `"outcome":"ok"`) && !strings.Contains(text, "you sent "), "the result was not recorded at all: %s", text)
	}
	if out, err := exec.Command("ps", "-eo", "args").Output(); err == nil {
		look("the process list", string(out))
	}
	assert.NotContains(t, d.cli(0, "secret"), "server/web", "the tokens stand among the user's secrets")
	assert.Contains(t, d.cli(0, "logout", "web"), "signed out")
	eventually.Complete(t, limit(10*time.Second), func() string {
		if state := d.state("web"); state != "needs-login" {
			return "after the logout the server is " + state
		}
		return ""
	})
	d.stop()
	look("the daemon's output", d.log.String())
	files := 0
	err = filepath.WalkDir(filepath.Dir(d.data), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		look(path, string(text))
		return err
	})
	assert.Truef(t, err == nil && files >= 4, "%d files (%v)", files, err)
}
