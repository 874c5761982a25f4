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

	"github.com/stretchr/testify/assert"
)

// memoryVault is an in-memory vault that can be locked.
type memoryVault struct {
	mu     sync.Mutex
	locked bool
	values map[string]string
}

func (m *memoryVault) Get(_ context.Context, name string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text, ok := m.values[name]
	if !ok {
		return "", core.Errorf(core.CodeNotFound, "there is none")
	}
	return text, m.ready()
}

func (m *memoryVault) Set(_ context.Context, name, value string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.values[name] = value
	return m.ready()
}

func (m *memoryVault) Remove(_ context.Context, names ...string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.ready(); err != nil {
		return false, err
	}
	for _, name := range names {
		delete(m.values, name)
	}
	return true, nil
}

func (m *memoryVault) Move(context.Context, string, string) error { return nil }

func (m *memoryVault) Names(context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.values)), nil
}

func (m *memoryVault) Ready(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ready()
}

func (m *memoryVault) ready() error {
	if m.locked {
		return secret.ErrLocked
	}
	return nil
}

func (m *memoryVault) setLocked(is bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.locked = is
}

func TestRemovedServerTokensAreDeletedAfterTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memoryVault{values: map[string]string{"server/one": "torn", "server/two": "torn"}}
		k := New(Options{Vault: m})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- k.Run(ctx) }()
		after := func(wait time.Duration, want ...string) {
			t.Helper()
			time.Sleep(wait)
			synctest.Wait()
			names, _ := m.Names(ctx)
			assert.Equal(t, want, names)
		}
		k.Apply(map[string]string{"two": ""})
		after(removalGrace-time.Second, "server/one", "server/two")
		m.setLocked(true)
		after(2*time.Second, "server/one", "server/two")
		m.setLocked(false)
		after(lockedRetryInterval-2*time.Second, "server/one", "server/two")
		after(2*time.Second, "server/two")
		after(3*removalGrace, "server/two")
		k.Apply(nil)
		after(removalGrace/2, "server/two")
		k.Apply(map[string]string{"two": ""}) // the removal is undone
		after(3*removalGrace, "server/two")
		cancel()
		err := <-done
		assert.NoError(t, err)
		assert.NoError(t, k.Close(context.Background()))
	})
}

func TestNextCheckIsAtEarliestDeadline(t *testing.T) {
	k := New(Options{Vault: &memoryVault{values: map[string]string{"server/a": "torn", "server/b": "torn", "server/c": "torn"}}})
	defer func() { _ = k.Close(context.Background()) }()
	now := time.Now()
	since := map[string]time.Time{"a": now.Add(-3 * time.Minute), "b": now.Add(-7 * time.Minute), "c": now}
	k.Apply(nil)
	assert.Equal(t, 3*time.Minute, k.deleteRemoved(t.Context(), since, now), "it looks again")
}

func TestForgetAllDeletesOrphanedTokens(t *testing.T) {
	m := &memoryVault{values: map[string]string{"server/a": "torn", "client/stray": "torn"}}
	k := New(Options{Vault: m})
	defer func() { _ = k.Close(context.Background()) }()
	if err := k.ForgetAll(t.Context()); err != nil || len(m.values) != 0 {
		t.Errorf("kept is %v, %v", m.values, err)
	}
}
