package secret

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// InternalValues stores internal values of Drawbridge in the same encrypted file as the user's
// secrets. They cannot be used as ${secret:NAME} and are not listed: their names contain a ':',
// which the names of secrets cannot.
type InternalValues struct {
	s    *Store
	kind string
}

// InternalValues returns the internal values of one kind.
func (s *Store) InternalValues(kind string) *InternalValues { return &InternalValues{s, kind} }

func isInternal(name string) bool { return strings.Contains(name, ":") }

// Get returns a value. The error for a value that does not exist has code not_found, even while the
// keyring is locked. It never opens a prompt.
func (p *InternalValues) Get(ctx context.Context, name string) (string, error) {
	value, err := p.s.get(ctx, p.kind+":"+name)
	if errors.Is(err, ErrLocked) {
		if h, _, failed := p.s.readFile(); failed == nil && h != nil && h.InternalNames != nil && !slices.Contains(h.InternalNames, p.kind+":"+name) {
			return "", notFoundError(name)
		}
	}
	return value, err
}

// Names returns the names of this kind. It works while the keyring is locked, except for a file of
// an older version.
func (p *InternalValues) Names(ctx context.Context) ([]string, error) {
	if err := p.s.lockState(ctx); err != nil {
		return nil, err
	}
	defer p.s.unlockState()
	h, _, err := p.s.readFile()
	if err != nil || h == nil {
		return nil, err
	}
	all := h.InternalNames
	if err := p.s.load(ctx); err == nil {
		all = internalNames(p.s.values)
	} else if !errors.Is(err, ErrLocked) || all == nil {
		return nil, err
	}
	var names []string
	for _, full := range all {
		if name, ok := strings.CutPrefix(full, p.kind+":"); ok {
			names = append(names, name)
		}
	}
	return names, nil
}

// Ready returns the error with which Set would fail: it wraps ErrLocked if the keyring is locked.
// nil means that Set is expected to succeed.
func (p *InternalValues) Ready(ctx context.Context) error {
	if err := p.s.lockState(ctx); err != nil {
		return err
	}
	defer p.s.unlockState()
	if err := p.s.load(ctx); err != nil {
		return err
	}
	if p.s.fileInfo == nil && p.s.keyring.State(ctx) == Locked {
		return lockedError("the keyring is locked", unlockHint, nil)
	}
	return nil
}

// Move renames a value and replaces the one with the new name. It does nothing if the value does
// not exist.
func (p *InternalValues) Move(ctx context.Context, from, to string) error {
	if names, err := p.Names(ctx); err == nil && !slices.Contains(names, from) {
		return nil
	}
	return p.s.update(ctx, func(all map[string]storedValue) bool {
		i, ok := all[p.kind+":"+from]
		if ok {
			all[p.kind+":"+to] = i
			delete(all, p.kind+":"+from)
		}
		return ok
	})
}

// Set stores a value. It opens no prompt unless the file is new and needs a key.
func (p *InternalValues) Set(ctx context.Context, name, value string) error {
	if value == "" || len(value) > maxValue {
		return core.Errorf(core.CodeValidation, "cannot store a value of %s: it is empty or too large", p.kind)
	}
	return p.s.update(ctx, func(all map[string]storedValue) bool {
		all[p.kind+":"+name] = storedValue{value, time.Now().UTC().Truncate(time.Second)}
		return true
	})
}

// Remove deletes values. ok is false if none of them existed.
func (p *InternalValues) Remove(ctx context.Context, names ...string) (ok bool, err error) {
	full := make([]string, len(names))
	for i, name := range names {
		full[i] = p.kind + ":" + name
	}
	return p.s.remove(ctx, full)
}

// internalNames returns the sorted names of the internal values. It never returns nil.
func internalNames(all map[string]storedValue) []string {
	names := []string{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if isInternal(name) {
			names = append(names, name)
		}
	}
	return names
}

// secretNames returns the sorted names of the user's secrets.
func secretNames(all map[string]storedValue) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !isInternal(name) {
			names = append(names, name)
		}
	}
	return names
}
