package loopback

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOnlyLoopbackAddressesAreListenedOn(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{":7575", "0.0.0.0:0", "[::]:0", "192.168.1.2:0", "example.org:0", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000", "[::ffff:127.0.0.1]:0", "[::1%lo]:0", "", "127.1:0"} {
		ln, err := Listen(addr)
		if err == nil {
			_ = ln.Close()
			t.Errorf("listens on %q", addr)
		} else if core.CodeOf(err) != core.CodeValidation {
			t.Errorf("%q: %v", addr, err)
		}
	}
	for _, addr := range []string{"127.0.0.1:0", "localhost:0", "[::1]:0", "127.0.0.9:0"} {
		ln, err := Listen(addr)
		if err != nil {
			if strings.HasPrefix(addr, "[") && core.CodeOf(err) == core.CodeUnavailable {
				continue // a machine without IPv6
			}
			t.Errorf("%q: %v", addr, err)
			continue
		}
		if !ln.Addr().(*net.TCPAddr).IP.IsLoopback() {
			t.Errorf("%q became %s", addr, ln.Addr())
		}
		_ = ln.Close()
	}
}

func TestPortConflictNamesOwner(t *testing.T) {
	t.Parallel()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = other.Close() }()
	_, err = Listen(other.Addr().String())
	if !errors.Is(err, ErrPortTaken) || core.CodeOf(err) != core.CodeConflict {
		t.Fatalf("got %v", err)
	}
	message, hint := core.Describe(err)
	if runtime.GOOS == "linux" && !strings.Contains(message, fmt.Sprintf("(pid %d)", os.Getpid())) || hint == "" {
		t.Errorf("people read: %s. %s", message, hint)
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	b := &boundedListener{Listener: inner, free: make(chan struct{}, 1), done: make(chan struct{})}
	accepted := make(chan net.Conn)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			c, err := b.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	for range 2 {
		c, err := net.Dial("tcp", inner.Addr().String())
		must(t, err)
		defer func() { _ = c.Close() }()
	}
	first := <-accepted
	select {
	case <-accepted:
		t.Fatal("two connections where one is allowed")
	case <-time.After(50 * time.Millisecond):
	}
	_ = first.Close()
	_ = first.Close() // must not release a second slot
	second := <-accepted
	_ = second.Close()
	_ = b.Close()
	<-stopped
}

func TestTokensOfOtherProcessWorkImmediately(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	daemon, err := NewTokens(dir, nil)
	must(t, err)
	cli, err := NewTokens(dir, nil)
	must(t, err)
	if _, ok := daemon.Client(""); ok {
		t.Fatal("no token is a token")
	}
	cursor, err := cli.Create("cursor")
	if err != nil || !strings.HasPrefix(cursor.Token, TokenPrefix) || len(cursor.Token) < 40 {
		t.Fatalf("got %+v, %v", cursor, err)
	}
	if again, err := daemon.Create("cursor"); err != nil || again.Token != cursor.Token {
		t.Fatalf("a second Create made %+v, %v", again, err)
	}
	if name, ok := daemon.Client(cursor.Token); !ok || name != "cursor" {
		t.Fatalf("got %q, %v", name, ok)
	}
	for _, wrong := range []string{cursor.Token[:len(cursor.Token)-1], cursor.Token + "x", strings.ToUpper(cursor.Token), "dbr_", " " + cursor.Token} {
		if _, ok := daemon.Client(wrong); ok {
			t.Errorf("%q passes", wrong)
		}
	}
	rotated, err := cli.Rotate("cursor")
	if err != nil || rotated.Token == cursor.Token {
		t.Fatalf("got %+v, %v", rotated, err)
	}
	if _, ok := daemon.Client(rotated.Token); !ok {
		t.Error("the new token does not work")
	}
	if _, ok := daemon.Client(cursor.Token); ok {
		t.Error("the old token still works")
	}
	must(t, cli.Revoke("cursor"))
	<-time.After(recheckInterval)
	if _, ok := daemon.Client(rotated.Token); ok {
		t.Error("a revoked token still works")
	}
	if err := cli.Revoke("cursor"); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("revoking twice: %v", err)
	}
	if _, err := cli.Create("a b"); core.CodeOf(err) != core.CodeValidation {
		t.Errorf("a name with a space: %v", err)
	}
}

