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
	"github.com/drawbridge-mcp/drawbridge/backend/lazyregexp"
)

// Bounds of what is kept.
const (
	maxValue = 64 << 10
	maxFile  = 8 << 20
	// shortest is the length from which a value is masked elsewhere: what is shorter
	// would be found in every second text.
	shortest = 6
)

// ErrLocked in an error's chain says that the keyring is locked: the secret is there,
// and can be had once the user has unlocked it.
var ErrLocked = errors.New("needs-unlock")

// Home is where the key of the file is kept.
type Home string

const (
	None      Home = ""        // nothing was stored yet
	InKeyring Home = "keyring" // of the system
	InFile    Home = "file"    // beside the secrets, readable for the user alone
)

// Options say where a Store works.
type Options struct {
	Dir string // the data folder
	// Keyring is the system's when nil.
	Keyring Keyring
	// Deadline is for each question to the keyring that must not bother the user;
	// 5 s when zero. Patience is for those that may open a prompt; 60 s when zero.
	Deadline, Patience time.Duration
}

// Store is the secrets of one data folder. Several processes may use it; each sees
// the others' changes at once. All methods may be called from any goroutine.
type Store struct {
	dir                string
	keyring            Keyring
	deadline, patience time.Duration
	reading            chan struct{} // full while a question that needs nobody has no answer
	asking             chan struct{} // full while one that the user may have to answer has none

	turn   chan struct{} // full while somebody uses what follows; a keyring may take long
	key    []byte
	keyID  string          // of the file that key belongs to
	seen   os.FileInfo     // the file as values has it
	values map[string]item // nil until the file was opened

	mu      sync.Mutex      // guards the fields below, for a moment
	learned func()          // told of new values; nil: nobody
	past    map[string]bool // every value that was ever seen
	known   []string        // of past, sorted; nil when it has to be made again
}

// item is one secret.
type item struct {
	Value   string    `json:"value"`
	Changed time.Time `json:"changed"`
}

// Entry is what may be shown of a secret.
type Entry struct {
	Name      string    `json:"name"`
	ChangedAt time.Time `json:"changedAt"`
}

// New touches nothing.
func New(o Options) *Store {
	if o.Keyring == nil {
		o.Keyring = system{}
	}
	if o.Deadline == 0 {
		o.Deadline = 5 * time.Second
	}
	if o.Patience == 0 {
		o.Patience = time.Minute
	}
	return &Store{dir: o.Dir, keyring: o.Keyring, deadline: o.Deadline, patience: o.Patience,
		reading: make(chan struct{}, 1), asking: make(chan struct{}, 1), turn: make(chan struct{}, 1), past: map[string]bool{}}
}

