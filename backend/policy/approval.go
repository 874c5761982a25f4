package policy

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// GrantTime is how long the user's "for a while" lasts.
const GrantTime = 10 * time.Minute

// serverApproval is the key that holds for every tool of a server that has none of its own.
const serverApproval = "approval"

// KeepAlive is how often a client that wants progress hears some while its call waits.
const KeepAlive = 10 * time.Second

// approval holds a call that needs approval. Nobody answering is a no, and so is
// nobody there to ask.
func (p *Policy) approval(ctx context.Context, call *core.Call, rules *ruleset, plan *Plan, sink core.Sink) error {
	if call.Method != "tools/call" || call.Continues {
		return nil
	}
	s, t := plan.server, plan.tool
	word, why := decide(rules, s, t, call.Client.Token, plan.hints)
	if call.ByPerson && word != config.ApprovalDeny { // they know what they do
		return nil
	}
	switch word {
	case config.ApprovalNever:
		return nil
	case config.ApprovalDeny:
		e := core.Errorf(core.CodeRejected, "tool %q of server %q is not allowed", call.Name, call.Server)
		e.Hint = "The configuration says so: " + why + "."
		return e
	}
	grant := grantKey{clientKey(call.Client), call.Server, call.Name}
	if p.granted(call) {
		call.Approval = core.ApprovedMinutes
		return nil
	}
	if err := s.breaker.checkOpen(); err != nil {
		return err // nobody is asked in vain
	}
	if p.Approvals == nil || p.Reachable != nil && !p.Reachable() {
		call.Approval = core.ApprovalNobody
		e := core.Errorf(core.CodeRejected, "tool %q of server %q needs the user's approval, and no window or page of Drawbridge is open", call.Name, call.Server)
		e.Hint = "Ask the user to open Drawbridge, then try again."
		return e
	}
	return p.ask(ctx, call, plan, sink, grant, reason(rules, s, t, call))
}

// ask shows the call to the user and waits.
func (p *Policy) ask(ctx context.Context, call *core.Call, plan *Plan, sink core.Sink, grant grantKey, why string) error {
	began := time.Now()
	stop := SendKeepAlives(sink, call, 0, "waiting for the user's approval")
	answer, err := p.Approvals.Ask(ctx, approvals.Item{
		Kind: approvals.Call, Server: call.Server, Client: call.Client, Tool: shown(call),
		Message: fmt.Sprintf("%s wants to call %s of %s", clientName(call.Client), shorten(call.Name), plan.server.label),
		Held: &approvals.Held{
			CallID: call.ID, Tool: call.Name, Why: why, Effect: effect(plan.hints),
			Arguments: strings.ToValidUTF8(string(arguments(call)), "\ufffd"),
		},
	})
	stop()
	call.Queued += time.Since(began)
	switch {
	case err != nil:
		if core.CodeOf(err) == core.CodeRateLimited {
			call.Approval = core.ApprovalNobody
		}
		return err
	case answer.Expired:
		call.Approval = core.ApprovalExpired
		e := core.Errorf(core.CodeRejected, "nobody approved the call of tool %q of server %q in time", call.Name, call.Server)
		e.Hint, e.Retriable = "Ask the user to watch for the question, then try again.", true
		return e
	case answer.Action != approvals.Accept:
		call.Approval = core.Denied
		e := core.Errorf(core.CodeRejected, "the user denied the call of tool %q of server %q", call.Name, call.Server)
		e.Hint = "Do not try it again unless they ask for it."
		return e
	}
	switch answer.Scope {
	case approvals.Minutes:
		call.Approval = core.ApprovedMinutes
		p.grants.add(grant, time.Now().Add(GrantTime))
	case approvals.Always:
		call.Approval = core.ApprovedAlways
	default:
		call.Approval = core.ApprovedOnce
	}
	return nil
}

// strictness orders what may be said; the client's word can only make it stricter.
var strictness = map[string]int{config.ApprovalNever: 0, config.ApprovalDestructive: 1, config.ApprovalAsk: 2, config.ApprovalDeny: 3}

// decide says what holds for a call: never, ask or deny, and why.
func decide(rules *ruleset, s *server, t *tool, token string, hints registry.Hints) (word, why string) {
	word, why = t.approval, t.approvalKey+" of server "+s.id+" is "+t.approval
	if client := rules.clients[token]; strictness[client] > strictness[word] {
		word, why = client, "approval of client "+token+" is "+client
	}
	switch word {
	case config.ApprovalDestructive:
		if s.trust || hints.ReadOnly == registry.Yes || hints.Destructive == registry.No {
			return config.ApprovalNever, why
		}
		word = config.ApprovalAsk
	case config.ApprovalNever, config.ApprovalDeny:
		return word, why
	}
	if token != "" && slices.Contains(t.allow, token) {
		return config.ApprovalNever, "allowClients of the tool names " + token
	}
	return word, why
}

