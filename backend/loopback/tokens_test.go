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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRequestsPassWhileTokenFileIsLocked checks that requests are served while another, stalled
// process holds the lock of the token file.
func TestRequestsPassWhileTokenFileIsLocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tokens, err := NewTokens(dir, nil)
	require.NoError(t, err)
	one, err := tokens.Create("one")
	require.NoError(t, err)
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
			name, ok := tokens.Client(one.Token)
			require.Truef(t, ok && name == "one", "a good token is %q, %v", name, ok)
			took := time.Since(began)
			require.Truef(t, took <= 10*time.Second, "a request waited %s for a token that is made", took)
		}
		return nil
	})
	require.NoError(t, err)
	err = <-made
	assert.NoError(t, err)
	all, err := tokens.ListWithSecrets()
	assert.Truef(t, err == nil && len(all) == 2, "the tokens are %v, %v", all, err)
}

// TestCorruptAdminTokenIsReplaced: with a token that is not a valid header value every command
// would fail.
func TestCorruptAdminTokenIsReplaced(t *testing.T) {
	t.Parallel()
	for damaged, stays := range map[string]bool{"": false, " \n": false, "db_\x00abc": false, "db_\xe2abc": false, "db_a b": false, "of-a-person\n": true} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "admin.token"), []byte(damaged), 0o600))
		a, err := OpenAdminToken(dir)
		require.NoError(t, err)
		token, err := ReadAdminToken(dir)
		assert.Truef(t, err == nil && a.Valid(token) && isHeaderValue(token), "%q: the token is %q, %v", damaged, token, err)
		assert.Equalf(t, stays, token == "of-a-person", "%q", damaged)
	}
}

func TestTokensOfOtherProcessWorkImmediately(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	daemon, err := NewTokens(dir, nil)
	require.NoError(t, err)
	cli, err := NewTokens(dir, nil)
	require.NoError(t, err)
	_, ok := daemon.Client("")
	require.False(t, ok, "no token is a token")
	cursor, err := cli.Create("cursor")
	require.Truef(t, err == nil && strings.HasPrefix(cursor.Token, TokenPrefix) && len(cursor.Token) >= 40, "got %+v, %v", cursor, err)
	again, err := daemon.Create("cursor")
	require.Truef(t, err == nil && again.Token == cursor.Token, "a second Create made %+v, %v", again, err)
	name, ok := daemon.Client(cursor.Token)
	require.Truef(t, ok && name == "cursor", "got %q, %v", name, ok)
	for _, wrong := range []string{cursor.Token[:len(cursor.Token)-1], cursor.Token + "x", strings.ToUpper(cursor.Token), "dbr_", " " + cursor.Token} {
		if _, ok := daemon.Client(wrong); ok {
			t.Errorf("%q passes", wrong)
		}
	}
	rotated, err := cli.Rotate("cursor")
	require.NoError(t, err)
	require.NotEqual(t, cursor.Token, rotated.Token)
	_, ok = daemon.Client(rotated.Token)
	assert.True(t, ok, "the new token does not work")
	_, ok = daemon.Client(cursor.Token)
	assert.False(t, ok, "the old token still works")
	require.NoError(t, cli.Revoke("cursor"))
	<-time.After(recheckInterval)
	_, ok = daemon.Client(rotated.Token)
	assert.False(t, ok, "a revoked token still works")
	assert.Equal(t, core.CodeNotFound, core.CodeOf(cli.Revoke("cursor")), "revoking twice")
	_, err = cli.Create("a b")
	assert.Equal(t, core.CodeValidation, core.CodeOf(err), "a name with a space")
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
			assert.NoError(t, err)
		})
	}
	all.Wait()
	tokens, err := NewTokens(dir, nil)
	require.NoError(t, err)
	list, err := tokens.ListWithSecrets()
	require.Truef(t, len(list) == 20 && err == nil, "%d of 20 are left, %v", len(list), err)
}

func TestCorruptTokenFileIsNeverOverwritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tokens, err := NewTokens(dir, nil)
	require.NoError(t, err)
	cursor, err := tokens.Create("cursor")
	require.NoError(t, err)
	path := filepath.Join(dir, "tokens.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"tokens": [`), 0o600))
	_, ok := tokens.Client(cursor.Token)
	assert.True(t, ok, "a damaged file locks everybody out")
	_, err = tokens.Create("other")
	assert.Error(t, err, "a damaged file is written over")
	_, err = NewTokens(dir, nil)
	assert.Error(t, err, "a damaged file opens as an empty one")
	data, _ := os.ReadFile(path)
	assert.Equal(t, `{"tokens": [`, string(data), "the file is now")
}

func TestAdminTokenIsCreatedOnceAndReread(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	admin, err := OpenAdminToken(dir)
	require.NoError(t, err)
	token, err := ReadAdminToken(dir)
	require.Truef(t, err == nil && admin.Valid(token) && !admin.Valid("") && !admin.Valid(token+"x"), "token %q, %v", token, err)
	_, err = OpenAdminToken(dir)
	require.NoError(t, err)
	again, _ := ReadAdminToken(dir)
	require.Equal(t, token, again, "a second start made another token")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "admin.token"), []byte("dbr_other\n"), 0o600))
	assert.True(t, !admin.Valid(token) && admin.Valid("dbr_other"), "a replaced token is not noticed")
	require.NoError(t, os.Remove(filepath.Join(dir, "admin.token")))
	assert.True(t, !admin.Valid("dbr_other") && !admin.Valid(""), "a removed token still works")
}