func TestConcurrentlyCreatedTokensAllPersist(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			tokens, err := NewTokens(dir, nil)
			if err == nil {
				_, err = tokens.Create(fmt.Sprintf("c%d", n))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	tokens, err := NewTokens(dir, nil)
	must(t, err)
	if list, err := tokens.ListWithSecrets(); len(list) != 20 || err != nil {
		t.Fatalf("%d of 20 are left, %v", len(list), err)
	}
}

func TestCorruptTokenFileIsNeverOverwritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tokens, err := NewTokens(dir, nil)
	must(t, err)
	cursor, err := tokens.Create("cursor")
	must(t, err)
	path := filepath.Join(dir, "tokens.json")
	must(t, os.WriteFile(path, []byte(`{"tokens": [`), 0o600))
	if _, ok := tokens.Client(cursor.Token); !ok {
		t.Error("a damaged file locks everybody out")
	}
	if _, err := tokens.Create("other"); err == nil {
		t.Error("a damaged file is written over")
	}
	if _, err := NewTokens(dir, nil); err == nil {
		t.Error("a damaged file opens as an empty one")
	}
	if data, _ := os.ReadFile(path); string(data) != `{"tokens": [` {
		t.Errorf("the file is now %s", data)
	}
}

func TestFilesArePrivateUnderAnyUmask(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("access lists")
	}
	dir := filepath.Join(t.TempDir(), "data")
	restore := umask(0)
	defer restore()
	tokens, err := NewTokens(dir, nil)
	must(t, err)
	if _, err := tokens.Create("cursor"); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenAdminToken(dir); err != nil {
		t.Fatal(err)
	}
	lock, err := Lock(dir)
	must(t, err)
	defer func() { _ = lock.Close() }()
	must(t, WriteRuntime(dir, Runtime{PID: 1}))
	s := OpenBrowserSessions(SessionOptions{DataDir: dir, Port: 1})
	if _, _, err := s.Exchange(s.NewCode()); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 6 {
		t.Fatalf("%v, %v", entries, err)
	}
	for _, e := range entries {
		if info, _ := e.Info(); info.Mode().Perm() != 0o600 {
			t.Errorf("%s is %v", e.Name(), info.Mode())
		}
	}
	if info, _ := os.Stat(dir); info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v", info.Mode())
	}
	must(t, os.Chmod(filepath.Join(dir, "tokens.json"), 0o644))
	if _, err := NewTokens(dir, nil); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(filepath.Join(dir, "tokens.json")); info.Mode().Perm() != 0o600 {
		t.Errorf("a file that others could read stays %v", info.Mode())
	}
}

func TestOnlyBearerTokenNamesClient(t *testing.T) {
	t.Parallel()
	tokens, err := NewTokens(t.TempDir(), nil)
	must(t, err)
	cursor, err := tokens.Create("cursor")
	must(t, err)
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
	tokens, err := NewTokens(t.TempDir(), nil)
	must(t, err)
	cursor, err := tokens.Create("cursor")
	must(t, err)
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
	if counts[401] > 3*failuresPerSecond || counts[429] < 100 {
		t.Errorf("200 guesses got %v", counts)
	}
	if got := send(cursor.Token); got != 200 {
		t.Errorf("the right token gets %d meanwhile", got)
	}
}

