package secret

import (
	"context"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/zalando/go-keyring"
)

// Keyring keeps the key. Get and Set may block for ever, and may ask the user.
type Keyring interface {
	// Look says whether Get would answer without asking anybody.
	Look(ctx context.Context) State
	Get(account string) (string, error) // ErrNoKey when it has none of that name
	Set(account, value string) error
	Delete(account string) error // nil when it has none of that name
}

// State is what a keyring looks like from outside.
type State string

const (
	Absent State = "absent" // this system has none, or none that could keep anything
	Locked State = "locked"
	Open   State = "open"
)

// ErrNoKey says that an open keyring has no such key.
var ErrNoKey = errors.New("the keyring has no such key")

var errNoKeyring = errors.New("there is no keyring")

// service is the name under which keyrings show our key.
const service = "Drawbridge"

// system is the keyring of the system: Secret Service, Keychain or Credential Manager.
type system struct{}

func (system) Look(ctx context.Context) State { return look(ctx) }

func (system) Get(account string) (string, error) {
	value, err := keyring.Get(service, account)
	if errors.Is(err, keyring.ErrNotFound) {
		return "", ErrNoKey
	}
	return value, err
}

func (system) Set(account, value string) error { return keyring.Set(service, account, value) }

func (system) Delete(account string) error {
	if err := keyring.Delete(service, account); !errors.Is(err, keyring.ErrNotFound) {
		return err
	}
	return nil
}

// fetchKey gets the key of a file from the home that the file names, and nowhere else. It
// bothers nobody.
func (s *Store) fetchKey(ctx context.Context, h *head) ([]byte, error) {
	if h.Key == InFile {
		key, err := s.readKeyFile()
		if errors.Is(err, fs.ErrNotExist) {
			return nil, s.lost(s.keyPath() + " is missing")
		}
		return key, err
	}
	switch state := s.keyring.Look(ctx); {
	case state == Absent:
		return nil, locked("the keyring that holds the key of the secrets is not running", "Log in to your desktop, or start the keyring; then what waits goes on by itself.", nil)
	case state == Locked:
		return nil, locked("the keyring is locked", unlockHint, nil)
	}
	text, err := s.question(ctx, s.reading, s.deadline, func() (string, error) { return s.keyring.Get(account(h.ID)) })
	return s.keyOf(text, err)
}

const unlockHint = "Unlock it, or use: drawbridge secret unlock."

// keyOf reads the keyring's answer.
func (s *Store) keyOf(text string, err error) ([]byte, error) {
	if errors.Is(err, ErrNoKey) {
		return nil, s.lost("the keyring has lost their key")
	}
	if err != nil {
		return nil, locked("the keyring gives no answer", unlockHint, err)
	}
	key, err := decodeKey(text)
	if err != nil {
		return nil, s.lost("the keyring has another key")
	}
	return key, nil
}

// ask lets the keyring bother the user, where that is what the secrets wait for, and waits
// for its answer. Nothing is held meanwhile: whoever does not need the user goes on.
func (s *Store) ask(ctx context.Context) error {
	h, _, err := s.read()
	if err != nil || h != nil && h.Key != InKeyring {
		return err
	}
	id := ""
	if h != nil {
		if err := s.lock(ctx); err != nil {
			return err
		}
		known := s.key != nil && s.keyID == h.ID
		s.unlock()
		if known {
			return nil
		}
		id = h.ID
	}
	switch state := s.keyring.Look(ctx); {
	case state == Absent, h == nil && state == Open:
		return nil // whoever opens the file says so; the first key is asked about when it is made
	}
	text, err := s.question(ctx, s.asking, s.patience, func() (string, error) { return s.keyring.Get(account(id)) })
	switch {
	case err != nil && !errors.Is(err, ErrNoKey):
		return locked("the keyring was not unlocked", "Log in to your desktop, or unlock the keyring with its own program, such as Seahorse, KWalletManager or gnome-keyring-daemon --unlock.", err)
	case h == nil:
		return nil
	}
	key, err := s.keyOf(text, err)
	if err != nil {
		return err
	}
	if err := s.lock(ctx); err != nil {
		return err
	}
	s.key, s.keyID = key, id
	s.unlock()
	return nil
}

// storeKey puts a new key into the keyring and looks whether it is really there.
func (s *Store) storeKey(ctx context.Context, id string, key []byte) error {
	state := s.keyring.Look(ctx)
	if state == Absent {
		return errNoKeyring
	}
	if state == Locked {
		return locked("the keyring is locked", unlockHint, nil)
	}
	text := base64.StdEncoding.EncodeToString(key)
	back, err := s.question(ctx, s.asking, s.patience, func() (string, error) {
		if err := s.keyring.Set(account(id), text); err != nil {
			return "", err
		}
		return s.keyring.Get(account(id))
	})
	if err == nil && back == text {
		return nil
	}
	if err == nil {
		err = errors.New("it gave back something else")
	}
	return locked("the keyring did not take the key of the secrets", "Unlock it, and try again.", err)
}

func account(id string) string { return "secrets " + id }

// question asks the keyring with a limit. An answer that comes later is dropped; until
// then no other question takes the same turn, so that at most one of its kind waits: one that
// the user never answers is not in the way of those that need nobody.
func (s *Store) question(ctx context.Context, turn chan struct{}, limit time.Duration, f func() (string, error)) (string, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case turn <- struct{}{}:
	case <-timer.C:
		return "", os.ErrDeadlineExceeded
	case <-ctx.Done():
		return "", ctx.Err()
	}
	type answer struct {
		text string
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		text, err := f()
		got <- answer{text, err}
		<-turn
	}()
	select {
	case a := <-got:
		return a.text, a.err
	case <-timer.C:
		return "", os.ErrDeadlineExceeded
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// locked is the error of a keyring that the user has to unlock.
func locked(what, hint string, cause error) error {
	return &core.Error{Code: core.CodeUnavailable, Retriable: true, Message: "needs-unlock: " + what, Hint: hint, Cause: &lockedCause{cause}}
}

type lockedCause struct{ cause error }

func (l *lockedCause) Error() string {
	if l.cause == nil {
		return ErrLocked.Error()
	}
	return l.cause.Error()
}

func (l *lockedCause) Is(target error) bool { return target == ErrLocked }
func (l *lockedCause) Unwrap() error        { return l.cause }

// For makes the Store of a data folder. With DRAWBRIDGE_KEYRING=off the keyring of the
// system is left alone.
func For(dir string, getenv func(string) string) *Store {
	o := Options{Dir: dir}
	if getenv("DRAWBRIDGE_KEYRING") == "off" {
		o.Keyring = off{}
	}
	return New(o)
}

type off struct{}

func (off) Look(context.Context) State      { return Absent }
func (off) Get(string) (string, error)      { return "", errNoKeyring }
func (off) Set(account, value string) error { return errNoKeyring }
func (off) Delete(string) error             { return nil }
