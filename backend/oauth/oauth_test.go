package oauth

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSignInSurvivesDaemonRestart(t *testing.T) {
	p, dir := newFakeServer(t), t.TempDir()
	s := Server{ID: "web", URL: p.endpoint()}
	var mu sync.Mutex
	var heard []string
	r := newTestKeeper(t, dir)
	r.Observe(func(id string) { mu.Lock(); heard = append(heard, id); mu.Unlock() }, func() {})
	if _, err := r.post(s, "hello"); !errors.Is(err, core.ErrNeedsLogin) {
		t.Fatalf("without a sign-in: %v", err)
	}
	state, reason := r.LoginState("web")
	require.Truef(t, state == core.LoginNeeded && reason != "", "%s %q", state, reason)
	pending, err := r.Begin(t.Context(), "web")
	require.NoError(t, err)
	assert.Equal(t, strings.TrimPrefix(p.URL, "http://"), pending.Host)
	assert.Equal(t, []string{"read"}, pending.Scopes)
	q := must(url.Parse(pending.URL)).Query()
	for key, want := range map[string]string{"tenant": "1", "resource": p.endpoint(), "code_challenge_method": "S256", "response_type": "code"} {
		assert.Equal(t, want, q.Get(key))
	}
	waited := make(chan error, 1)
	go func() { waited <- r.Await(t.Context(), "web") }()
	mustContain(t, "the page", openPage(t, pending.URL), "is signed in to web")
	err = <-waited
	require.NoError(t, err)
	r.mustRespond(s, "200 hello")
	st := r.awaitSettled("web")
	assert.Truef(t, st.State == core.LoginDone && st.Issuer == p.URL && st.Renews && st.Pending == nil, "%+v", st)
	mu.Lock()
	assert.NotEmpty(t, heard, "nobody was told")
	mu.Unlock()

	again := newTestKeeper(t, dir) // a new process
	require.NoError(t, again.Load(t.Context(), s))
	st = again.Status("web")
	assert.Truef(t, st.Issuer == p.URL && st.Renews, "before the first request: %+v", st)
	again.mustRespond(s, "200 hello")
	assert.Equal(t, 1, p.requestCount("authorization_code"))
	moved := Server{ID: "web", URL: p.URL + "/mcp?tenant=2"}
	_, err = newTestKeeper(t, dir).post(moved, "hello")
	assert.ErrorIs(t, err, core.ErrNeedsLogin, "another address uses the tokens")
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestCallbackOfOtherSignInIsRefused(t *testing.T) {
	p := newFakeServer(t)
	s := Server{ID: "web", URL: p.endpoint()}
	r := newTestKeeper(t, t.TempDir())
	_, _ = r.post(s, "hello")
	pending := must(r.Begin(t.Context(), "web"))
	back := must(url.Parse(must(url.Parse(pending.URL)).Query().Get("redirect_uri")))
	state := must(url.Parse(pending.URL)).Query().Get("state")
	require.Equal(t, "127.0.0.1", back.Hostname(), "the answer comes")
	for _, wrong := range []string{"?code=x", "?code=x&state=guess", "?code=x&state=" + state + "&state=" + state, "/other?code=x&state=" + state} {
		at := back.String() + wrong
		assert.NotContains(t, openPage(t, at), "signed in to", wrong)
	}
	rebound := must(http.NewRequest("GET", back.String()+"?code=x&state="+state, nil))
	rebound.Host = "evil.example:80"
	resp := must((&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(rebound))
	resp.Body.Close()
	assert.Equal(t, http.StatusNotFound, resp.StatusCode, "a rebound name gets")
	require.NotNil(t, r.Status("web").Pending, "a wrong answer has ended the sign-in")
	mustContain(t, "the page", openPage(t, pending.URL), "is signed in to web")
	own := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	eventually.True(t, "the listener ends with its sign-in", func() bool { // it closes after the response
		resp, err := own.Get(back.String() + "?code=x&state=" + state)
		if err != nil {
			return true
		}
		resp.Body.Close()
		require.NotEqual(t, http.StatusOK, resp.StatusCode, "an answer is taken twice")
		return false
	})
}

func TestSignInEndsOnTimeoutOrCancel(t *testing.T) {
	p := newFakeServer(t)
	s := Server{ID: "web", URL: p.endpoint()}
	r := newTestKeeper(t, t.TempDir(), func(o *Options) { o.SignInTimeout = 300 * time.Millisecond })
	_, _ = r.post(s, "hello")
	must(r.Begin(t.Context(), "web"))
	eventually.True(t, "the sign-in ends", func() bool { return r.Status("web").Pending == nil })
	mustContain(t, "the failure", r.Status("web").Failed, "the sign-in timed out")

	patient := newTestKeeper(t, t.TempDir())
	_, _ = patient.post(s, "hello")
	first := must(patient.Begin(t.Context(), "web"))
	second := must(patient.Begin(t.Context(), "web")) // replaces the first
	assert.NotEqual(t, second.URL, first.URL, "the same address twice")
	require.NoError(t, patient.Cancel("web"))
	assert.Equal(t, core.CodeNotFound, core.CodeOf(patient.Cancel("web")), "cancelled twice")
	mustContain(t, "the failure", patient.Status("web").Failed, "cancelled")
}

func TestPreregisteredClientSecretIsNotStored(t *testing.T) {
	p, dir := newFakeServer(t), t.TempDir()
	p.changeMetadata = func(m map[string]any) {
		m["token_endpoint_auth_methods_supported"] = []string{"client_secret_basic"}
		delete(m, "registration_endpoint")
	}
	var user, pass string
	p.override = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/token" {
			user, pass, _ = r.BasicAuth()
		}
		return false
	}
	bare := Server{ID: "web", URL: p.endpoint()}
	r := newTestKeeper(t, dir)
	_, _ = r.post(bare, "hello")
	_, err := r.Begin(t.Context(), "web")
	assert.Truef(t, err != nil && strings.Contains(err.Error(), "oauth.clientId"), "without a client: %v", err)
	s := bare
	s.ClientID, s.ClientSecret = "my client", "s3cret+/="
	_, _ = r.post(s, "hello")
	r.signIn(s)
	r.mustRespond(s, "200 hello")
	assert.Equal(t, "my+client", user, "sent as")
	assert.Equal(t, url.QueryEscape("s3cret+/="), pass, "sent as")
	text := must(newVault(dir).Get(t.Context(), "server/web"))
	assert.NotContains(t, text, "s3cret", "the secret was copied out of the configuration")
}

