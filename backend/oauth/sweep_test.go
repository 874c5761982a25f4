package oauth

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
)

// memory is an in-memory vault that can be locked.
type memory struct {
	mu     sync.Mutex
	locked bool
	kept   map[string]string
}

func (m *memory) Get(_ context.Context, name string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text, ok := m.kept[name]
	if !ok {
		return "", core.Errorf(core.CodeNotFound, "there is none")
	}
	return text, m.ready()
}

func (m *memory) Set(_ context.Context, name, value string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept[name] = value
	return m.ready()
}

func (m *memory) Remove(_ context.Context, names ...string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.ready(); err != nil {
		return false, err
	}
	for _, name := range names {
		delete(m.kept, name)
	}
	return true, nil
}

func (m *memory) Move(context.Context, string, string) error { return nil }

func (m *memory) Names(context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.kept)), nil
}

func (m *memory) Ready(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ready()
}

func (m *memory) ready() error {
	if m.locked {
		return secret.ErrLocked
	}
	return nil
}

func (m *memory) lock(is bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.locked = is
}

func TestRemovedServerTokensAreDeletedAfterTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{kept: map[string]string{"server/one": "torn", "server/two": "torn"}}
		k := New(Options{Vault: m})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- k.Run(ctx) }()
		after := func(wait time.Duration, want ...string) {
			t.Helper()
			time.Sleep(wait)
			synctest.Wait()
			if names, _ := m.Names(ctx); !slices.Equal(names, want) {
				t.Errorf("kept is %v, want %v", names, want)
			}
		}
		k.Apply([]string{"two"})
		after(absence-time.Second, "server/one", "server/two")
		m.lock(true)
		after(2*time.Second, "server/one", "server/two")
		m.lock(false)
		after(again-2*time.Second, "server/one", "server/two")
		after(2*time.Second, "server/two")
		after(3*absence, "server/two")
		k.Apply(nil)
		after(absence/2, "server/two")
		k.Apply([]string{"two"}) // the removal is undone
		after(3*absence, "server/two")
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := k.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func TestNextCheckIsAtEarliestDeadline(t *testing.T) {
	k := New(Options{Vault: &memory{kept: map[string]string{"server/a": "torn", "server/b": "torn", "server/c": "torn"}}})
	defer func() { _ = k.Close(context.Background()) }()
	now := time.Now()
	since := map[string]time.Time{"a": now.Add(-3 * time.Minute), "b": now.Add(-7 * time.Minute), "c": now}
	k.Apply(nil)
	if next := k.sweep(t.Context(), since, now); next != 3*time.Minute {
		t.Errorf("it looks again after %s", next)
	}
}

func TestForgetAllDeletesOrphanedTokens(t *testing.T) {
	m := &memory{kept: map[string]string{"server/a": "torn", "client/stray": "torn"}}
	k := New(Options{Vault: m})
	defer func() { _ = k.Close(context.Background()) }()
	if err := k.ForgetAll(t.Context()); err != nil || len(m.kept) != 0 {
		t.Errorf("kept is %v, %v", m.kept, err)
	}
}
