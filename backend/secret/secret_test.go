package secret

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if inside := childTests[os.Getenv("SECRET_INSIDE")]; inside != nil {
		if err := inside(os.Getenv("HOME")); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// childTests are the functions that runInChild runs in a child process.
var childTests = map[string]func(home string) error{}

// fakeKeyring is a keyring whose state is set by the test.
type fakeKeyring struct {
	mu    sync.Mutex
	state State
	keys  map[string]string
	sets  int
	hang  chan struct{} // Get and Set block on it unless it is nil
}

func newFakeKeyring(state State) *fakeKeyring {
	return &fakeKeyring{state: state, keys: map[string]string{}}
}

func (r *fakeKeyring) State(context.Context) State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

func (r *fakeKeyring) setState(state State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = state
}

func (r *fakeKeyring) wait() {
	r.mu.Lock()
	hang := r.hang
	r.mu.Unlock()
	if hang != nil {
		<-hang
	}
}

func (r *fakeKeyring) Get(account string) (string, error) {
	r.wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state != Open {
		return "", errors.New("dismissed")
	}
	key, ok := r.keys[account]
	if !ok {
		return "", ErrNoKey
	}
	return key, nil
}

func (r *fakeKeyring) Set(account, value string) error {
	r.wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state != Open {
		return errors.New("dismissed")
	}
	r.sets++
	r.keys[account] = value
	return nil
}

func (r *fakeKeyring) Delete(account string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state != Open {
		return errors.New("dismissed")
	}
	delete(r.keys, account)
	return nil
}

func mustSet(t *testing.T, s *Store, name, value string) {
	t.Helper()
	require.NoError(t, s.Set(t.Context(), name, value))
}

func mustGet(t *testing.T, s *Store, name, value string) {
	t.Helper()
	got, err := s.Get(t.Context(), name)
	require.Truef(t, err == nil && got == value, "%s is %q (%v), want %q", name, got, err, value)
}

const canary = "canary-5c1f0e-hunter2"

func TestSecretSurvivesRestartEncrypted(t *testing.T) {
	for home, keyring := range map[KeyLocation]*fakeKeyring{InKeyring: newFakeKeyring(Open), InFile: newFakeKeyring(Absent)} {
		t.Run(string(home), func(t *testing.T) {
			dir := t.TempDir()
			s := New(Options{Dir: dir, Keyring: keyring})
			mustSet(t, s, "github.TOKEN", canary)
			again := New(Options{Dir: dir, Keyring: keyring})
			mustGet(t, again, "github.TOKEN", canary)
			st := again.Status(t.Context())
			require.Truef(t, st.Home == home && st.Count == 1 && !st.Locked && (st.Notice != "") == (home == InFile), "status %+v", st)
			files, _ := filepath.Glob(filepath.Join(dir, "*"))
			for _, file := range files {
				b, err := os.ReadFile(file)
				require.NoError(t, err)
				assert.Truef(t, !bytes.Contains(b, []byte(canary)) && !bytes.Contains(b, []byte("github.TOKEN")), "%s shows the secret:\n%s", file, b)
				if info, _ := os.Stat(file); os.PathSeparator == '/' && info.Mode().Perm() != 0o600 {
					t.Errorf("%s has mode %s", file, info.Mode())
				}
			}
			_, err := os.Stat(filepath.Join(dir, "secrets.key"))
			there := err == nil
			assert.Equal(t, home == InFile, there, "the key file is there")
		})
	}
}

func TestLockedKeyringCreatesNoSecondKey(t *testing.T) {
	for _, state := range []State{Locked, Absent} {
		t.Run(string(state), func(t *testing.T) {
			dir, keyring := t.TempDir(), newFakeKeyring(Open)
			mustSet(t, New(Options{Dir: dir, Keyring: keyring}), "a", "value-of-a")
			before, _ := os.ReadFile(filepath.Join(dir, "secrets.json"))

			keyring.setState(state)
			s := New(Options{Dir: dir, Keyring: keyring})
			_, err := s.Get(t.Context(), "a")
			if !errors.Is(err, ErrLocked) || core.CodeOf(err) != core.CodeUnavailable || !strings.HasPrefix(err.Error(), "needs-unlock: ") {
				t.Fatalf("Get: %v", err)
			}
			require.ErrorIs(t, s.Set(t.Context(), "b", "value-of-b"), ErrLocked)
			_, err = s.Remove(t.Context(), "a")
			require.ErrorIs(t, err, ErrLocked)
			st := s.Status(t.Context())
			require.Truef(t, st.Locked && st.Home == InKeyring && st.Notice != "", "status %+v", st)
			after, _ := os.ReadFile(filepath.Join(dir, "secrets.json"))
			require.Equal(t, after, before, "written while locked; keys made")
			require.Equal(t, 1, keyring.sets, "written while locked; keys made")
			_, err = os.Stat(filepath.Join(dir, "secrets.key"))
			require.Error(t, err, "a second key was made, in a file")
			keyring.setState(Open)
			mustGet(t, s, "a", "value-of-a")
		})
	}
}

func TestOpenStoreSurvivesLaterKeyringLock(t *testing.T) {
	keyring := newFakeKeyring(Open)
	s := New(Options{Dir: t.TempDir(), Keyring: keyring})
	mustSet(t, s, "a", "value-of-a")
	keyring.setState(Locked)
	mustSet(t, s, "b", "value-of-b")
	mustGet(t, s, "a", "value-of-a")
}

func TestFirstSecretIsRefusedWhileKeyringIsLocked(t *testing.T) {
	dir := t.TempDir()
	s := New(Options{Dir: dir, Keyring: newFakeKeyring(Locked)})
	require.ErrorIs(t, s.Set(t.Context(), "a", "x"), ErrLocked)
	_, err := os.Stat(filepath.Join(dir, "secrets.json"))
	require.Error(t, err, "a file was made")
}

func TestLostOrForeignKeyIsReportedNotReplaced(t *testing.T) {
	dir, keyring := t.TempDir(), newFakeKeyring(Open)
	mustSet(t, New(Options{Dir: dir, Keyring: keyring}), "a", "value-of-a")
	for what, keys := range map[string]func(string) (string, bool){
		"lost":    func(string) (string, bool) { return "", false },
		"foreign": func(string) (string, bool) { return strings.Repeat("A", 43) + "=", true },
		"damaged": func(string) (string, bool) { return "x", true },
	} {
		other := newFakeKeyring(Open)
		for account := range keyring.keys {
			if key, ok := keys(account); ok {
				other.keys[account] = key
			}
		}
		s := New(Options{Dir: dir, Keyring: other})
		_, err := s.Get(t.Context(), "a")
		assert.Truef(t, err != nil && !errors.Is(err, ErrLocked) && core.CodeOf(err) == core.CodeInternal, "%s: %v", what, err)
		assert.Errorf(t, s.Set(t.Context(), "b", "x"), "%s: written", what)
		assert.Equalf(t, 0, other.sets, "%s: a second key", what)
	}
	mustGet(t, New(Options{Dir: dir, Keyring: keyring}), "a", "value-of-a")
}

func TestTamperedFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	mustSet(t, New(Options{Dir: dir, Keyring: newFakeKeyring(Absent)}), "a", "value-of-a")
	path := filepath.Join(dir, "secrets.json")
	good, _ := os.ReadFile(path)
	var h header
	require.NoError(t, json.Unmarshal(good, &h))
	for what, change := range map[string]func(*header){
		"a bit":   func(h *header) { h.Sealed[len(h.Sealed)-1] ^= 1 },
		"the id":  func(h *header) { h.ID = "0000" },
		"nothing": func(h *header) { h.Sealed = nil },
		"version": func(h *header) { h.Version = 2 },
	} {
		bad := h
		bad.Sealed = bytes.Clone(h.Sealed)
		change(&bad)
		b, _ := json.Marshal(bad)
		require.NoError(t, os.WriteFile(path, b, 0o600))
		s := New(Options{Dir: dir, Keyring: newFakeKeyring(Absent)})
		v, err := s.Get(t.Context(), "a")
		assert.Errorf(t, err, "%s was changed, and the secret is %q", what, v)
		assert.Errorf(t, s.Set(t.Context(), "b", "x"), "%s was changed, and the file was written over", what)
	}
}

func TestUnresponsiveKeyringTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, keyring := t.TempDir(), newFakeKeyring(Open)
		mustSet(t, New(Options{Dir: dir, Keyring: keyring}), "a", "value-of-a")
		keyring.hang = make(chan struct{})
		s := New(Options{Dir: dir, Keyring: keyring})
		for range 3 {
			began := time.Now()
			_, err := s.Get(t.Context(), "a")
			require.ErrorIs(t, err, ErrLocked)
			require.Equal(t, 5*time.Second, time.Since(began), "it took")
		}
		began := time.Now()
		err := s.Unlock(t.Context())
		require.Truef(t, errors.Is(err, ErrLocked) && time.Since(began) == time.Minute, "Unlock: %v after %s", err, time.Since(began))
		require.Empty(t, s.KnownSecrets())
		close(keyring.hang)
		mustGet(t, s, "a", "value-of-a")
	})
}

func TestTwoProcessesLoseNoSecrets(t *testing.T) {
	dir, keyring := t.TempDir(), newFakeKeyring(Absent)
	var all sync.WaitGroup
	for p := range 4 {
		s := New(Options{Dir: dir, Keyring: keyring})
		all.Go(func() {
			for n := range 10 {
				assert.NoError(t, s.Set(t.Context(), fmt.Sprintf("p%d-%d", p, n), "some-value"))
			}
		})
	}
	all.Wait()
	list, err := New(Options{Dir: dir, Keyring: keyring}).List(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 40)
}

