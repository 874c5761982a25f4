//go:build !windows

package loopback

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The folder of a guest is mounted in a sandbox, which may have put anything into it.
func TestGuestSocketFollowsNothingThatGuestHasMade(t *testing.T) {
	defer unix.Umask(unix.Umask(0))
	dir := shortDir(t)
	folder, victim := filepath.Join(dir, "guests", "dev"), filepath.Join(dir, "victim")
	require.NoError(t, os.WriteFile(victim, []byte("mine"), 0o755))
	for _, made := range []func(path string) error{
		func(string) error { return nil },
		func(path string) error { return os.Symlink(victim, path) },
		func(path string) error { return os.MkdirAll(filepath.Join(path, "deep"), 0o700) },
		func(path string) error { return os.WriteFile(path, nil, 0o644) },
	} {
		for name, mode := range map[string]os.FileMode{GuestSocket: os.ModeSocket | 0o600, GuestToken: 0o600} {
			require.NoError(t, os.MkdirAll(folder, 0o700))
			require.NoError(t, os.RemoveAll(filepath.Join(folder, name)))
			require.NoError(t, made(filepath.Join(folder, name)))
			ln, err := ListenGuest(folder, Token{Name: "dev", Token: "dbr_x", Guest: true})
			require.NoError(t, err)
			serveOn(t, ln, "a guest")
			c, err := net.Dial("unix", filepath.Join(folder, GuestSocket))
			require.NoError(t, err)
			_, _ = io.WriteString(c, "GET / HTTP/1.0\r\nHost: x\r\n\r\n")
			got, _ := io.ReadAll(c)
			assert.Contains(t, string(got), "a guest")
			c.Close()
			if info, err := os.Lstat(filepath.Join(folder, name)); err != nil || info.Mode() != mode {
				t.Errorf("%s: %v %v", name, info.Mode(), err)
			}
		}
	}
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info.Mode(), err)
	}
	text, err := os.ReadFile(victim)
	assert.Equal(t, "mine", string(text), err)
	if info, err := os.Stat(victim); err != nil || info.Mode().Perm() != 0o755 {
		t.Error("the file behind the link has another mode:", info.Mode(), err)
	}
}

func TestGuestSocketRefusesForeignFoldersAndLongPaths(t *testing.T) {
	t.Parallel()
	dir, elsewhere := shortDir(t), shortDir(t)
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(dir, "link")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "guests"), 0o755))
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(dir, "guests", "dev")))
	for _, folder := range []string{filepath.Join(dir, "link", "dev"), filepath.Join(dir, "guests", "dev"), filepath.Join(dir, "guests", strings.Repeat("n", 90))} {
		if ln, err := ListenGuest(folder, Token{Name: "dev"}); err == nil {
			ln.Close()
			t.Error("listens in", folder)
		}
	}
	left, err := os.ReadDir(elsewhere)
	assert.Truef(t, len(left) == 0 && err == nil, "%v %v", left, err)
	if info, err := os.Stat(filepath.Join(dir, "guests")); err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info.Mode(), err)
	}
}

// A program in a container may run as another user of this machine, whom only the mount lets in.
func TestGuestSocketAdmitsItsUsersOnly(t *testing.T) {
	t.Parallel()
	for uid, want := range map[int]bool{os.Getuid(): true, os.Getuid() + 1: false} {
		folder := filepath.Join(shortDir(t), "guests", "dev")
		ln, err := ListenGuest(folder, Token{UID: uid})
		require.NoError(t, err)
		users := ln.(*boundedListener).Listener.(*userListener).users
		users[0], users[1] = -1, -1 // this user and root
		serveOn(t, ln, "a guest")
		c, err := net.Dial("unix", filepath.Join(folder, GuestSocket))
		require.NoError(t, err)
		_, _ = io.WriteString(c, "GET / HTTP/1.0\r\nHost: x\r\n\r\n")
		got, _ := io.ReadAll(c)
		assert.Equalf(t, want, len(got) > 0, "%d", uid)
		c.Close()
	}
}

// The token of a guest is accepted on its own socket only, and no other token there.
func TestGuestTokenIsAcceptedOnItsSocketOnly(t *testing.T) {
	t.Parallel()
	tokens, err := NewTokens(t.TempDir(), nil)
	require.NoError(t, err)
	client, err := tokens.Create("cursor")
	require.NoError(t, err)
	one, err := tokens.CreateGuest("one", 0)
	require.NoError(t, err)
	two, err := tokens.CreateGuest("two", 0)
	require.NoError(t, err)
	reached := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get(ClientHeader)+r.Header.Get(GuestHeader))
	})
	doors := map[string]http.Handler{
		"tcp": Bearer(BearerOptions{Tokens: tokens})(reached),
		"one": GuestBearer(tokens, "one", nil)(reached),
		"two": GuestBearer(tokens, "two", nil)(reached),
	}
	for door, handler := range doors {
		for name, token := range map[string]string{"cursor": client.Token, "one": one.Token, "two": two.Token, "nobody": "", "somebody": TokenPrefix + "x"} {
			r := httptest.NewRequest("POST", "/mcp", nil)
			r.Header.Set("Authorization", "Bearer "+token)
			r.Header.Set(ClientHeader, "cursor")
			r.Header.Set(GuestHeader, "forged")
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if want := name == door || name == "cursor" && door == "tcp"; (w.Code == http.StatusOK) != want || want && w.Body.String() != name+map[bool]string{door != "tcp": "1"}[true] {
				t.Errorf("the token of %s at %s: %d %s", name, door, w.Code, w.Body)
			}
		}
	}
	for what, err := range map[string]error{
		"create":                second(tokens.Create("one")),
		"rotate":                second(tokens.Rotate("one")),
		"revoke":                tokens.Revoke("one"),
		"a guest twice":         second(tokens.CreateGuest("one", 0)),
		"a guest like a client": second(tokens.CreateGuest("cursor", 0)),
		"remove a client":       tokens.RevokeGuest("cursor"),
		"remove nobody":         tokens.RevokeGuest("three"),
	} {
		assert.Errorf(t, err, "%v %v", what, "is possible")
	}
	require.NoError(t, tokens.RevokeGuest("one"))
	_, ok := tokens.find(one.Token, true)
	assert.False(t, ok, "the token of a removed guest is accepted")
}

func second(_ Token, err error) error { return err }