func TestStepUpStopsWhenScopeDoesNotHelp(t *testing.T) {
	p := newFakeServer(t)
	s := Server{ID: "web", URL: p.endpoint()}
	r := newTestKeeper(t, t.TempDir())
	_, _ = r.post(s, "hello")
	r.signIn(s)
	p.set(func() {
		p.override = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/mcp" {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="write"`)
				w.WriteHeader(http.StatusForbidden)
			}
			return r.URL.Path == "/mcp"
		}
	})
	for n := range maxStepUps {
		_, err := r.post(s, "hello")
		require.ErrorIsf(t, err, core.ErrNeedsLogin, "%d", n)
		state, reason := r.LoginState("web")
		require.Truef(t, state == core.LoginMorePermissions && strings.Contains(reason, "write"), "%s %s", state, reason)
		pending := must(r.Begin(t.Context(), "web"))
		assert.Contains(t, pending.Scopes, "read", "it asks")
		assert.Contains(t, pending.Scopes, "write", "it asks")
		openPage(t, pending.URL)
	}
	_, err := r.post(s, "hello")
	require.Truef(t, err != nil && !errors.Is(err, core.ErrNeedsLogin) && core.CodeOf(err) == core.CodeUnauthorized, "it goes on asking: %v", err)
	state, _ := r.LoginState("web")
	assert.NotEqual(t, core.LoginMorePermissions, state, "the page goes on offering a sign-in that does not help")
}
