package secret

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestUnstoredSecretFailsImmediatelyWhileLocked(t *testing.T) {
	ctx, dir, keyring := t.Context(), t.TempDir(), newFakeKeyring(Open)
	p := New(Options{Dir: dir, Keyring: keyring}).InternalValues("oauth")
	for _, name := range []string{"server/web", "client/1"} {
		require.NoError(t, p.Set(ctx, name, "tokens-of-"+name))
	}
	keyring.setState(Locked)
	p = New(Options{Dir: dir, Keyring: keyring}).InternalValues("oauth")
	_, err := p.Get(ctx, "server/web")
	assert.ErrorIs(t, err, ErrLocked, "what is kept")
	_, err = p.Get(ctx, "server/open")
	assert.Equal(t, core.CodeNotFound, core.CodeOf(err), "what is not kept")
	assert.ErrorIs(t, p.Ready(ctx), ErrLocked)
	names, err := p.Names(ctx)
	assert.Truef(t, err == nil && slices.Equal(names, []string{"client/1", "server/web"}), "names %v, %v", names, err)
	assert.NoError(t, p.Move(ctx, "server/open", "server/other"), "what is not there is moved")
	assert.ErrorIs(t, p.Move(ctx, "server/web", "server/other"), ErrLocked, "moved while locked")
	keyring.setState(Open)
	require.NoError(t, p.Move(ctx, "server/web", "server/other"))
	got, err := p.Get(ctx, "server/other")
	assert.Truef(t, err == nil && got == "tokens-of-server/web", "%q, %v", got, err)
	_, err = p.Get(ctx, "server/web")
	assert.Equal(t, core.CodeNotFound, core.CodeOf(err), "under its old name")
	assert.ErrorIs(t, New(Options{Dir: t.TempDir(), Keyring: newFakeKeyring(Locked)}).InternalValues("oauth").Ready(ctx), ErrLocked)
	assert.NoError(t, New(Options{Dir: t.TempDir(), Keyring: newFakeKeyring(Absent)}).InternalValues("oauth").Ready(ctx), "ready without a keyring")
}

// A file of an older version does not list the internal values. While it is locked no value is
// reported as missing, otherwise a signed-in server would count as signed out.
func TestLockedOlderFileReportsNothingMissing(t *testing.T) {
	ctx, dir, keyring := t.Context(), t.TempDir(), newFakeKeyring(Open)
	require.NoError(t, New(Options{Dir: dir, Keyring: keyring}).InternalValues("oauth").Set(ctx, "server/web", "tokens"))
	path := filepath.Join(dir, "secrets.json")
	var file map[string]any
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	delete(file, "private")
	text, _ = json.Marshal(file)
	if err = errors.Join(err, os.WriteFile(path, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	keyring.setState(Locked)
	p := New(Options{Dir: dir, Keyring: keyring}).InternalValues("oauth")
	for _, name := range []string{"server/web", "server/open"} {
		if _, err := p.Get(ctx, name); !errors.Is(err, ErrLocked) {
			t.Errorf("%s: %v", name, err)
		}
	}
	names, err := p.Names(ctx)
	assert.ErrorIsf(t, err, ErrLocked, "names %v", names)
	keyring.setState(Open)
	names, err = p.Names(ctx)
	assert.Truef(t, err == nil && slices.Equal(names, []string{"server/web"}), "open: names %v, %v", names, err)
}

func TestInternalSecretsOpenNoPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keyring := newFakeKeyring(Locked)
		prompt := make(chan struct{})
		keyring.hang = prompt
		began := time.Now()
		err := New(Options{Dir: t.TempDir(), Keyring: keyring}).InternalValues("oauth").Set(t.Context(), "server/web", "tokens")
		took := time.Since(began)
		assert.Truef(t, errors.Is(err, ErrLocked) && took == 0, "after %s: %v", took, err)
		close(prompt)
	})
}

