package api

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Inbox holds the pending approvals that expire; *approvals.Inbox implements it.
type Inbox interface {
	List() []approvals.Item
	AddViewer(shows func() bool) (remove func())
	Item(id string) (approvals.Item, bool)
	AnswerFor(id, action, scope string, content json.RawMessage) error
}

// CommandApprovals lists new commands that need approval; *supervisor.Supervisor
// implements it.
type CommandApprovals interface {
	PendingCommands() []supervisor.PendingCommand
	Approve(ctx context.Context, server, key string) error
	// Notices are about new commands that run without approval.
	Notices() []core.Notice
	Dismiss(subject string) bool
	// SuppressCommandNotice suppresses the notice for a server that the user is adding or changing.
	SuppressCommandNotice(server string)
}

// PendingFeature is a feature with approvals that have no deadline. Their ids begin with the kind and
// a colon.
type PendingFeature interface {
	PendingKind() approvals.Kind
	Pending() []approvals.Item
	Answer(ctx context.Context, id, action string) (ended bool, err error)
}

// command is the kind of a command that needs approval. It is not an item of the inbox: it waits as
// long as it is in the configuration.
const command approvals.Kind = "command"

// Approval is one item of the pending approvals. Its text comes from a server, a client or the
// configuration.
type Approval struct {
	ID      string         `json:"id"`
	Kind    approvals.Kind `json:"kind" enum:"form,url,command,call,tools"`
	Server  string         `json:"server" doc:"Server id"`
	Client  ApprovalClient `json:"client" doc:"Client whose call made the server ask; empty if unknown"`
	Tool    string         `json:"tool" doc:"Public name of the called tool or prompt; may be empty"`
	Message string         `json:"message" doc:"Text of the question; for a command: the command, then its variables and its folder, one per line"`
	URL     string         `json:"url,omitempty"`
	Schema  string         `json:"schema,omitempty" doc:"JSON text: schema of the form, an object with flat properties"`
	At      time.Time      `json:"at"`
	Expires time.Time      `json:"expires" doc:"0001-01-01T00:00:00Z for a command, because it does not expire"`
	State   string         `json:"state" enum:",accept,decline,cancel,expired,withdrawn" doc:"Empty while pending"`
	Reason  string         `json:"reason,omitempty" doc:"Why the approval was withdrawn"`

	CallID        string `json:"callId,omitempty" doc:"Call id; calls only"`
	Original      string `json:"original,omitempty" doc:"The server's own name for the tool; calls only"`
	Arguments     string `json:"arguments,omitempty" doc:"JSON text, truncated in lists and events if long; calls only"`
	ArgumentsSize int    `json:"argumentsSize,omitempty" doc:"Size of the complete arguments in bytes"`
	ArgumentsCut  bool   `json:"argumentsCut,omitempty" doc:"Whether arguments is truncated: GET /api/v1/approvals/{id} returns all of it"`
	Rule          string `json:"rule,omitempty" doc:"Rule that requires approval; calls only"`
	InSession     bool   `json:"session,omitempty" doc:"Whether the call belongs to a session, so that it can be accepted for that session; calls only"`
	Effect        string `json:"effect,omitempty" enum:"read-only,destructive,unknown" doc:"Effect that the server declares for the tool; calls only"`

	Command *NewCommand `json:"command,omitempty" doc:"The command in parts; commands only"`
}

// NewCommand is a command that needs approval, split into parts.
type NewCommand struct {
	CommandLine string   `json:"commandLine" doc:"Command line as in the configuration"`
	Previous    string   `json:"previous" doc:"Previous command line; empty if unknown"`
	Environment []string `json:"environment" nullable:"false" doc:"Names of the environment variables, with the values of those that select programs and libraries"`
	Cwd         string   `json:"cwd"`
	Sandbox     []string `json:"sandbox" nullable:"false" doc:"What it could do that its approved sandbox denies, such as: write to ~/notes"`
}

// maxShown is the number of bytes of arguments in lists and events.
const maxShown = 64 << 10

