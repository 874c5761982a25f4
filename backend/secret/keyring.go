package secret

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"

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

// header is the content of secrets.json. Version, Key and ID are authenticated together with
// Sealed.
type header struct {
	Version int         `json:"version"`
	Key     KeyLocation `json:"key"` // where the key is stored
	ID      string      `json:"id"`  // name of the key in the keyring
	// InternalNames lists the names of the internal values, so that a missing one can be reported
	// while the keyring is locked. It is not authenticated, and nil in files of older versions.
	InternalNames []string `json:"private"`
	Sealed        []byte   `json:"sealed"`
}

const fileVersion = 1

func (h *header) authenticatedData() []byte {
	return fmt.Appendf(nil, "drawbridge secrets %d %s %s", h.Version, h.Key, h.ID)
}

// readFile parses secrets.json. It returns nil if the file does not exist.
func (s *Store) readFile() (*header, os.FileInfo, error) {
	f, err := osutil.Open(s.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the secrets: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the secrets: %w", err)
	}
	if info.Size() > maxFile {
		return nil, nil, s.damagedFileError(errors.New("it is too large"))
	}
	h := &header{}
	if err := json.NewDecoder(f).Decode(h); err != nil {
		return nil, nil, s.damagedFileError(err)
	}
	if h.Version != fileVersion || h.Key != InKeyring && h.Key != InFile || h.ID == "" {
		return nil, nil, s.damagedFileError(errors.New("this version does not support its format"))
	}
	return h, info, nil
}

func (s *Store) damagedFileError(cause error) error {
	return &core.Error{Code: core.CodeInternal, Cause: cause, Message: "cannot read the secrets in " + s.path(),
		Hint: "Restore the file from a backup. To start without the secrets, remove it."}
}

// load reads the file into values if it has changed. It never opens a prompt.
func (s *Store) load(ctx context.Context) error {
	h, info, err := s.readFile()
	if err != nil {
		return err
	}
	if h == nil {
		s.values, s.fileInfo = map[string]storedValue{}, nil
		return nil
	}
	if s.values != nil && s.fileInfo != nil && os.SameFile(info, s.fileInfo) && info.Size() == s.fileInfo.Size() && info.ModTime().Equal(s.fileInfo.ModTime()) {
		return nil
	}
	if s.key == nil || s.keyID != h.ID {
		key, err := s.fetchKey(ctx, h)
		if err != nil {
			return err
		}
		s.key, s.keyID = key, h.ID
	}
	values, err := decrypt(h, s.key)
	if err != nil {
		s.key = nil // fetch the key again next time, it may have been repaired
		return s.damagedFileError(err)
	}
	s.values, s.fileInfo = values, info
	s.remember(values)
	return nil
}

func decrypt(h *header, key []byte) (map[string]storedValue, error) {
	box, err := newAEAD(key)
	if err != nil {
		return nil, err
	}
	plain, err := box.Open(nil, nil, h.Sealed, h.authenticatedData())
	if err != nil {
		return nil, err
	}
	values := map[string]storedValue{}
	return values, json.Unmarshal(plain, &values)
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// update applies edit to the values and writes the file, under the lock file that all processes
// use. edit reports whether it has changed anything.
func (s *Store) update(ctx context.Context, edit func(map[string]storedValue) bool) error {
	if err := s.lockState(ctx); err != nil {
		return err
	}
	defer s.unlockState()
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("cannot store a secret: %w", err)
	}
	unlock, err := s.lockFile(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.load(ctx); err != nil {
		return err
	}
	values := maps.Clone(s.values)
	if !edit(values) {
		return nil
	}
	h, _, err := s.readFile()
	if err != nil {
		return err
	}
	if h == nil {
		if h, err = s.createKey(ctx); err != nil {
			return err
		}
	}
	plain, err := json.Marshal(values)
	if err != nil {
		return err
	}
	if len(plain) > maxFile/2 {
		return core.Errorf(core.CodeValidation, "the secrets are too large: their total size is limited to %d MiB", maxFile>>21)
	}
	box, err := newAEAD(s.key)
	if err != nil {
		return err
	}
	h.Sealed, h.InternalNames = box.Seal(nil, nil, plain, h.authenticatedData()), internalNames(values) //nolint:gosec // the AEAD makes a random nonce and prepends it
	out, err := json.Marshal(h)
	if err != nil {
		return err
	}
	s.remember(values) // before the write: other processes can read the value afterwards
	if err := osutil.WriteFile(s.path(), append(out, '\n'), 0o600); err != nil {
		return fmt.Errorf("cannot store a secret: %w", err)
	}
	s.values, s.fileInfo = nil, nil // make load read the new file
	return s.load(ctx)
}

// createKey creates and stores the key of a new file: in the keyring, or in a file if there is no
// keyring. It fails if the keyring is locked.
func (s *Store) createKey(ctx context.Context) (*header, error) {
	key, id := make([]byte, 32), make([]byte, 8)
	_, _ = rand.Read(key) // never returns an error
	_, _ = rand.Read(id)
	h := &header{Version: fileVersion, ID: hex.EncodeToString(id)}
	switch err := s.storeKey(ctx, h.ID, key); {
	case err == nil:
		h.Key = InKeyring
	case errors.Is(err, errNoKeyring):
		h.Key = InFile
		if key, err = s.storeKeyFile(key); err != nil {
			return nil, err
		}
	default:
		return nil, err
	}
	s.key, s.keyID = key, h.ID
	return h, nil
}

// storeKeyFile stores key in secrets.key. If an interrupted start has left a key there, that key is
// used.
func (s *Store) storeKeyFile(key []byte) ([]byte, error) {
	if old, err := s.readKeyFile(); !errors.Is(err, fs.ErrNotExist) {
		return old, err
	}
	if err := osutil.WriteFile(s.keyPath(), append(base64.StdEncoding.AppendEncode(nil, key), '\n'), 0o600); err != nil {
		return nil, fmt.Errorf("cannot store the encryption key for the secrets: %w", err)
	}
	return key, nil
}

func (s *Store) readKeyFile() ([]byte, error) {
	text, err := osutil.ReadFile(s.keyPath())
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(s.keyPath()); err == nil && info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		if err := os.Chmod(s.keyPath(), 0o600); err != nil {
			return nil, fmt.Errorf("cannot restrict the permissions of %s: %w", s.keyPath(), err)
		}
	}
	key, err := decodeKey(string(text))
	if err != nil {
		return nil, s.missingKeyError("the key in " + s.keyPath() + " is damaged")
	}
	return key, nil
}

func decodeKey(text string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace([]byte(text))))
	if err == nil && len(key) != 32 {
		err = errors.New("it has the wrong length")
	}
	return key, err
}

// missingKeyError returns the error for a missing or damaged key.
func (s *Store) missingKeyError(what string) error {
	return &core.Error{Code: core.CodeInternal, Message: "cannot open the secrets: " + what,
		Hint: "Restore the key from a backup. To start without the secrets, remove " + s.path() + "."}
}

// lockWait is how long a change waits for a change by another process.
const lockWait = 10 * time.Second

// lockFile acquires the lock file of the secrets. It waits for at most lockWait.
func (s *Store) lockFile(ctx context.Context) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	unlock, err = osutil.LockFile(ctx, filepath.Join(s.dir, "secrets.lock"))
	if errors.Is(err, osutil.ErrLocked) {
		return nil, &core.Error{Code: core.CodeConflict, Retriable: true, Message: "another Drawbridge command is changing the secrets", Hint: "Try again."}
	}
	if err != nil {
		return nil, fmt.Errorf("cannot lock the secrets: %w", err)
	}
	return unlock, nil
}
