package secret

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"drawbridge/backend/hub"
)

// Private is what a part of Drawbridge keeps for itself beside the person's secrets, sealed
// alike. No ${secret:NAME} reaches it and no list shows it: its names hold a ':', which those
// of secrets cannot.
type Private struct {
	s    *Store
	kind string
}

// Private returns the values of one kind.
func (s *Store) Private(kind string) *Private { return &Private{s, kind} }

func hidden(name string) bool { return strings.Contains(name, ":") }

// Get returns a value; the error of one that is not there has code not_found. It never opens a
// prompt.
func (p *Private) Get(ctx context.Context, name string) (string, error) {
	return p.s.get(ctx, p.kind+":"+name)
}

// Set stores a value. It opens a prompt only where it is the first of all that is stored.
func (p *Private) Set(ctx context.Context, name, value string) error {
	if value == "" || len(value) > maxValue {
		return hub.Errorf(hub.CodeValidation, "cannot keep %s: it is empty or too large", p.kind)
	}
	return p.s.change(ctx, false, func(all map[string]item) bool {
		all[p.kind+":"+name] = item{value, time.Now().UTC().Truncate(time.Second)}
		return true
	})
}

// Remove takes values away. ok is false when none of them was there.
func (p *Private) Remove(ctx context.Context, names ...string) (ok bool, err error) {
	full := make([]string, len(names))
	for i, name := range names {
		full[i] = p.kind + ":" + name
	}
	return p.s.remove(ctx, full)
}

// visible are the names of what the person stored.
func visible(all map[string]item) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !hidden(name) {
			names = append(names, name)
		}
	}
	return names
}