// ApprovalClient is the application whose call caused the request.
type ApprovalClient struct {
	Token   string `json:"token"`
	Name    string `json:"name"`
	Version string `json:"version"`
}

// truncatedApproval returns an item as shown in lists and events.
func truncatedApproval(i *approvals.Item) Approval {
	p := fullApproval(i)
	if len(p.Arguments) > maxShown {
		p.Arguments, p.ArgumentsCut = strings.ToValidUTF8(p.Arguments[:maxShown], ""), true
	}
	return p
}

func fullApproval(i *approvals.Item) Approval {
	p := Approval{
		ID: i.ID, Kind: i.Kind, Server: i.Server, Client: ApprovalClient(i.Client), Tool: i.Tool,
		Message: i.Message, URL: i.URL, Schema: i.Schema, At: i.At, Expires: i.Expires, State: i.State, Reason: i.Reason,
	}
	if h := i.Held; h != nil {
		p.CallID, p.Original, p.Rule, p.Effect = strconv.FormatInt(h.CallID, 10), h.Tool, h.Why, h.Effect
		p.InSession = h.Session
		p.Arguments, p.ArgumentsSize = h.Arguments, len(h.Arguments)
	}
	return p
}

// approvalOf is truncatedApproval, with the parts of a command.
func (a *API) approvalOf(i *approvals.Item) Approval {
	p := truncatedApproval(i)
	if i.Kind != command {
		return p
	}
	for _, c := range a.CommandApprovals.PendingCommands() {
		if c.Server == i.Server {
			p.Command = &NewCommand{CommandLine: c.Command, Previous: c.Previous, Environment: web.NonNil(c.Environment), Cwd: c.Cwd, Sandbox: web.NonNil(c.Sandbox)}
		}
	}
	return p
}

// commandItem identifies a command by its server and its key, so that an answer applies to exactly
// the command that the user saw.
func commandItem(c supervisor.PendingCommand, since time.Time) approvals.Item {
	text := c.Command
	if len(c.Environment) > 0 {
		text += "\nEnvironment: " + strings.Join(c.Environment, ", ")
	}
	if c.Cwd != "" {
		text += "\nFolder: " + c.Cwd
	}
	if len(c.Sandbox) > 0 {
		text += "\nLooser sandbox than approved: the server could " + strings.Join(c.Sandbox, ", ")
	}
	return approvals.Item{ID: "command:" + c.Server + ":" + c.Key, Kind: command, Server: c.Server, Message: text, At: since.UTC()}
}

// pendingCommands lists the commands that need approval, in the order of the configuration, except
// those of disabled servers.
func (a *API) pendingCommands() []approvals.Item {
	var list []approvals.Item
	for _, c := range a.CommandApprovals.PendingCommands() {
		if st, ok := a.Servers.Status(c.Server); ok && st.State == core.StateNeedsApproval {
			list = append(list, commandItem(c, st.Since))
		}
	}
	return list
}

func (a *API) listPending() []Approval {
	all := append(a.Approvals.List(), a.pendingWithoutDeadline()...)
	list := make([]Approval, len(all))
	for i := range all {
		list[i] = a.approvalOf(&all[i])
	}
	return list
}

func (a *API) listApprovals(context.Context, *web.None) (*web.Answer[web.List[Approval]], error) {
	return web.Reply(web.List[Approval]{Items: a.listPending()})
}

type approvalInput struct {
	ID   string `path:"id" maxLength:"200"`
	Body struct {
		Action  string   `json:"action" enum:"accept,decline,cancel"`
		Scope   string   `json:"scope,omitempty" enum:"once,minutes,session,always" doc:"How long calls to the tool are accepted; default: once. 'session' is allowed only if the field session of the approval is true. always is written to the configuration"`
		Content web.JSON `json:"content,omitempty" doc:"Values of the form, a JSON object; required to accept a form"`
		Where   web.JSON `json:"where,omitempty" doc:"Calls only: accept further calls only if their arguments match this condition, as where in a rule of policy.rules; it must match this call"`
	}
}

