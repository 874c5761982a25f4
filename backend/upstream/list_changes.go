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

// The delay before subscriptions/listen is sent again after the server has ended it.
const (
	listenBackoff    = time.Second
	maxListenBackoff = time.Minute
)

// isSubscription reports whether a method starts or ends a subscription to a resource.
func isSubscription(method string) bool {
	return method == "resources/subscribe" || method == "resources/unsubscribe"
}

// recordSubscription remembers the subscription that a call starts or ends: it is renewed with a lost
// session. The modern era has no such request; subscriptions/listen names all resources instead.
func (c *Conn) recordSubscription(call *core.Call) {
	c.mu.Lock()
	c.subscribed = slices.DeleteFunc(c.subscribed, func(have string) bool { return have == call.Name })
	if call.Method == "resources/subscribe" {
		c.subscribed = append(c.subscribed, call.Name)
	}
	c.mu.Unlock()
	c.sendSubscriptions()
}

// recordTaskSubscription starts or ends the notifications about a task.
func (c *Conn) recordTaskSubscription(call *core.Call) {
	var params struct{ TaskID string }
	if json.Unmarshal(call.Params, &params) != nil {
		return
	}
	c.mu.Lock()
	c.tasks = slices.DeleteFunc(c.tasks, func(have string) bool { return have == params.TaskID })
	if call.Method == core.SubscribeTask {
		c.tasks = append(c.tasks, params.TaskID)
	}
	c.mu.Unlock()
	c.sendSubscriptions()
}

func (c *Conn) sendSubscriptions() {
	if c.era == core.Legacy {
		return
	}
	select {
	case c.relisten <- struct{}{}:
	default: // a signal is pending
	}
}

// listenParams returns the params of subscriptions/listen, or nil if there is nothing to listen to.
func (c *Conn) listenParams() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	var fields []byte
	add := func(name string, value []byte) {
		if len(fields) > 0 {
			fields = append(fields, ',')
		}
		fields = append(append(append(append(fields, '"'), name...), `":`...), value...)
	}
	for kind, name := range map[core.Kind]string{
		core.Tools: "toolsListChanged", core.Prompts: "promptsListChanged", core.Resources: "resourcesListChanged",
	} {
		if c.handshake.notifies[kind] {
			add(name, []byte("true"))
		}
	}
	for name, list := range map[string][]string{"resourceSubscriptions": c.subscribed, "taskIds": c.tasks} {
		if len(list) == 0 {
			continue
		}
		all := []byte{'['}
		for i, one := range list {
			if i > 0 {
				all = append(all, ',')
			}
			all = wire.AppendString(all, one)
		}
		add(name, append(all, ']'))
	}
	if len(fields) == 0 {
		return nil
	}
	var call *core.Call
	if len(c.tasks) > 0 {
		call = &core.Call{Capabilities: []byte(`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`)}
	}
	return c.addModernMeta(append(append([]byte(`{"notifications":{`), fields...), '}', '}'), call)
}

// acknowledgeTimeout is how long the first listing waits until a modern server has acknowledged
// subscriptions/listen, or until the GET stream of a legacy remote server is open. Most servers
// need a millisecond.
const acknowledgeTimeout = time.Second

// awaitListening waits until changes of lists are announced, or for at most acknowledgeTimeout.
func (c *Conn) awaitListening(ctx context.Context) {
	open := (<-chan struct{})(c.listening)
	switch {
	case c.era == core.Modern:
	case c.remote != nil:
		open = c.remote.Listening()
	default:
		return
	}
	timer := time.NewTimer(acknowledgeTimeout)
	defer timer.Stop()
	select {
	case <-open:
	case <-timer.C:
	case <-c.t.Done():
	case <-ctx.Done():
	}
}

func (c *Conn) markListening() { c.listeningOnce.Do(func() { close(c.listening) }) }

// listen keeps a subscriptions/listen request of a modern server open, because such a server
// announces nothing without it. It starts before the catalog is read, so that no change is missed
// in between. After a change of the subscriptions, the old request stays open until the new one is
// acknowledged, so that no notification is lost in between.
func (c *Conn) listen(ctx context.Context) {
	if !waitFor(ctx, c.t.Done(), c.handshakeDone) || c.era != core.Modern {
		return
	}
	backoff := listenBackoff
	current := c.startListening(ctx)
	for ctx.Err() == nil && c.t.Err() == nil {
		select {
		case <-ctx.Done():
		case <-c.t.Done():
		case <-c.relisten:
			backoff = listenBackoff
		case <-current.ended:
			if time.Since(current.began) > maxListenBackoff {
				backoff = listenBackoff
			}
			timer := time.NewTimer(backoff)
			select {
			case <-ctx.Done():
			case <-c.t.Done():
			case <-c.relisten:
			case <-timer.C:
			}
			timer.Stop()
			backoff = min(2*backoff, maxListenBackoff)
		}
		if !current.acknowledged {
			current.stop() // it may still wait to be sent, and must not reach the server after the next one
		}
		next := c.startListening(ctx)
		current.stop()
		current = next
	}
	current.stop()
}

type listenRequest struct {
	began        time.Time
	acknowledged bool
	cancel       context.CancelFunc
	ended        chan struct{} // closed when the request has ended
}

// startListening sends subscriptions/listen, and waits until the server has acknowledged or refused it,
// or for at most acknowledgeTimeout.
func (c *Conn) startListening(ctx context.Context) *listenRequest {
	ctx, cancel := context.WithCancel(ctx)
	r := &listenRequest{began: time.Now(), cancel: cancel, ended: make(chan struct{})}
	params := c.listenParams()
	if params == nil {
		r.acknowledged = true
		context.AfterFunc(ctx, func() { close(r.ended) })
		c.markListening()
		return r
	}
	select {
	case <-c.acknowledged: // of an earlier request
	default:
	}
	c.running.Go(func() {
		defer close(r.ended)
		if _, err := c.request(ctx, "subscriptions/listen", params); err != nil {
			c.o.Log.Debug("Listening ended", "server", c.o.Server, "error", err)
		}
		c.markListening()
	})
	timer := time.NewTimer(acknowledgeTimeout)
	defer timer.Stop()
	select {
	case <-c.acknowledged:
		r.acknowledged = true
	case <-r.ended:
	case <-timer.C:
	case <-c.t.Done():
	case <-ctx.Done():
	}
	return r
}

// stop cancels the request, and waits until it has ended.
func (r *listenRequest) stop() {
	r.cancel()
	<-r.ended
}
