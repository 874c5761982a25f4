package upstream

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// The delay before subscriptions/listen is sent again after the server has ended it.
const (
	listenBackoff    = time.Second
	maxListenBackoff = time.Minute
)

// isSubscription reports whether a method starts or ends a subscription to a resource.
func isSubscription(method string) bool {
	return method == "resources/subscribe" || method == "resources/unsubscribe"
}

// subscription remembers the subscription that a call starts or ends: it is renewed with a lost
// session. The modern era has no such request; subscriptions/listen names all resources instead.
func (c *Conn) subscription(call *core.Call) {
	c.mu.Lock()
	c.subscribed = slices.DeleteFunc(c.subscribed, func(have string) bool { return have == call.Name })
	if call.Method == "resources/subscribe" {
		c.subscribed = append(c.subscribed, call.Name)
	}
	c.mu.Unlock()
	c.listenAgain()
}

// listenToTask starts or ends the notifications about a task.
func (c *Conn) listenToTask(call *core.Call) {
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
	c.listenAgain()
}

// listenAgain sends subscriptions/listen with the current subscriptions.
func (c *Conn) listenAgain() {
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
// in between.
func (c *Conn) listen(ctx context.Context) {
	if !waitFor(ctx, c.t.Done(), c.handshakeDone) || c.era != core.Modern {
		return
	}
	backoff := listenBackoff
	for ctx.Err() == nil {
		params := c.listenParams()
		round, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		began := time.Now()
		if params != nil {
			c.running.Go(func() {
				_, err := c.request(round, "subscriptions/listen", params)
				c.markListening()
				ended <- err
			})
		} else {
			c.markListening()
		}
		select {
		case <-ctx.Done():
		case <-c.t.Done():
			stop()
			return
		case <-c.relisten:
			backoff = listenBackoff
		case err := <-ended:
			if err != nil {
				c.o.Log.Debug("Listening ended", "server", c.o.Server, "error", err)
			}
			if time.Since(began) > maxListenBackoff {
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
		stop()
	}
}
