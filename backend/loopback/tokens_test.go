package loopback

import (
	"os"
	"path/filepath"
	"testing"
	"time"
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