// pendingWithoutDeadline lists the approvals without a deadline: commands, and those of features.
func (a *API) pendingWithoutDeadline() []approvals.Item {
	list := a.pendingCommands()
	for _, f := range a.Features {
		if p, ok := f.(PendingFeature); ok {
			list = append(list, p.Pending()...)
		}
	}
	return list
}

// answerApproval passes on the answer of the user. A command that is not accepted keeps waiting and
// does not run.
func (a *API) answerApproval(ctx context.Context, in *approvalInput) (*web.None, error) {
	if rest, ok := strings.CutPrefix(in.ID, "command:"); ok {
		server, key, _ := strings.Cut(rest, ":")
		if _, known := a.Servers.Status(server); !known || key == "" {
			return nil, core.Errorf(core.CodeNotFound, "this command is no longer pending")
		}
		if in.Body.Action != approvals.Accept {
			return &web.None{}, nil
		}
		if err := a.CommandApprovals.Approve(ctx, server, key); err != nil {
			return nil, err
		}
		a.waiting.publishEnd(a.Bus, in.ID, approvals.Accept)
		return &web.None{}, nil
	}
	for _, f := range a.Features {
		if p, ok := f.(PendingFeature); ok && strings.HasPrefix(in.ID, string(p.PendingKind())+":") {
			ended, err := p.Answer(ctx, in.ID, in.Body.Action)
			if ended {
				a.waiting.publishEnd(a.Bus, in.ID, approvals.Accept)
			}
			return &web.None{}, err
		}
	}
	scope := cmp.Or(in.Body.Scope, approvals.Once)
	content := json.RawMessage(in.Body.Content)
	if item, ok := a.Approvals.Item(in.ID); ok && item.Held != nil {
		if content = nil; in.Body.Action == approvals.Accept && len(in.Body.Where) > 0 {
			content = json.RawMessage(in.Body.Where)
			if err := a.checkWhere(&item, scope, content); err != nil {
				return nil, err
			}
		}
		if in.Body.Action == approvals.Accept && scope == approvals.Always {
			if err := a.allowAlways(ctx, &item, content); err != nil {
				return nil, err // the approval stays pending
			}
			// The new setting already permits the pending calls that it covers, such as this one.
			if err := a.Approvals.AnswerFor(in.ID, in.Body.Action, scope, content); core.CodeOf(err) != core.CodeNotFound {
				return &web.None{}, err
			}
			return &web.None{}, nil
		}
	}
	return &web.None{}, a.Approvals.AnswerFor(in.ID, in.Body.Action, scope, content)
}

// pendingTracker publishes which commands start and stop waiting: the supervisor publishes only the
// states of servers.
type pendingTracker struct {
	mu    sync.Mutex // guards known
	known map[string]approvals.Item
}

// publishChanges publishes the differences since its last run.
func (w *pendingTracker) publishChanges(bus *core.Bus, list func() []approvals.Item) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := make(map[string]approvals.Item)
	for _, item := range list() {
		now[item.ID] = item
		if _, old := w.known[item.ID]; !old {
			bus.Publish(core.ApprovalEvent, item)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.known)) {
		if _, still := now[id]; !still {
			gone := w.known[id]
			gone.State = approvals.Withdrawn
			bus.Publish(core.ApprovalEvent, gone)
		}
	}
	w.known = now
}

func (w *pendingTracker) publishEnd(bus *core.Bus, id, state string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if item, ok := w.known[id]; ok {
		delete(w.known, id)
		item.State = state
		bus.Publish(core.ApprovalEvent, item)
	}
}

// follow runs compare whenever a server changed.
func (w *pendingTracker) follow(ctx context.Context, bus *core.Bus, list func() []approvals.Item) {
	for ctx.Err() == nil {
		sub := bus.Subscribe(1024, core.ServerEvent, core.RemovedEvent, core.ConfigEvent, core.CatalogEvent)
		w.publishChanges(bus, list)
		w.consumeEvents(ctx, sub, bus, list)
		sub.Close()
	}
}

