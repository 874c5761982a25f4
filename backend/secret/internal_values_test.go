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
)

func TestUnstoredSecretFailsImmediatelyWhileLocked(t *testing.T) {
	ctx, dir, keyring := t.Context(), t.TempDir(), newFakeKeyring(Open)
	p := New(Options{Dir: dir, Keyring: keyring}).InternalValues("oauth")
	for _, name := range []string{"server/web", "client/1"} {
		if err := p.Set(ctx, name, "tokens-of-"+name); err != nil {
			t.Fatal(err)
		}
	}
	keyring.setState(Locked)
	p = New(Options{Dir: dir, Keyring: keyring}).InternalValues("oauth")
	if _, err := p.Get(ctx, "server/web"); !errors.Is(err, ErrLocked) {
		t.Errorf("what is kept: %v", err)
	}
	if _, err := p.Get(ctx, "server/open"); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("what is not kept: %v", err)
	}
	if err := p.Ready(ctx); !errors.Is(err, ErrLocked) {
		t.Errorf("ready: %v", err)
	}
	if names, err := p.Names(ctx); err != nil || !slices.Equal(names, []string{"client/1", "server/web"}) {
		t.Errorf("names %v, %v", names, err)
	}
	if err := p.Move(ctx, "server/open", "server/other"); err != nil {
		t.Errorf("what is not there is moved: %v", err)
	}
	if err := p.Move(ctx, "server/web", "server/other"); !errors.Is(err, ErrLocked) {
		t.Errorf("moved while locked: %v", err)
	}
	keyring.setState(Open)
	if err := p.Move(ctx, "server/web", "server/other"); err != nil {
		t.Fatal(err)
	}
	if got, err := p.Get(ctx, "server/other"); err != nil || got != "tokens-of-server/web" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := p.Get(ctx, "server/web"); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("under its old name: %v", err)
	}
	if err := New(Options{Dir: t.TempDir(), Keyring: newFakeKeyring(Locked)}).InternalValues("oauth").Ready(ctx); !errors.Is(err, ErrLocked) {
		t.Errorf("ready for the first of all, beside a locked keyring: %v", err)
	}
	if err := New(Options{Dir: t.TempDir(), Keyring: newFakeKeyring(Absent)}).InternalValues("oauth").Ready(ctx); err != nil {
		t.Errorf("ready without a keyring: %v", err)
	}
}

// A file of an older version does not list the internal values. While it is locked no value is
// reported as missing, otherwise a signed-in server would count as signed out.
func TestLockedOlderFileReportsNothingMissing(t *testing.T) {
	ctx, dir, keyring := t.Context(), t.TempDir(), newFakeKeyring(Open)
	if err := New(Options{Dir: dir, Keyring: keyring}).InternalValues("oauth").Set(ctx, "server/web", "tokens"); err != nil {
		t.Fatal(err)
	}
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
	if names, err := p.Names(ctx); !errors.Is(err, ErrLocked) {
		t.Errorf("names %v, %v", names, err)
	}
	keyring.setState(Open)
	if names, err := p.Names(ctx); err != nil || !slices.Equal(names, []string{"server/web"}) {
		t.Errorf("open: names %v, %v", names, err)
	}
}

func TestInternalSecretsOpenNoPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keyring := newFakeKeyring(Locked)
		prompt := make(chan struct{})
		keyring.hang = prompt
		began := time.Now()
		err := New(Options{Dir: t.TempDir(), Keyring: keyring}).InternalValues("oauth").Set(t.Context(), "server/web", "tokens")
		if took := time.Since(began); !errors.Is(err, ErrLocked) || took != 0 {
			t.Errorf("after %s: %v", took, err)
		}
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
		if st := s.Status(ctx); !st.Locked {
			t.Errorf("status %+v", st)
		}
		if _, err := s.Get(ctx, "a"); !errors.Is(err, ErrLocked) {
			t.Errorf("Get: %v", err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("it took %s", took)
		}
		for range 2 {
			if err := <-done; !errors.Is(err, ErrLocked) {
				t.Errorf("nobody answered: %v", err)
			}
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("the user was waited for %s", took)
		}
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
		if err := s.Destroy(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "secrets.[jk]*")); len(left) != 0 || len(keyring.keys) != 0 {
			t.Errorf("%s: left are %v, and %d keys", home, left, len(keyring.keys))
		}
		if _, err := s.Get(t.Context(), "a"); core.CodeOf(err) != core.CodeNotFound {
			t.Errorf("%s: %v", home, err)
		}
		if known := len(s.KnownSecrets()); known != 1 { // it may still appear in a response
			t.Errorf("%s: %d values are masked", home, known)
		}
		mustSet(t, s, "b", "value-of-b") // with a new file
		again := New(Options{Dir: dir, Keyring: keyring})
		mustGet(t, again, "b", "value-of-b")
		if _, err := again.Get(t.Context(), "a"); core.CodeOf(err) != core.CodeNotFound {
			t.Errorf("%s: begun anew, it has what was destroyed: %v", home, err)
		}
	}
	dir, keyring := t.TempDir(), newFakeKeyring(Open)
	mustSet(t, New(Options{Dir: dir, Keyring: keyring}), "a", "value-of-a")
	keyring.setState(Locked)
	if err := New(Options{Dir: dir, Keyring: keyring}).Destroy(t.Context()); !errors.Is(err, ErrLocked) {
		t.Errorf("with a locked keyring: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "secrets.json")); err == nil {
		t.Error("the secrets are there because their key is")
	}
}

// Move replaces the value with the new name, and the moved value survives a restart.
func TestMovedSecretReplacesTarget(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	o := Options{Dir: dir, Keyring: newFakeKeyring(Absent)}
	p := New(o).InternalValues("oauth")
	for _, name := range []string{"server/old", "server/new"} {
		if err := p.Set(ctx, name, "tokens-of-"+name); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second Move has nothing to move and deletes nothing
		if err := p.Move(ctx, "server/old", "server/new"); err != nil {
			t.Fatal(err)
		}
		again := New(o).InternalValues("oauth")
		if got, err := again.Get(ctx, "server/new"); err != nil || got != "tokens-of-server/old" {
			t.Errorf("%q, %v", got, err)
		}
		if names, err := again.Names(ctx); err != nil || !slices.Equal(names, []string{"server/new"}) {
			t.Errorf("names %v, %v", names, err)
		}
	}
	if _, err := New(o).InternalValues("else").Get(ctx, "server/new"); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("of another kind: %v", err)
	}
}
