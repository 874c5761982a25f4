package secret

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

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
	if err := s.Set(t.Context(), name, value); err != nil {
		t.Fatal(err)
	}
}

func mustGet(t *testing.T, s *Store, name, value string) {
	t.Helper()
	if got, err := s.Get(t.Context(), name); err != nil || got != value {
		t.Fatalf("%s is %q (%v), want %q", name, got, err, value)
	}
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
			if st := again.Status(t.Context()); st.Home != home || st.Count != 1 || st.Locked || (st.Notice != "") != (home == InFile) {
				t.Fatalf("status %+v", st)
			}
			files, _ := filepath.Glob(filepath.Join(dir, "*"))
			for _, file := range files {
				b, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if bytes.Contains(b, []byte(canary)) || bytes.Contains(b, []byte("github.TOKEN")) {
					t.Errorf("%s shows the secret:\n%s", file, b)
				}
				if info, _ := os.Stat(file); os.PathSeparator == '/' && info.Mode().Perm() != 0o600 {
					t.Errorf("%s has mode %s", file, info.Mode())
				}
			}
			_, err := os.Stat(filepath.Join(dir, "secrets.key"))
			if there := err == nil; there != (home == InFile) {
				t.Errorf("the key file is there: %v", there)
			}
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
			if err := s.Set(t.Context(), "b", "value-of-b"); !errors.Is(err, ErrLocked) {
				t.Fatalf("Set: %v", err)
			}
			if _, err := s.Remove(t.Context(), "a"); !errors.Is(err, ErrLocked) {
				t.Fatalf("Remove: %v", err)
			}
			if st := s.Status(t.Context()); !st.Locked || st.Home != InKeyring || st.Notice == "" {
				t.Fatalf("status %+v", st)
			}
			after, _ := os.ReadFile(filepath.Join(dir, "secrets.json"))
			if !bytes.Equal(before, after) || keyring.sets != 1 {
				t.Fatalf("written while locked; keys made: %d", keyring.sets)
			}
			if _, err := os.Stat(filepath.Join(dir, "secrets.key")); err == nil {
				t.Fatal("a second key was made, in a file")
			}
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
	if err := s.Set(t.Context(), "a", "x"); !errors.Is(err, ErrLocked) {
		t.Fatalf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "secrets.json")); err == nil {
		t.Fatal("a file was made")
	}
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
		if err == nil || errors.Is(err, ErrLocked) || core.CodeOf(err) != core.CodeInternal {
			t.Errorf("%s: %v", what, err)
		}
		if err := s.Set(t.Context(), "b", "x"); err == nil {
			t.Errorf("%s: written", what)
		}
		if other.sets != 0 {
			t.Errorf("%s: a second key", what)
		}
	}
	mustGet(t, New(Options{Dir: dir, Keyring: keyring}), "a", "value-of-a")
}

func TestTamperedFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	mustSet(t, New(Options{Dir: dir, Keyring: newFakeKeyring(Absent)}), "a", "value-of-a")
	path := filepath.Join(dir, "secrets.json")
	good, _ := os.ReadFile(path)
	var h header
	if err := json.Unmarshal(good, &h); err != nil {
		t.Fatal(err)
	}
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
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		s := New(Options{Dir: dir, Keyring: newFakeKeyring(Absent)})
		if v, err := s.Get(t.Context(), "a"); err == nil {
			t.Errorf("%s was changed, and the secret is %q", what, v)
		}
		if err := s.Set(t.Context(), "b", "x"); err == nil {
			t.Errorf("%s was changed, and the file was written over", what)
		}
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
			if _, err := s.Get(t.Context(), "a"); !errors.Is(err, ErrLocked) {
				t.Fatalf("got %v", err)
			}
			if took := time.Since(began); took != 5*time.Second {
				t.Fatalf("it took %s", took)
			}
		}
		began := time.Now()
		if err := s.Unlock(t.Context()); !errors.Is(err, ErrLocked) || time.Since(began) != time.Minute {
			t.Fatalf("Unlock: %v after %s", err, time.Since(began))
		}
		if known := s.KnownSecrets(); len(known) != 0 {
			t.Fatalf("known: %v", known)
		}
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
				if err := s.Set(t.Context(), fmt.Sprintf("p%d-%d", p, n), "some-value"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	list, err := New(Options{Dir: dir, Keyring: keyring}).List(t.Context())
	if err != nil || len(list) != 40 {
		t.Fatalf("%d secrets (%v)", len(list), err)
	}
}

func TestSecretValuesCoverEverythingRecordable(t *testing.T) {
	dir, keyring := t.TempDir(), newFakeKeyring(Absent)
	other := New(Options{Dir: dir, Keyring: keyring})
	mustSet(t, other, "old", "value-one")
	mustSet(t, other, "short", "12345")
	s := New(Options{Dir: dir, Keyring: keyring})
	if got := s.KnownSecrets(); len(got) != 0 {
		t.Fatalf("known before anything was read: %v", got)
	}
	mustGet(t, s, "old", "value-one")
	mustSet(t, other, "old", "value-two")
	mustGet(t, s, "old", "value-two")
	if got := s.KnownSecrets(); !slices.Equal(got, []string{"value-one", "value-two"}) {
		t.Fatalf("known %v", got)
	}
	if ok, err := s.Remove(t.Context(), "old"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if _, err := s.Get(t.Context(), "old"); core.CodeOf(err) != core.CodeNotFound {
		t.Fatalf("after removing: %v", err)
	}
	if got := s.KnownSecrets(); len(got) != 2 {
		t.Fatalf("a value that was removed is no longer masked: %v", got)
	}
}

func TestInvalidSecretsAreRefusedWithoutEcho(t *testing.T) {
	s := New(Options{Dir: t.TempDir(), Keyring: newFakeKeyring(Absent)})
	for name, value := range map[string]string{"": "x", "a b": "x", "a}": "x", "a:-b": "x", strings.Repeat("n", 201): "x", "empty": "", "large": strings.Repeat(canary, 10000)} {
		err := s.Set(t.Context(), name, value)
		if core.CodeOf(err) != core.CodeValidation || strings.Contains(err.Error(), canary) {
			t.Errorf("%.20q: %.200v", name, err)
		}
	}
}

func TestKeyFileOfInterruptedStartIsUsed(t *testing.T) {
	dir := t.TempDir()
	mustSet(t, New(Options{Dir: dir, Keyring: newFakeKeyring(Absent)}), "a", "x-value")
	key, _ := os.ReadFile(filepath.Join(dir, "secrets.key"))
	if err := os.Remove(filepath.Join(dir, "secrets.json")); err != nil {
		t.Fatal(err)
	}
	mustSet(t, New(Options{Dir: dir, Keyring: newFakeKeyring(Absent)}), "b", "y-value")
	if now, _ := os.ReadFile(filepath.Join(dir, "secrets.key")); !bytes.Equal(key, now) {
		t.Fatal("the key was replaced")
	}
}