// A prompt that waits for the user does not block other operations.
func TestKeyringPromptBlocksNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, dir, keyring := t.Context(), t.TempDir(), newFakeKeyring(Open)
		mustSet(t, New(Options{Dir: dir, Keyring: keyring}), "a", "value-of-a")
		keyring.setState(Locked)
		prompt := make(chan struct{})
		keyring.hang = prompt
		s := New(Options{Dir: dir, Keyring: keyring})
		done := make(chan error, 2)
		go func() { done <- s.Unlock(ctx) }()
		go func() { done <- s.Set(ctx, "b", "value-of-b") }()
		synctest.Wait()
		began := time.Now()
		st := s.Status(ctx)
		assert.Truef(t, st.Locked, "status %+v", st)
		_, err := s.Get(ctx, "a")
		assert.ErrorIs(t, err, ErrLocked)
		assert.EqualValues(t, 0, time.Since(began), "it took")
		for range 2 {
			if err := <-done; !errors.Is(err, ErrLocked) {
				t.Errorf("nobody answered: %v", err)
			}
		}
		assert.Equal(t, time.Minute, time.Since(began), "the user was waited")
		// The keyring was unlocked in another way, and the prompt is still open.
		keyring.mu.Lock()
		keyring.hang = nil
		keyring.mu.Unlock()
		keyring.setState(Open)
		mustGet(t, s, "a", "value-of-a")
		close(prompt)
	})
}

func TestDestroyDeletesSecretsAndKey(t *testing.T) {
	for home, keyring := range map[KeyLocation]*fakeKeyring{InKeyring: newFakeKeyring(Open), InFile: newFakeKeyring(Absent)} {
		dir := t.TempDir()
		s := New(Options{Dir: dir, Keyring: keyring})
		mustSet(t, s, "a", "value-of-a")
		require.NoError(t, s.Destroy(t.Context()))
		if left, _ := filepath.Glob(filepath.Join(dir, "secrets.[jk]*")); len(left) != 0 || len(keyring.keys) != 0 {
			t.Errorf("%s: left are %v, and %d keys", home, left, len(keyring.keys))
		}
		_, err := s.Get(t.Context(), "a")
		assert.Equal(t, core.CodeNotFound, core.CodeOf(err), home)
		if known := len(s.KnownSecrets()); known != 1 { // it may still appear in a response
			t.Errorf("%s: %d values are masked", home, known)
		}
		mustSet(t, s, "b", "value-of-b") // with a new file
		again := New(Options{Dir: dir, Keyring: keyring})
		mustGet(t, again, "b", "value-of-b")
		_, err = again.Get(t.Context(), "a")
		assert.Equal(t, core.CodeNotFound, core.CodeOf(err), home)
	}
	dir, keyring := t.TempDir(), newFakeKeyring(Open)
	mustSet(t, New(Options{Dir: dir, Keyring: keyring}), "a", "value-of-a")
	keyring.setState(Locked)
	assert.ErrorIs(t, New(Options{Dir: dir, Keyring: keyring}).Destroy(t.Context()), ErrLocked, "with a locked keyring")
	_, err := os.Stat(filepath.Join(dir, "secrets.json"))
	assert.Error(t, err, "the secrets are there because their key is")
}

// Move replaces the value with the new name, and the moved value survives a restart.
func TestMovedSecretReplacesTarget(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	o := Options{Dir: dir, Keyring: newFakeKeyring(Absent)}
	p := New(o).InternalValues("oauth")
	for _, name := range []string{"server/old", "server/new"} {
		require.NoError(t, p.Set(ctx, name, "tokens-of-"+name))
	}
	for range 2 { // the second Move has nothing to move and deletes nothing
		require.NoError(t, p.Move(ctx, "server/old", "server/new"))
		again := New(o).InternalValues("oauth")
		got, err := again.Get(ctx, "server/new")
		assert.Truef(t, err == nil && got == "tokens-of-server/old", "%q, %v", got, err)
		names, err := again.Names(ctx)
		assert.Truef(t, err == nil && slices.Equal(names, []string{"server/new"}), "names %v, %v", names, err)
	}
	_, err := New(o).InternalValues("else").Get(ctx, "server/new")
	assert.Equal(t, core.CodeNotFound, core.CodeOf(err), "of another kind")
}
