package supervisor

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lockWatcher is a slow store. Its callers must not hold the lock that Pause, calls of
// per-session servers and the page wait for.
type lockWatcher struct {
	memoryApprovals
	t     *testing.T
	of    *Supervisor
	asked map[string]int
}

func (l *lockWatcher) check(what string) {
	l.asked[what]++
	if !l.of.mu.TryLock() {
		l.t.Errorf("%s is waited for with the lock held", what)
		return
	}
	l.of.mu.Unlock()
}

func (l *lockWatcher) Approved(ctx context.Context, server, key string) ([]byte, bool, error) {
	l.check("Approved")
	return l.memoryApprovals.Approved(ctx, server, key)
}

func (l *lockWatcher) Approve(ctx context.Context, server, key string, sandbox []byte) error {
	l.check("Approve")
	return l.memoryApprovals.Approve(ctx, server, key, sandbox)
}

func (l *lockWatcher) Catalog(context.Context, string, string) (*core.Catalog, error) {
	l.check("Catalog")
	return &core.Catalog{}, nil
}

func (*lockWatcher) LastCatalog(context.Context, string) (*core.Catalog, error) { return nil, nil }

func (*lockWatcher) SaveCatalog(context.Context, string, string, *core.Catalog) error { return nil }

func TestSlowStoreDoesNotBlockUnderLock(t *testing.T) {
	kept := &lockWatcher{memoryApprovals: memoryApprovals{keys: map[string][]byte{}}, t: t, asked: map[string]int{}}
	inBubble(t, func(_ *rig, o *Options) { o.CommandApprovals, o.Catalogs = kept, kept }, func(g *rig) {
		kept.of = g.Supervisor
		manual := func(s *config.Server) { s.Start = config.StartManual }
		g.apply(server("used", manual))
		g.requireApproval(true)
		g.apply(server("used", manual), server("new", manual))
		g.want("new", core.StateNeedsApproval)
		require.NoError(t, g.Approve(context.Background(), "new", ""))
		if kept.asked["Approved"] == 0 || kept.asked["Approve"] == 0 || kept.asked["Catalog"] == 0 {
			t.Errorf("the store was asked only %v", kept.asked)
		}
	})
}

// stalledStore saves no catalog until it is released.
type stalledStore struct {
	*memoryCaches
	released atomic.Bool
}

func (s *stalledStore) SaveCatalog(ctx context.Context, server, key string, c *core.Catalog) error {
	if !s.released.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.memoryCaches.SaveCatalog(ctx, server, key, c)
}

func TestStartDoesNotWaitForTheStore(t *testing.T) {
	kept := &stalledStore{memoryCaches: newMemory()}
	inBubble(t, func(_ *rig, o *Options) { o.Catalogs = kept }, func(g *rig) {
		g.apply(server("a"))
		g.want("a", core.StateRunning)
		off := func(c *config.Server) { c.Disabled = true }
		g.apply(server("a", off))
		g.want("a", core.StateDisabled)
		require.NoError(t, g.SetPaused(context.Background(), true))
		g.apply(server("a"))
		assert.NotEmpty(t, g.registry.All().Items(core.Tools), "the tools were lost with the catalog that was not saved")
		kept.released.Store(true)
		time.Sleep(maxStorePause)
	})
	assert.Len(t, kept.catalogs, 1)
}

// readOnlyStore fails to save an approval.
type readOnlyStore struct{ memoryApprovals }

func (*readOnlyStore) Approve(context.Context, string, string, []byte) error {
	return errors.New("the disk is full")
}

func TestUnsavedApprovalDoesNotCount(t *testing.T) {
	kept := &readOnlyStore{memoryApprovals{keys: map[string][]byte{}}}
	inBubble(t, func(_ *rig, o *Options) { o.CommandApprovals = kept }, func(g *rig) {
		g.requireApproval(true)
		g.apply(server("new"))
		require.Error(t, g.Approve(context.Background(), "new", ""), "no error")
		g.apply(server("new"), server("other"))
		g.want("new", core.StateNeedsApproval)
	})
}
