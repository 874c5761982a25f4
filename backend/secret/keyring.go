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

// Keyring stores the encryption key. Get and Set may prompt the user and may block without a limit.
type Keyring interface {
	// State returns the state of the keyring. It never prompts the user.
	State(ctx context.Context) State
	Get(account string) (string, error) // ErrNoKey if there is no such entry
	Set(account, value string) error
	Delete(account string) error // nil if there is no such entry
}

// State is the state of a keyring that can be seen without a prompt.
type State string

const (
	Absent State = "absent" // there is no usable keyring on this system
	Locked State = "locked"
	Open   State = "open"
)

// ErrNoKey is the error of an open keyring that has no such key.
var ErrNoKey = errors.New("the keyring has no such key")

var errNoKeyring = errors.New("there is no keyring")

// service is the name under which keyrings display our key.
const service = "Drawbridge"

// systemKeyring is the keyring of the system: Secret Service, Keychain or Credential Manager.
type systemKeyring struct{}

func (systemKeyring) State(ctx context.Context) State { return keyringState(ctx) }

func (systemKeyring) Get(account string) (string, error) {
	value, err := keyring.Get(service, account)
	if errors.Is(err, keyring.ErrNotFound) {
		return "", ErrNoKey
	}
	return value, err
}

func (systemKeyring) Set(account, value string) error { return keyring.Set(service, account, value) }

func (systemKeyring) Delete(account string) error {
	if err := keyring.Delete(service, account); !errors.Is(err, keyring.ErrNotFound) {
		return err
	}
	return nil
}

// fetchKey reads the key from the place that the header h names, and from no other place. It never
// prompts the user.
func (s *Store) fetchKey(ctx context.Context, h *header) ([]byte, error) {
	if h.Key == InFile {
		key, err := s.readKeyFile()
		if errors.Is(err, fs.ErrNotExist) {
			return nil, s.missingKeyError(s.keyPath() + " is missing")
		}
		return key, err
	}
	switch state := s.keyring.State(ctx); {
	case state == Absent:
		return nil, lockedError("the keyring that stores the encryption key for the secrets is not running", "Log in to your desktop, or start the keyring. Waiting servers then continue automatically.", nil)
	case state == Locked:
		return nil, lockedError("the keyring is locked", unlockHint, nil)
	}
	text, err := s.callKeyring(ctx, s.silentCalls, s.deadline, func() (string, error) { return s.keyring.Get(keyringAccount(h.ID)) })
	return s.decodeKeyringResult(text, err)
}

const unlockHint = "Unlock it, or use: drawbridge secret unlock."

// decodeKeyringResult decodes the result of Keyring.Get.
func (s *Store) decodeKeyringResult(text string, err error) ([]byte, error) {
	if errors.Is(err, ErrNoKey) {
		return nil, s.missingKeyError("their encryption key is missing from the keyring")
	}
	if err != nil {
		return nil, lockedError("the keyring is not responding", unlockHint, err)
	}
	key, err := decodeKey(text)
	if err != nil {
		return nil, s.missingKeyError("the key in the keyring is damaged")
	}
	return key, nil
}

// unlockKeyring unlocks the keyring if the key is not known yet. It may open a prompt and waits for
// the user. It holds no lock while it waits, so that operations that need no prompt proceed.
func (s *Store) unlockKeyring(ctx context.Context) error {
	h, _, err := s.readFile()
	if err != nil || h != nil && h.Key != InKeyring {
		return err
	}
	id := ""
	if h != nil {
		if err := s.lockState(ctx); err != nil {
			return err
		}
		known := s.key != nil && s.keyID == h.ID
		s.unlockState()
		if known {
			return nil
		}
		id = h.ID
	}
	switch state := s.keyring.State(ctx); {
	case state == Absent, h == nil && state == Open:
		return nil // load reports an absent keyring; a new file gets its key in createKey
	}
	text, err := s.callKeyring(ctx, s.promptCalls, s.promptDeadline, func() (string, error) { return s.keyring.Get(keyringAccount(id)) })
	switch {
	case err != nil && !errors.Is(err, ErrNoKey):
		return lockedError("the keyring was not unlocked", "Log in to your desktop, or unlock the keyring with its own program, such as Seahorse, KWalletManager or gnome-keyring-daemon --unlock.", err)
	case h == nil:
		return nil
	}
	key, err := s.decodeKeyringResult(text, err)
	if err != nil {
		return err
	}
	if err := s.lockState(ctx); err != nil {
		return err
	}
	s.key, s.keyID = key, id
	s.unlockState()
	return nil
}

// storeKey stores a new key in the keyring and reads it back to verify it.
func (s *Store) storeKey(ctx context.Context, id string, key []byte) error {
	state := s.keyring.State(ctx)
	if state == Absent {
		return errNoKeyring
	}
	if state == Locked {
		return lockedError("the keyring is locked", unlockHint, nil)
	}
	text := base64.StdEncoding.EncodeToString(key)
	back, err := s.callKeyring(ctx, s.promptCalls, s.promptDeadline, func() (string, error) {
		if err := s.keyring.Set(keyringAccount(id), text); err != nil {
			return "", err
		}
		return s.keyring.Get(keyringAccount(id))
	})
	if err == nil && back == text {
		return nil
	}
	if err == nil {
		err = errors.New("it returned a different key")
	}
	return lockedError("the keyring did not store the encryption key for the secrets", "Unlock it, and try again.", err)
}

func keyringAccount(id string) string { return "secrets " + id }

// callKeyring calls f, an operation of the keyring, with a time limit. A later result is dropped.
// Until f returns it occupies turn, so at most one call per turn is pending. Calls that may prompt
// have a turn of their own: a prompt that the user ignores does not block the other calls.
func (s *Store) callKeyring(ctx context.Context, turn chan struct{}, limit time.Duration, f func() (string, error)) (string, error) {
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

// lockedError returns the error for a keyring that the user has to unlock. It wraps ErrLocked.
func lockedError(what, hint string, cause error) error {
	return &core.Error{Code: core.CodeUnavailable, Retriable: true, Message: "needs-unlock: " + what, Hint: hint, Remedy: core.Remedy{Kind: core.RemedyUnlockSecrets, Command: "drawbridge secret unlock"}, Cause: &lockedCause{cause}}
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

// For returns the Store of a data folder. With DRAWBRIDGE_KEYRING=off it does not use the keyring
// of the system.
func For(dir string, getenv func(string) string) *Store {
	o := Options{Dir: dir}
	if getenv("DRAWBRIDGE_KEYRING") == "off" {
		o.Keyring = noKeyring{}
	}
	return New(o)
}

type noKeyring struct{}

func (noKeyring) State(context.Context) State     { return Absent }
func (noKeyring) Get(string) (string, error)      { return "", errNoKeyring }
func (noKeyring) Set(account, value string) error { return errNoKeyring }
func (noKeyring) Delete(string) error             { return nil }