func (w *pendingTracker) consumeEvents(ctx context.Context, sub *core.Subscription, bus *core.Bus, list func() []approvals.Item) {
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-sub.Events():
			if !open {
				return
			}
			// One run covers all queued events: thousands of servers may change together.
			for n := len(sub.Events()); n > 0 && open; n-- {
				_, open = <-sub.Events()
			}
			w.publishChanges(bus, list)
		}
	}
}

// getApproval returns one pending approval in full.
func (a *API) getApproval(_ context.Context, in *struct {
	ID string `path:"id" maxLength:"200"`
}) (*web.Answer[Approval], error) {
	if item, ok := a.Approvals.Item(in.ID); ok {
		return web.Reply(fullApproval(&item))
	}
	for _, item := range a.pendingWithoutDeadline() {
		if item.ID == in.ID {
			return web.Reply(truncatedApproval(&item))
		}
	}
	return nil, core.Errorf(core.CodeNotFound, "this approval is no longer pending")
}

// allowAlways writes a permanent permission into the configuration: for the client of the call, or
// for all clients if clients have no tokens.
func (a *API) allowAlways(ctx context.Context, item *approvals.Item, where json.RawMessage) error {
	if item.Held.Rule != "" || where != nil {
		return a.ConfigEditor.AddArgumentRule(ctx, item.Held.Rule, allowRule(item, where))
	}
	if item.Client.Token == "" {
		return a.ConfigEditor.SetTools(ctx, item.Server, []string{item.Held.Tool}, map[string]json.RawMessage{"approval": json.RawMessage(`"never"`)})
	}
	var names []string
	if c, ok := a.ConfigEditor.Current().Server(item.Server); ok && c.Filter != nil {
		names = slices.Clone(c.Filter.Tools[item.Held.Tool].AllowClients)
	}
	if !slices.Contains(names, item.Client.Token) {
		names = append(names, item.Client.Token)
	}
	raw, err := json.Marshal(names)
	if err != nil {
		return err
	}
	return a.ConfigEditor.SetTools(ctx, item.Server, []string{item.Held.Tool}, map[string]json.RawMessage{"allowClients": raw})
}

func heldCall(item *approvals.Item) *core.Call {
	return &core.Call{
		Server: item.Server, Method: "tools/call", Name: item.Held.Tool, Client: item.Client, Workspace: item.Held.Workspace,
		Params: json.RawMessage(item.Held.Arguments), Arguments: core.Span{End: len(item.Held.Arguments)},
	}
}

// checkWhere refuses a condition that cannot be read or does not match the call about which the
// user is asked.
func (a *API) checkWhere(item *approvals.Item, scope string, where json.RawMessage) error {
	invalid := func(message string) error {
		return &core.Error{Code: core.CodeValidation, Message: "the request is not valid", Fields: []core.FieldError{{Field: "body.where", Error: message}}}
	}
	if scope == approvals.Once {
		return invalid("requires a scope: minutes, session or always")
	}
	c, problems := config.ParseCondition(where)
	if len(problems) > 0 {
		return invalid(problems[0].Key + ": " + problems[0].Message)
	}
	if !a.holds(&c, heldCall(item)) {
		return invalid("does not match the arguments of this call")
	}
	return nil
}

// allowRule returns the rule that allows such calls of the client from now on.
func allowRule(item *approvals.Item, where json.RawMessage) json.RawMessage {
	rule := struct {
		Tool    string          `json:"tool"`
		Clients []string        `json:"clients,omitempty"`
		Where   json.RawMessage `json:"where,omitempty"`
		Then    string          `json:"then"`
	}{Tool: item.Server + "__" + item.Held.Tool, Where: where, Then: config.RuleAllow}
	if item.Client.Token != "" {
		rule.Clients = []string{item.Client.Token}
	}
	raw, _ := json.Marshal(rule) // where was parsed before: cannot fail
	return raw
}
