package oauth

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
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
	if state, reason := r.LoginState("web"); state != core.LoginNeeded || reason == "" {
		t.Fatalf("%s %q", state, reason)
	}
	pending, err := r.Begin(t.Context(), "web")
	if err != nil {
		t.Fatal(err)
	}
	if pending.Host != strings.TrimPrefix(p.URL, "http://") || !slices.Equal(pending.Scopes, []string{"read"}) {
		t.Errorf("%+v", pending)
	}
	q := must(url.Parse(pending.URL)).Query()
	for key, want := range map[string]string{"tenant": "1", "resource": p.endpoint(), "code_challenge_method": "S256", "response_type": "code"} {
		if q.Get(key) != want {
			t.Errorf("%s is %q", key, q.Get(key))
		}
	}
	waited := make(chan error, 1)
	go func() { waited <- r.Await(t.Context(), "web") }()
	mustContain(t, "the page", openPage(t, pending.URL), "is signed in to web")
	if err := <-waited; err != nil {
		t.Fatal(err)
	}
	r.mustRespond(s, "200 hello")
	if st := r.awaitSettled("web"); st.State != core.LoginDone || st.Issuer != p.URL || !st.Renews || st.Pending != nil {
		t.Errorf("%+v", st)
	}
	mu.Lock()
	if len(heard) == 0 {
		t.Error("nobody was told")
	}
	mu.Unlock()

	again := newTestKeeper(t, dir) // a new process
	if err := again.Load(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if st := again.Status("web"); st.Issuer != p.URL || !st.Renews {
		t.Errorf("before the first request: %+v", st)
	}
	again.mustRespond(s, "200 hello")
	if n := p.requestCount("authorization_code"); n != 1 {
		t.Errorf("%d sign-ins", n)
	}
	moved := Server{ID: "web", URL: p.URL + "/mcp?tenant=2"}
	if _, err := newTestKeeper(t, dir).post(moved, "hello"); !errors.Is(err, core.ErrNeedsLogin) {
		t.Errorf("another address uses the tokens: %v", err)
	}
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
	if back.Hostname() != "127.0.0.1" {
		t.Fatalf("the answer comes to %s", back)
	}
	for _, wrong := range []string{"?code=x", "?code=x&state=guess", "?code=x&state=" + state + "&state=" + state, "/other?code=x&state=" + state} {
		at := back.String() + wrong
		if text := openPage(t, at); strings.Contains(text, "signed in to") {
			t.Errorf("%s is taken: %s", wrong, text)
		}
	}
	rebound := must(http.NewRequest("GET", back.String()+"?code=x&state="+state, nil))
	rebound.Host = "evil.example:80"
	resp := must((&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(rebound))
	resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		t.Errorf("a rebound name gets %d", resp.StatusCode)
	}
	if st := r.Status("web"); st.Pending == nil {
		t.Fatal("a wrong answer has ended the sign-in")
	}
	mustContain(t, "the page", openPage(t, pending.URL), "is signed in to web")
	own := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	eventually.True(t, "the listener ends with its sign-in", func() bool { // it closes after the response
		resp, err := own.Get(back.String() + "?code=x&state=" + state)
		if err != nil {
			return true
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			t.Fatal("an answer is taken twice")
		}
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
	if first.URL == second.URL {
		t.Error("the same address twice")
	}
	if err := patient.Cancel("web"); err != nil {
		t.Fatal(err)
	}
	if err := patient.Cancel("web"); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("cancelled twice: %v", err)
	}
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
	if _, err := r.Begin(t.Context(), "web"); err == nil || !strings.Contains(err.Error(), "oauth.clientId") {
		t.Errorf("without a client: %v", err)
	}
	s := bare
	s.ClientID, s.ClientSecret = "my client", "s3cret+/="
	_, _ = r.post(s, "hello")
	r.signIn(s)
	r.mustRespond(s, "200 hello")
	if user != "my+client" || pass != url.QueryEscape("s3cret+/=") {
		t.Errorf("sent as %q %q", user, pass)
	}
	text := must(newVault(dir).Get(t.Context(), "server/web"))
	if strings.Contains(text, "s3cret") {
		t.Error("the secret was copied out of the configuration")
	}
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
		if _, err := r.post(s, "hello"); !errors.Is(err, core.ErrNeedsLogin) {
			t.Fatalf("%d: %v", n, err)
		}
		if state, reason := r.LoginState("web"); state != core.LoginMorePermissions || !strings.Contains(reason, "write") {
			t.Fatalf("%s %s", state, reason)
		}
		pending := must(r.Begin(t.Context(), "web"))
		if !slices.Contains(pending.Scopes, "read") || !slices.Contains(pending.Scopes, "write") {
			t.Errorf("it asks for %q", pending.Scopes)
		}
		openPage(t, pending.URL)
	}
	_, err := r.post(s, "hello")
	if err == nil || errors.Is(err, core.ErrNeedsLogin) || core.CodeOf(err) != core.CodeUnauthorized {
		t.Fatalf("it goes on asking: %v", err)
	}
	if state, _ := r.LoginState("web"); state == core.LoginMorePermissions {
		t.Error("the page goes on offering a sign-in that does not help")
	}
}
