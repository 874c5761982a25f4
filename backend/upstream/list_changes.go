package upstream

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// debounce is the delay between a list_changed notification and reading the list, so that several
// changes are read at once.
const debounce = 500 * time.Millisecond

// relistTimeout is the timeout for reading a changed list.
const relistTimeout = 30 * time.Second

// handleNotification dispatches notifications that belong to no call. It is called by the reader
// and does not block.
func (c *Conn) handleNotification(method string, params json.RawMessage) {
	for i, l := range listings {
		if l.changed != "" && l.changed == method {
			c.stale[i].Store(true)
			select {
			case c.changed <- struct{}{}:
			default: // a signal is pending
			}
			return
		}
	}
	if method == "notifications/subscriptions/acknowledged" {
		c.markListening()
		select {
		case c.acknowledged <- struct{}{}:
		default:
		}
		return
	}
	if c.o.OnNotification != nil {
		c.o.OnNotification(method, params)
	}
}

// handleSessionRenewed is called after a lost session was replaced. The log level and the
// subscriptions of the old session are lost, and the lists may differ.
func (c *Conn) handleSessionRenewed() {
	for i := range listings {
		c.stale[i].Store(true)
	}
	select {
	case c.changed <- struct{}{}:
	default:
	}
	c.mu.Lock()
	subscribed := slices.Clone(c.subscribed)
	c.mu.Unlock()
	if c.handshake.logs {
		c.spawn(c.requestAllLogs)
	}
	if len(subscribed) == 0 {
		return
	}
	c.spawn(func() {
		ctx, cancel := context.WithTimeout(context.Background(), relistTimeout)
		defer cancel()
		for _, uri := range subscribed {
			params := append(wire.AppendString([]byte(`{"uri":`), uri), '}')
			if _, err := c.request(ctx, "resources/subscribe", params); err != nil {
				c.o.Log.Warn("Cannot renew a resource subscription", "server", c.o.Server, "error", err)
			}
		}
	})
}

// spawn runs f in a goroutine of the connection, unless the connection is closing.
func (c *Conn) spawn(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ending {
		c.running.Go(f)
	}
}

// followChanges reads lists again after the server has announced changes. If the first list is
// still being read, Refresh waits for it, so the change is not lost.
func (c *Conn) followChanges(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.t.Done():
			return
		case <-c.changed:
		}
		if !waitFor(ctx, c.t.Done(), c.ready) {
			return
		}
		timer := time.NewTimer(debounce)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		for i, l := range listings {
			if c.stale[i].Swap(false) && l.kind != core.Templates { // read with the resources
				c.relist(ctx, l.kind)
			}
		}
	}
}

// waitFor reports whether ready was closed before ctx and the connection ended.
func waitFor(ctx context.Context, done, ready <-chan struct{}) bool {
	select {
	case <-ready:
		return true
	case <-ctx.Done():
		return false
	case <-done:
		return false
	}
}

func (c *Conn) relist(ctx context.Context, kind core.Kind) {
	kinds := []core.Kind{kind}
	if kind == core.Resources {
		kinds = append(kinds, core.Templates)
	}
	ctx, cancel := context.WithTimeout(ctx, relistTimeout)
	defer cancel()
	if err := c.Refresh(ctx, kinds...); err != nil {
		c.o.Log.Warn("Cannot refresh a list after a change", "server", c.o.Server, "list", string(kind), "error", err)
		return
	}
	if c.o.OnListChanged != nil {
		for _, k := range kinds {
			c.o.OnListChanged(k)
		}
	}
}
