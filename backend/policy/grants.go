package policy

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// sessionGrantTime limits a permission for a session, whose end is not announced here. No later
// session has its id.
const sessionGrantTime = 24 * time.Hour

// grants holds the temporary permissions. The zero value is ready to use.
type grants struct {
	mu    sync.Mutex // guards the fields below
	all   map[grantKey]permission
	added chan struct{} // closed when a permission is added or the rules change; nil if nobody waits for that
}

// grantKey identifies what the user permitted. rule is the argument rule that asked, or "": what
// was permitted for one rule does not answer the question of another.
type grantKey struct {
	client, server, tool, rule string
	credential                 [sha256.Size]byte // of the client
	account                    string            // of the server; "" if it has none
	launch, definition         string            // as in core.Admission
	session                    string            // "" for all sessions
	where                      string            // JSON text of the condition on the arguments, or ""
}

type permission struct {
	until time.Time
	where *condition // nil: all arguments
}

// Grant is a temporary permission for a client to call a tool.
type Grant struct {
	ID      string    `json:"id"`
	Client  string    `json:"client"`
	Server  string    `json:"server"`
	Tool    string    `json:"tool"`
	Session bool      `json:"session"` // only for the session in which it was given
	Where   string    `json:"where"`   // condition on the arguments, as in a rule; "" for all arguments
	Until   time.Time `json:"until"`
}

const maxGrants = 1024

func (p *Policy) grantFor(call *core.Call, d argumentDecision) grantKey {
	key := grantKey{client: clientKey(call.Client), server: call.Server, account: call.Account, tool: call.Name, launch: call.Admission.Launch, definition: call.Admission.Definition, rule: d.askingID()}
	if p.Credential != nil {
		key.credential, _ = p.Credential(call.Client.Token)
	}
	return key
}

// sessionOf identifies the session or the shim process of a call, or is "".
func sessionOf(call *core.Call) string {
	return cmp.Or(call.LegacySession(), call.Shim)
}

// add stores a permission. A condition that cannot be read permits nothing.
func (g *grants) add(key grantKey, where []byte, until time.Time) {
	p := permission{until: until}
	if key.where = string(where); key.where != "" {
		parsed, problems := config.ParseCondition(where)
		if len(problems) > 0 {
			return
		}
		c := compileCondition(&parsed)
		p.where = &c
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all == nil {
		g.all = make(map[grantKey]permission)
	}
	now := time.Now()
	for k, old := range g.all {
		if !now.Before(old.until) {
			delete(g.all, k)
		}
	}
	if len(g.all) < maxGrants { // if full, the user is asked again
		g.all[key] = p
	}
	if g.added != nil {
		close(g.added)
		g.added = nil
	}
}

func (g *grants) nextAdded() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.added == nil {
		g.added = make(chan struct{})
	}
	return g.added
}

// wake makes await check again.
func (g *grants) wake() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.added != nil {
		close(g.added)
		g.added = nil
	}
}

// recheckInterval is how often await checks again what changes without a call of wake, such as the
// tokens of clients and the processes of servers.
const recheckInterval = 250 * time.Millisecond

// await returns a context that is cancelled when check returns an error, which is its cause. stop
// ends the wait and returns that error.
func (g *grants) await(ctx context.Context, check func() error) (waiting context.Context, stop func() error) {
	waiting, cancel := context.WithCancelCause(ctx)
	var ended error
	var watcher sync.WaitGroup
	watcher.Go(func() {
		tick := time.NewTicker(recheckInterval)
		defer tick.Stop()
		for {
			added := g.nextAdded()
			if ended = check(); ended != nil {
				cancel(ended)
				return
			}
			select {
			case <-added:
			case <-tick.C:
			case <-waiting.Done():
				return
			}
		}
	})
	return waiting, func() error {
		cancel(nil)
		watcher.Wait()
		return ended
	}
}

// find returns how a call is permitted already by what key describes, or "". Conditions are evaluated without the lock:
// they read the file system, which may hang.
func (g *grants) find(s *server, call *core.Call, key grantKey, now time.Time) core.Approval {
	candidates := g.candidates(key, sessionOf(call), now)
	e := evaluation{server: s, call: call}
	for k, where := range candidates {
		switch {
		case where != nil && !e.condition(where).certain:
			continue
		case k.session != "":
			return core.ApprovedSession
		}
		return core.ApprovedMinutes
	}
	return ""
}

// candidates returns the permissions for such calls, with their conditions on the arguments.
func (g *grants) candidates(want grantKey, session string, now time.Time) map[grantKey]*condition {
	g.mu.Lock()
	defer g.mu.Unlock()
	var found map[grantKey]*condition
	for k, p := range g.all {
		if k.session != "" && k.session != session || !now.Before(p.until) {
			continue
		}
		if k.about() != want {
			continue
		}
		if found == nil {
			found = make(map[grantKey]*condition)
		}
		found[k] = p.where
	}
	return found
}

// about returns the key without the session and the condition.
func (k grantKey) about() grantKey {
	k.session, k.where = "", ""
	return k
}

// id identifies the permission to the user.
func (k grantKey) id() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%#v", k))
	return hex.EncodeToString(sum[:8])
}

// remove removes permissions and reports whether there was one.
func (g *grants) remove(ended func(grantKey) bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := len(g.all)
	maps.DeleteFunc(g.all, func(k grantKey, _ permission) bool { return ended(k) })
	return len(g.all) < before
}

// Grants returns the temporary permissions, sorted by expiry.
func (p *Policy) Grants() []Grant {
	p.grants.mu.Lock()
	defer p.grants.mu.Unlock()
	list := []Grant{}
	now := time.Now()
	for k, g := range p.grants.all {
		if now.Before(g.until) {
			list = append(list, Grant{k.id(), strings.TrimPrefix(k.client, "\x00"), k.server, k.tool, k.session != "", k.where, g.until.UTC()})
		}
	}
	slices.SortFunc(list, func(a, b Grant) int {
		return cmp.Or(a.Until.Compare(b.Until), cmp.Compare(a.Client, b.Client), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Where, b.Where))
	})
	return list
}

// ForgetGrants revokes the temporary permission with this id, or with "" all of them. It reports whether there
// was one.
func (p *Policy) ForgetGrants(id string) bool {
	return p.grants.remove(func(k grantKey) bool { return id == "" || k.id() == id })
}
