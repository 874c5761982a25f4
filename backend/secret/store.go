package secret

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// Limits of stored values.
const (
	maxValue = 64 << 10
	maxFile  = 8 << 20
	// minRedactedLength is the length in bytes from which a value is redacted. Shorter values would
	// match too much unrelated text.
	minRedactedLength = 6
)

// ErrLocked is wrapped by errors that occur because the keyring is locked. The operation can be
// repeated after the user has unlocked it.
var ErrLocked = errors.New("needs-unlock")

// KeyLocation is where the key of the file is stored.
type KeyLocation string

const (
	None      KeyLocation = ""        // nothing was stored yet
	InKeyring KeyLocation = "keyring" // the keyring of the system
	InFile    KeyLocation = "file"    // secrets.key, readable only by the user
)

// Options configure a Store.
type Options struct {
	Dir string // the data folder
	// Keyring is the keyring of the system if nil.
	Keyring Keyring
	// Deadline limits each call of the keyring that opens no prompt; 5 s if zero. PromptDeadline
	// limits the calls that may open a prompt; 60 s if zero.
	Deadline, PromptDeadline time.Duration
}

// Store holds the secrets of one data folder. Several processes may use the folder; each sees the
// changes of the others immediately. Its methods are safe for concurrent use.
type Store struct {
	dir                      string
	keyring                  Keyring
	deadline, promptDeadline time.Duration
	silentCalls              chan struct{} // full while a keyring call without a prompt is pending
	promptCalls              chan struct{} // full while a keyring call that may prompt is pending

	stateLock chan struct{} // lock for the fields below; a channel, because waiting for it can be cancelled
	key       []byte
	keyID     string                 // id of the file that key belongs to
	fileInfo  os.FileInfo            // file from which values was read
	values    map[string]storedValue // nil until the file is opened

	mu         sync.Mutex      // guards the fields below
	onLearned  func()          // called when known grows; may be nil
	seenValues map[string]bool // every value that this process has seen
	known      []string        // sorted keys of seenValues; nil if outdated
}

type storedValue struct {
	Value   string    `json:"value"`
	Changed time.Time `json:"changed"`
}

// Entry describes a secret without its value.
type Entry struct {
	Name      string    `json:"name"`
	ChangedAt time.Time `json:"changedAt"`
}

// New returns a Store. It does not access the file or the keyring.
func New(o Options) *Store {
	if o.Keyring == nil {
		o.Keyring = systemKeyring{}
	}
	if o.Deadline == 0 {
		o.Deadline = 5 * time.Second
	}
	if o.PromptDeadline == 0 {
		o.PromptDeadline = time.Minute
	}
	return &Store{dir: o.Dir, keyring: o.Keyring, deadline: o.Deadline, promptDeadline: o.PromptDeadline,
		silentCalls: make(chan struct{}, 1), promptCalls: make(chan struct{}, 1), stateLock: make(chan struct{}, 1), seenValues: map[string]bool{}}
}

var namePattern = osutil.LazyRegexp(`^[A-Za-z0-9][A-Za-z0-9._/@-]{0,199}$`)

// ValidName reports whether s is a valid name of a secret, as used in ${secret:NAME}.
func ValidName(s string) bool { return namePattern().MatchString(s) }

// Get returns a secret. The error has code not_found if there is no secret of that name, and wraps
// ErrLocked while the keyring is locked. It never opens a prompt.
func (s *Store) Get(ctx context.Context, name string) (string, error) {
	if isInternal(name) {
		return "", notFoundError(name)
	}
	return s.get(ctx, name)
}

func notFoundError(name string) error {
	return &core.Error{Code: core.CodeNotFound, Message: "there is no secret named " + quote(name),
		Hint:   "Store it with: drawbridge secret set " + name,
		Remedy: core.Remedy{Kind: core.RemedySetSecret, Name: name, Command: "drawbridge secret set " + name}}
}

func (s *Store) get(ctx context.Context, name string) (string, error) {
	if err := s.lockState(ctx); err != nil {
		return "", err
	}
	defer s.unlockState()
	if err := s.load(ctx); err != nil {
		return "", err
	}
	i, ok := s.values[name]
	if !ok {
		return "", notFoundError(name)
	}
	return i.Value, nil
}

// Set stores a secret. It may open a prompt. The first secret determines where the key is stored:
// in the keyring, or in a file if the system has no keyring.
func (s *Store) Set(ctx context.Context, name, value string) error {
	return s.SetAll(ctx, map[string]string{name: value})
}

// SetAll stores several secrets, either all or none.
func (s *Store) SetAll(ctx context.Context, values map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch {
		case !ValidName(name):
			return core.Errorf(core.CodeValidation, "%q is not a valid secret name: use letters, digits, '.', '_', '-', '/' and '@'", name)
		case values[name] == "":
			return core.Errorf(core.CodeValidation, "the secret %q is empty", name)
		case len(values[name]) > maxValue:
			return core.Errorf(core.CodeValidation, "the secret %q is larger than %d KiB", name, maxValue>>10)
		}
	}
	if len(values) == 0 {
		return nil
	}
	if err := s.unlockKeyring(ctx); err != nil {
		return err
	}
	return s.update(ctx, func(all map[string]storedValue) bool {
		for name, value := range values {
			all[name] = storedValue{value, time.Now().UTC().Truncate(time.Second)}
		}
		return true
	})
}