func TestSecretValuesCoverEverythingRecordable(t *testing.T) {
	dir, keyring := t.TempDir(), newFakeKeyring(Absent)
	other := New(Options{Dir: dir, Keyring: keyring})
	mustSet(t, other, "old", "value-one")
	mustSet(t, other, "short", "12345")
	s := New(Options{Dir: dir, Keyring: keyring})
	require.Empty(t, s.KnownSecrets(), "known before anything was read")
	mustGet(t, s, "old", "value-one")
	mustSet(t, other, "old", "value-two")
	mustGet(t, s, "old", "value-two")
	require.Equal(t, []string{"value-one", "value-two"}, s.KnownSecrets())
	ok, err := s.Remove(t.Context(), "old")
	require.Truef(t, ok && err == nil, "%v %v", ok, err)
	_, err = s.Get(t.Context(), "old")
	require.Equal(t, core.CodeNotFound, core.CodeOf(err), "after removing")
	require.Len(t, s.KnownSecrets(), 2, "a value that was removed is no longer masked")
}

func TestInvalidSecretsAreRefusedWithoutEcho(t *testing.T) {
	s := New(Options{Dir: t.TempDir(), Keyring: newFakeKeyring(Absent)})
	for name, value := range map[string]string{"": "x", "a b": "x", "a}": "x", "a:-b": "x", strings.Repeat("n", 201): "x", "empty": "", "large": strings.Repeat(canary, 10000)} {
		err := s.Set(t.Context(), name, value)
		require.Equalf(t, core.CodeValidation, core.CodeOf(err), "%.20q", name)
		require.NotContainsf(t, err.Error(), canary, "%.20q", name)
	}
}

func TestKeyFileOfInterruptedStartIsUsed(t *testing.T) {
	dir := t.TempDir()
	mustSet(t, New(Options{Dir: dir, Keyring: newFakeKeyring(Absent)}), "a", "x-value")
	key, _ := os.ReadFile(filepath.Join(dir, "secrets.key"))
	require.NoError(t, os.Remove(filepath.Join(dir, "secrets.json")))
	mustSet(t, New(Options{Dir: dir, Keyring: newFakeKeyring(Absent)}), "b", "y-value")
	now, _ := os.ReadFile(filepath.Join(dir, "secrets.key"))
	require.Equal(t, now, key, "the key was replaced")
}