// reason says to the user why they are asked: whose wish it is, in words and not by its key.
func reason(rules *ruleset, s *server, t *tool, call *core.Call) string {
	word, before := t.approval, "a tool of "+shorten(s.label)+" runs"
	if t.approvalKey != serverApproval {
		before = shorten(call.Name) + " of " + shorten(s.label) + " runs"
	}
	if client := rules.clients[call.Client.Token]; strictness[client] > strictness[word] {
		word, before = client, clientName(call.Client)+" calls a tool"
	}
	if word == config.ApprovalDestructive {
		return "You want to be asked before " + before + ", unless it says that it destroys nothing."
	}
	return "You want to be asked before " + before + "."
}

func effect(h registry.Hints) string {
	switch {
	case h.ReadOnly == registry.Yes:
		return approvals.EffectReadOnly
	case h.Destructive == registry.Yes:
		return approvals.EffectDestructive
	}
	return approvals.EffectUnknown
}

func arguments(call *core.Call) []byte {
	if call.Arguments.Empty() {
		return []byte("{}")
	}
	return call.Params[call.Arguments.Start:call.Arguments.End]
}

// clientKey names a client for what the user allows it: its token, or without one
// what it says of itself, marked, since anybody could say that.
func clientKey(c core.Client) string {
	if c.Token != "" {
		return c.Token
	}
	return "\x00" + c.Name
}

func clientName(c core.Client) string {
	switch {
	case c.Name != "" && c.Token != "" && c.Name != c.Token:
		return shorten(c.Name) + " (" + shorten(c.Token) + ")"
	case c.Name != "":
		return shorten(c.Name)
	case c.Token != "":
		return shorten(c.Token)
	}
	return "A client without a name"
}

func shorten(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// SendKeepAlives sends progress to a client that wants some, every KeepAlive until stop is
// called, so that it does not give up while its call waits. reached is the progress
// that it knows of.
func SendKeepAlives(sink core.Sink, call *core.Call, reached float64, message string) (stop func()) {
	if sink == nil || call.ProgressToken.Empty() {
		return func() {}
	}
	token := call.Params[call.ProgressToken.Start:call.ProgressToken.End]
	text, _ := json.Marshal(message)
	done := make(chan struct{})
	var told sync.WaitGroup
	told.Go(func() {
		tick := time.NewTicker(KeepAlive)
		defer tick.Stop()
		for n := 1; ; n++ {
			select {
			case <-done:
				return
			case <-tick.C:
				// Progress has to grow, and the server may begin with any number: these are tiny.
				params := fmt.Appendf(nil, `{"progressToken":%s,"progress":%s,"message":%s}`, token, strconv.FormatFloat(reached+float64(n)/1e6, 'f', -1, 64), text)
				sink.Notify("notifications/progress", params)
			}
		}
	})
	return func() {
		close(done)
		told.Wait()
	}
}

// grants are what the user has allowed for a while. The zero value is ready to use.
type grants struct {
	mu  sync.Mutex // guards all
	all map[grantKey]time.Time
}

type grantKey struct{ client, server, tool string }

// Grant is one thing that the user has allowed for a while.
type Grant struct {
	Client string    `json:"client"`
	Server string    `json:"server"`
	Tool   string    `json:"tool"`
	Until  time.Time `json:"until"`
}

const maxGrants = 1024

func (g *grants) add(key grantKey, until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all == nil {
		g.all = make(map[grantKey]time.Time)
	}
	now := time.Now()
	for k, t := range g.all {
		if !now.Before(t) {
			delete(g.all, k)
		}
	}
	if len(g.all) < maxGrants { // beyond that, the user is asked again
		g.all[key] = until
	}
}

func (g *grants) has(key grantKey, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	until, ok := g.all[key]
	return ok && now.Before(until)
}

func (g *grants) retain(still func(server string) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for k := range g.all {
		if !still(k.server) {
			delete(g.all, k)
		}
	}
}

// Grants lists what the user has allowed for a while, the next to end first.
func (p *Policy) Grants() []Grant {
	p.grants.mu.Lock()
	defer p.grants.mu.Unlock()
	list := []Grant{}
	now := time.Now()
	for k, until := range p.grants.all {
		if now.Before(until) {
			list = append(list, Grant{strings.TrimPrefix(k.client, "\x00"), k.server, k.tool, until.UTC()})
		}
	}
	slices.SortFunc(list, func(a, b Grant) int {
		return cmp.Or(a.Until.Compare(b.Until), cmp.Compare(a.Client, b.Client), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Tool, b.Tool))
	})
	return list
}

// ForgetGrants takes back what the user has allowed for a while.
func (p *Policy) ForgetGrants() { p.grants.retain(func(string) bool { return false }) }

func (p *Policy) granted(call *core.Call) bool {
	return p.grants.has(grantKey{clientKey(call.Client), call.Server, call.Name}, time.Now())
}