var name = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._/@-]{0,199}$`)

// ValidName reports whether a secret can have this name: it stands in ${secret:NAME}.
func ValidName(s string) bool { return name().MatchString(s) }

// Get returns a secret. The error has code not_found when there is none of that name,
// and ErrLocked in its chain while the keyring is locked. It never opens a prompt.
func (s *Store) Get(ctx context.Context, name string) (string, error) {
	if hidden(name) {
		return "", missing(name)
	}
	return s.get(ctx, name)
}

func missing(name string) error {
	return &core.Error{Code: core.CodeNotFound, Message: "there is no secret called " + quote(name),
		Hint: "Store it with: drawbridge secret set " + name}
}

func (s *Store) get(ctx context.Context, name string) (string, error) {
	if err := s.lock(ctx); err != nil {
		return "", err
	}
	defer s.unlock()
	if err := s.open(ctx); err != nil {
		return "", err
	}
	i, ok := s.values[name]
	if !ok {
		return "", missing(name)
	}
	return i.Value, nil
}

// Set stores a secret. The first one decides where the key is kept: in the keyring,
// or, where the system has none, in a file.
func (s *Store) Set(ctx context.Context, name, value string) error {
	return s.SetAll(ctx, map[string]string{name: value})
}

// SetAll stores several secrets, all or none.
func (s *Store) SetAll(ctx context.Context, values map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch {
		case !ValidName(name):
			return core.Errorf(core.CodeValidation, "%q cannot name a secret: use letters, digits, '.', '_', '-', '/' and '@'", name)
		case values[name] == "":
			return core.Errorf(core.CodeValidation, "the secret %q is empty", name)
		case len(values[name]) > maxValue:
			return core.Errorf(core.CodeValidation, "the secret %q is larger than %d KiB", name, maxValue>>10)
		}
	}
	if len(values) == 0 {
		return nil
	}
	if err := s.ask(ctx); err != nil {
		return err
	}
	return s.change(ctx, func(all map[string]item) bool {
		for name, value := range values {
			all[name] = item{value, time.Now().UTC().Truncate(time.Second)}
		}
		return true
	})
}

// Remove takes secrets away. ok is false when none of them was there.
func (s *Store) Remove(ctx context.Context, names ...string) (ok bool, err error) {
	return s.remove(ctx, slices.DeleteFunc(slices.Clone(names), hidden))
}

func (s *Store) remove(ctx context.Context, names []string) (ok bool, err error) {
	err = s.change(ctx, func(all map[string]item) bool {
		for _, name := range names {
			_, had := all[name]
			ok = ok || had
			delete(all, name)
		}
		return ok
	})
	return ok, err
}

// List returns what is stored, by name, without the values.
func (s *Store) List(ctx context.Context) ([]Entry, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.unlock()
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	all := make([]Entry, 0, len(s.values))
	for _, name := range visible(s.values) {
		all = append(all, Entry{name, s.values[name].Changed})
	}
	return all, nil
}

// Unlock asks the keyring for the key, which may open a prompt of the system, and
// waits for the user.
func (s *Store) Unlock(ctx context.Context) error {
	if err := s.ask(ctx); err != nil {
		return err
	}
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	return s.open(ctx)
}

// Destroy takes all secrets away, and their key out of the keyring. A keyring that is locked
// keeps the key, which opens nothing any more; the error says so.
func (s *Store) Destroy(ctx context.Context) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	h, _, readable := s.read()
	for _, path := range []string{s.path(), s.keyPath()} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("cannot remove the secrets: %w", err)
		}
	}
	s.key, s.keyID, s.values, s.seen = nil, "", nil, nil
	if readable != nil || h == nil || h.Key != InKeyring {
		return nil
	}
	if s.keyring.Look(ctx) != Open {
		return locked("the keyring is locked", "Its entry \"Drawbridge\" can be removed by hand.", nil)
	}
	_, err := s.question(ctx, s.reading, s.deadline, func() (string, error) { return "", s.keyring.Delete(account(h.ID)) })
	return err
}

// Known returns the values that this process has seen, those too that were replaced
// since, so that they can be masked in what is recorded. Values of fewer than six bytes
// are left out. It waits for nothing and may be called for every call. The slice is
// shared: do not change it.
func (s *Store) Known() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = slices.Sorted(maps.Keys(s.past))
	}
	return s.known
}

// Status is what the user should know of the store.
type Status struct {
	Home   Home   `json:"home"`
	Locked bool   `json:"locked"`
	Count  int    `json:"count"`
	Notice string `json:"notice"` // "" when all is well
}

// Status looks and opens no prompt.
func (s *Store) Status(ctx context.Context) Status {
	if err := s.lock(ctx); err != nil {
		return Status{Notice: sentence(err)}
	}
	defer s.unlock()
	head, _, err := s.read()
	if err != nil {
		return Status{Notice: sentence(err)}
	}
	if head == nil {
		return Status{}
	}
	st := Status{Home: head.Key}
	if err := s.open(ctx); err != nil {
		st.Locked, st.Notice = errors.Is(err, ErrLocked), sentence(err)
		return st
	}
	st.Count = len(visible(s.values))
	if head.Key == InFile {
		st.Notice = fmt.Sprintf("This system has no keyring: the key of your secrets is in %s, which only your user can read.", s.keyPath())
	}
	return st
}

// lock takes the turn, or gives up with ctx.
func (s *Store) lock(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return &core.Error{Code: core.CodeUnavailable, Message: "the keyring does not answer", Retriable: true, Cause: ErrLocked}
	}
}

func (s *Store) unlock() { <-s.turn }

// OnLearned sets who is told that Known has grown, before anybody else can have the value.
// f may call Known and nothing else of s.
func (s *Store) OnLearned(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.learned = f
}

// remember adds to what Known returns.
func (s *Store) remember(values map[string]item) {
	s.mu.Lock()
	grown, tell := false, s.learned
	for name, i := range values {
		if !hidden(name) && len(i.Value) >= shortest && !s.past[i.Value] {
			s.past[i.Value], s.known, grown = true, nil, true
		}
	}
	s.mu.Unlock()
	if grown && tell != nil {
		tell()
	}
}

// sentence is an error as the user reads it, with what to do.
func sentence(err error) string {
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