func TestMigratingDaemonIsAwaited(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	await := func(ctx context.Context, next map[string]func()) (steps []string, err error) {
		err = AwaitMigration(ctx, dir, func(step string) {
			steps = append(steps, step)
			if do := next[step]; do != nil {
				do()
			}
		})
		return steps, err
	}
	must(t, WriteRuntime(dir, Runtime{Starting: "step 1 of 2"}))
	if steps, err := await(t.Context(), nil); err != nil || len(steps) > 0 {
		t.Fatalf("a dead daemon: %q, %v", steps, err)
	}
	lock, err := Lock(dir)
	must(t, err)
	const first, second = "Drawbridge is starting: step 1 of 2", "Drawbridge is starting: step 2 of 2"
	ctx, cancel := context.WithCancel(t.Context())
	if steps, err := await(ctx, map[string]func(){first: cancel}); err == nil || err.Error() != first || len(steps) != 1 {
		t.Errorf("interrupted: %q, %v", steps, err)
	}
	steps, err := await(t.Context(), map[string]func(){
		first:  func() { must(t, WriteRuntime(dir, Runtime{Starting: "step 2 of 2"})) },
		second: func() { must(t, WriteRuntime(dir, Runtime{URL: "http://127.0.0.1:7575"})) },
	})
	if err != nil || !slices.Equal(steps, []string{first, second}) {
		t.Errorf("migrated: %q, %v", steps, err)
	}
	must(t, lock.Close())
}

func TestOneDaemonPerDataFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	if held, err := IsDaemonRunning(dir); held || err != nil {
		t.Fatalf("a folder that is not there is held: %v", err)
	}
	lock, err := Lock(dir)
	must(t, err)
	if _, ok, err := FindDaemon(dir); ok || err != nil {
		t.Fatalf("a daemon that does not answer yet is found: %v", err)
	}
	if got := StartingDaemon(dir); got != "Drawbridge is starting or stopping" {
		t.Errorf("a daemon that does not answer yet is described as %q", got)
	}
	must(t, WriteRuntime(dir, Runtime{PID: 42, Starting: "step 2 of 6"}))
	if _, ok, err := FindDaemon(dir); ok || err != nil || StartingDaemon(dir) != "Drawbridge is starting: step 2 of 6" {
		t.Fatalf("a daemon that migrates: found %v, %v, described as %q", ok, err, StartingDaemon(dir))
	}
	want := Runtime{PID: 42, URL: "http://127.0.0.1:7575", Version: "1", StartedAt: time.Unix(1, 0).UTC()}
	must(t, WriteRuntime(dir, want))
	if rt, ok, err := FindDaemon(dir); !ok || rt != want || err != nil {
		t.Fatalf("got %+v, %v, %v", rt, ok, err)
	}
	_, err = Lock(dir)
	if held, ok := errors.AsType[*HeldError](err); !ok || held.Runtime != want || !strings.Contains(err.Error(), want.URL) {
		t.Fatalf("a second daemon gets %v", err)
	}
	must(t, lock.Close())
	if _, ok, err := FindDaemon(dir); ok || err != nil {
		t.Fatalf("a dead daemon's file is believed: %v", err)
	}
	if got := StartingDaemon(dir); got != "" {
		t.Errorf("a dead daemon is described as %q", got)
	}
	for range 2 {
		must(t, RemoveRuntime(dir))
	}
	again, err := Lock(dir)
	must(t, err)
	_ = again.Close()
}

func TestAdminTokenIsCreatedOnceAndReread(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	admin, err := OpenAdminToken(dir)
	must(t, err)
	token, err := ReadAdminToken(dir)
	if err != nil || !admin.Valid(token) || admin.Valid("") || admin.Valid(token+"x") {
		t.Fatalf("token %q, %v", token, err)
	}
	if _, err := OpenAdminToken(dir); err != nil {
		t.Fatal(err)
	}
	if again, _ := ReadAdminToken(dir); again != token {
		t.Fatal("a second start made another token")
	}
	must(t, os.WriteFile(filepath.Join(dir, "admin.token"), []byte("dbr_other\n"), 0o600))
	if admin.Valid(token) || !admin.Valid("dbr_other") {
		t.Error("a replaced token is not noticed")
	}
	must(t, os.Remove(filepath.Join(dir, "admin.token")))
	if admin.Valid("dbr_other") || admin.Valid("") {
		t.Error("a removed token still works")
	}
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