// Remove deletes secrets. ok is false if none of them existed.
func (s *Store) Remove(ctx context.Context, names ...string) (ok bool, err error) {
	return s.remove(ctx, slices.DeleteFunc(slices.Clone(names), isInternal))
}

func (s *Store) remove(ctx context.Context, names []string) (ok bool, err error) {
	err = s.update(ctx, func(all map[string]storedValue) bool {
		for _, name := range names {
			_, had := all[name]
			ok = ok || had
			delete(all, name)
		}
		return ok
	})
	return ok, err
}

// List returns the secrets sorted by name, without their values.
func (s *Store) List(ctx context.Context) ([]Entry, error) {
	if err := s.lockState(ctx); err != nil {
		return nil, err
	}
	defer s.unlockState()
	if err := s.load(ctx); err != nil {
		return nil, err
	}
	all := make([]Entry, 0, len(s.values))
	for _, name := range secretNames(s.values) {
		all = append(all, Entry{name, s.values[name].Changed})
	}
	return all, nil
}

// Unlock reads the key from the keyring, which may open a prompt of the system, and waits for the
// user.
func (s *Store) Unlock(ctx context.Context) error {
	if err := s.unlockKeyring(ctx); err != nil {
		return err
	}
	if err := s.lockState(ctx); err != nil {
		return err
	}
	defer s.unlockState()
	return s.load(ctx)
}

// Destroy deletes all secrets and their key. If the keyring is not open, the key remains in it,
// where it has no further use, and the error wraps ErrLocked.
func (s *Store) Destroy(ctx context.Context) error {
	if err := s.lockState(ctx); err != nil {
		return err
	}
	defer s.unlockState()
	h, _, readable := s.readFile()
	for _, path := range []string{s.path(), s.keyPath()} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("cannot remove the secrets: %w", err)
		}
	}
	s.key, s.keyID, s.values, s.fileInfo = nil, "", nil, nil
	if readable != nil || h == nil || h.Key != InKeyring {
		return nil
	}
	if s.keyring.State(ctx) != Open {
		return lockedError("the keyring is locked", "Its entry \"Drawbridge\" can be removed manually.", nil)
	}
	_, err := s.callKeyring(ctx, s.silentCalls, s.deadline, func() (string, error) { return "", s.keyring.Delete(keyringAccount(h.ID)) })
	return err
}

// KnownSecrets returns the secrets that this process has seen, including replaced ones, so that
// they can be redacted in recordings. Values of fewer than six bytes are left out. It does not
// block and is cheap enough to be called for every recorded call. The slice is shared: callers must
// not modify it.
func (s *Store) KnownSecrets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = slices.Sorted(maps.Keys(s.seenValues))
	}
	return s.known
}

// Status describes the store for the user.
type Status struct {
	Home   KeyLocation `json:"home"`
	Locked bool        `json:"locked"`
	Count  int         `json:"count"`
	Notice string      `json:"notice"` // "" if there is nothing to report
}

// Status returns the status of the store. It never opens a prompt.
func (s *Store) Status(ctx context.Context) Status {
	if err := s.lockState(ctx); err != nil {
		return Status{Notice: formatError(err)}
	}
	defer s.unlockState()
	head, _, err := s.readFile()
	if err != nil {
		return Status{Notice: formatError(err)}
	}
	if head == nil {
		return Status{}
	}
	st := Status{Home: head.Key}
	if err := s.load(ctx); err != nil {
		st.Locked, st.Notice = errors.Is(err, ErrLocked), formatError(err)
		return st
	}
	st.Count = len(secretNames(s.values))
	if head.Key == InFile {
		st.Notice = fmt.Sprintf("This system has no keyring: the encryption key for your secrets is in %s, which only your user account can read.", s.keyPath())
	}
	return st
}

// lockState acquires stateLock, or fails when ctx is cancelled.
func (s *Store) lockState(ctx context.Context) error {
	select {
	case s.stateLock <- struct{}{}:
		return nil
	default:
	}
	select {
	case s.stateLock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return &core.Error{Code: core.CodeUnavailable, Message: "the keyring is not responding", Retriable: true, Cause: ErrLocked}
	}
}

func (s *Store) unlockState() { <-s.stateLock }

// OnLearned sets the function that is called when KnownSecrets has grown, before the new values can
// be used. f must not call methods of s other than KnownSecrets.
func (s *Store) OnLearned(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onLearned = f
}

// remember adds values to those that KnownSecrets returns.
func (s *Store) remember(values map[string]storedValue) {
	s.mu.Lock()
	grown, notify := false, s.onLearned
	for name, i := range values {
		if !isInternal(name) && len(i.Value) >= minRedactedLength && !s.seenValues[i.Value] {
			s.seenValues[i.Value], s.known, grown = true, nil, true
		}
	}
	s.mu.Unlock()
	if grown && notify != nil {
		notify()
	}
}

func formatError(err error) string {
	e, ok := errors.AsType[*core.Error](err)
	if !ok {
		return err.Error()
	}
	text := strings.ToUpper(e.Message[:1]) + e.Message[1:] + "."
	if e.Hint != "" {
		text += " " + e.Hint
	}
	return text
}

func (s *Store) path() string    { return filepath.Join(s.dir, "secrets.json") }
func (s *Store) keyPath() string { return filepath.Join(s.dir, "secrets.key") }

func quote(s string) string { return fmt.Sprintf("%q", s) }
