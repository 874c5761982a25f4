package loopback

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// TestRequestsPassWhileTokenFileIsLocked checks that requests are served while another, stalled
// process holds the lock of the token file.
func TestRequestsPassWhileTokenFileIsLocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tokens, err := NewTokens(dir, nil)
	must(t, err)
	one, err := tokens.Create("one")
	must(t, err)
	waits, made := make(chan struct{}), make(chan error, 1)
	err = withFileLock(filepath.Join(dir, "tokens.lock"), func() error {
		go func() {
			close(waits)
			_, err := tokens.Create("two")
			made <- err
		}()
		<-waits
		for range 50 { // meanwhile Create waits for the lock
			time.Sleep(2 * time.Millisecond)
			began := time.Now()
			if name, ok := tokens.Client(one.Token); !ok || name != "one" {
				t.Fatalf("a good token is %q, %v", name, ok)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Fatalf("a request waited %s for a token that is made", took)
			}
		}
		return nil
	})
	must(t, err)
	if err := <-made; err != nil {
		t.Error(err)
	}
	if all, err := tokens.ListWithSecrets(); err != nil || len(all) != 2 {
		t.Errorf("the tokens are %v, %v", all, err)
	}
}

// TestCorruptAdminTokenIsReplaced: with a token that is not a valid header value every command
// would fail.
func TestCorruptAdminTokenIsReplaced(t *testing.T) {
	t.Parallel()
	for damaged, stays := range map[string]bool{"": false, " \n": false, "db_\x00abc": false, "db_\xe2abc": false, "db_a b": false, "of-a-person\n": true} {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "admin.token"), []byte(damaged), 0o600))
		a, err := OpenAdminToken(dir)
		must(t, err)
		token, err := ReadAdminToken(dir)
		if err != nil || !a.Valid(token) || !isHeaderValue(token) {
			t.Errorf("%q: the token is %q, %v", damaged, token, err)
		}
		if (token == "of-a-person") != stays {
			t.Errorf("%q became %q", damaged, token)
		}
	}
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
