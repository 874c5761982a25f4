package approvals

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Feature is the pending approvals, as the API shows them.
type Feature struct {
	Inbox   *Inbox
	Bus     *core.Bus
	Config  ConfigEditor
	Sources []Source
	// Holds reports whether a condition certainly holds for a call.
	Holds   func(c *config.Condition, call *core.Call) bool
	Store   Store
	waiting pendingTracker
}

// Routes implements web.Feature.
func (f *Feature) Routes(r *web.Router) {
	web.Op(r, "GET", "/api/v1/approvals", "Pending approvals: calls, forms and URLs from servers, new commands and changed tools", f.listApprovals)
	web.Op(r, "POST", "/api/v1/approvals/{id}", "Respond to a pending approval; a command that is not accepted remains pending", f.answerApproval)
	web.Op(r, "GET", "/api/v1/approvals/{id}", "A pending approval with its complete arguments", f.getApproval)
	web.Op(r, "POST", "/api/v1/approvals/{id}/preview", "Run the preview of a pending call, or say whether the tool's previews change nothing. The result is in the approval", f.previewApproval)
	web.Op(r, "GET", "/api/v1/approvals/{id}/past", "Earlier calls of the same client to the tool of a pending call", f.pastCalls)
}

// Approval is one item of the pending approvals. Its text comes from a server, a client or the
// configuration.
type Approval struct {
	ID      string         `json:"id"`
	Kind    Kind           `json:"kind" enum:"form,url,command,call,tools,package"`
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
	ArgumentRule  string `json:"argumentRule,omitempty" doc:"JSON text: the argument rule that asks"`
	InSession     bool   `json:"session,omitempty" doc:"Whether the call belongs to a session, so that it can be accepted for that session; calls only"`
	Effect        string `json:"effect,omitempty" enum:"read-only,destructive,unknown" doc:"Effect that the server declares for the tool; calls only"`

	Seen     string       `json:"seen,omitempty" doc:"Identifies what the approval shows, for the answer; calls only"`
	Summary  string       `json:"summary,omitempty" doc:"The effect of the call in one sentence; empty if unknown"`
	Files    []FileChange `json:"files,omitempty" doc:"Effect of the call on files, as computed from its arguments"`
	Preview  *Preview     `json:"preview,omitempty" doc:"Preview by the tool; absent if it has none"`
	Warnings []string     `json:"warnings,omitempty" doc:"What is deceptive in names or arguments"`

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

// NewApproval returns an item as shown in lists and events.
func NewApproval(i *Item) Approval {
	p := fullApproval(i)
	if len(p.Arguments) > maxShown {
		p.Arguments, p.ArgumentsCut = strings.ToValidUTF8(p.Arguments[:maxShown], ""), true
	}
	return p
}

func fullApproval(i *Item) Approval {
	p := Approval{
		ID: i.ID, Kind: i.Kind, Server: i.Server, Client: ApprovalClient(i.Client), Tool: i.Tool,
		Message: i.Message, URL: i.URL, Schema: i.Schema, At: i.At, Expires: i.Expires, State: i.State, Reason: i.Reason, Command: i.Command,
	}
	if h := i.Held; h != nil {
		p.CallID, p.Original, p.Rule, p.ArgumentRule, p.Effect = strconv.FormatInt(h.CallID, 10), h.Tool, h.Why, h.RuleText, h.Effect
		p.InSession, p.Seen, p.Summary = h.Session, h.Seen, h.Summary()
		p.Files, p.Preview, p.Warnings = h.Files, h.Preview, h.Warnings
		p.Arguments, p.ArgumentsSize = h.Arguments, len(h.Arguments)
	}
	return p
}

// Pending lists all pending approvals.
func (f *Feature) Pending() []Approval {
	all := append(f.Inbox.List(), f.withoutDeadline()...)
	list := make([]Approval, len(all))
	for i := range all {
		list[i] = NewApproval(&all[i])
	}
	return list
}

func (f *Feature) listApprovals(context.Context, *web.None) (*web.Answer[web.List[Approval]], error) {
	return web.Reply(web.List[Approval]{Items: f.Pending()})
}

type approvalInput struct {
	ID   string `path:"id" maxLength:"200"`
	Body struct {
		Action  string   `json:"action" enum:"accept,decline,cancel"`
		Scope   string   `json:"scope,omitempty" enum:"once,minutes,session,always" doc:"How long calls to the tool are accepted; default: once. 'session' is allowed only if the field session of the approval is true. always is written to the configuration"`
		Seen    string   `json:"seen,omitempty" maxLength:"100" doc:"The field seen of the approval as it was shown. If the approval shows something else now, accept is refused with the code conflict. Without it, a call is accepted whatever its preview shows"`
		Content web.JSON `json:"content,omitempty" doc:"Values of the form, a JSON object; required to accept a form"`
		Where   web.JSON `json:"where,omitempty" doc:"Calls only: accept further calls only if their arguments match this condition, as where in a rule of policy.rules; it must match this call"`
	}
}

// answerApproval passes on the answer of the user. A command that is not accepted keeps waiting and
// does not run.
func (f *Feature) answerApproval(ctx context.Context, in *approvalInput) (*web.None, error) {
	for _, from := range f.Sources {
		if strings.HasPrefix(in.ID, string(from.PendingKind())+":") {
			ended, err := from.Answer(ctx, in.ID, in.Body.Action)
			if ended {
				f.waiting.publishEnd(f.Bus, in.ID, Accept)
			}
			return &web.None{}, err
		}
	}
	scope := cmp.Or(in.Body.Scope, Once)
	content := json.RawMessage(in.Body.Content)
	if item, ok := f.Inbox.Item(in.ID); ok && item.Held != nil {
		if content = nil; in.Body.Action == Accept && len(in.Body.Where) > 0 {
			content = json.RawMessage(in.Body.Where)
			if err := f.checkWhere(&item, scope, content); err != nil {
				return nil, err
			}
		}
		if in.Body.Action == Accept && scope == Always {
			if err := f.Inbox.checkSeen(ctx, in.ID, in.Body.Seen); err != nil {
				return nil, err
			}
			if err := f.allowAlways(ctx, &item, content); err != nil {
				return nil, err // the approval stays pending
			}
			// The new setting already permits the pending calls that it covers, such as this one.
			if err := f.Inbox.AnswerFor(ctx, in.ID, in.Body.Action, scope, in.Body.Seen, content); core.CodeOf(err) != core.CodeNotFound {
				return &web.None{}, err
			}
			return &web.None{}, nil
		}
	}
	return &web.None{}, f.Inbox.AnswerFor(ctx, in.ID, in.Body.Action, scope, in.Body.Seen, content)
}

func (f *Feature) getApproval(_ context.Context, in *struct {
	ID string `path:"id" maxLength:"200"`
}) (*web.Answer[Approval], error) {
	if item, ok := f.Inbox.Item(in.ID); ok {
		return web.Reply(fullApproval(&item))
	}
	for _, item := range f.withoutDeadline() {
		if item.ID == in.ID {
			return web.Reply(NewApproval(&item))
		}
	}
	return nil, core.Errorf(core.CodeNotFound, "this approval is no longer pending")
}

func (f *Feature) previewApproval(ctx context.Context, in *struct {
	ID   string `path:"id" maxLength:"200"`
	Body struct {
		Action string `json:"action" enum:"run,honoured,ignored" doc:"honoured: runs of this tool with its preview argument change nothing. ignored: they make the change, and are not run any more"`
	}
}) (*web.None, error) {
	if in.Body.Action != "run" {
		return &web.None{}, f.Inbox.SetPreviewWord(ctx, in.ID, in.Body.Action == honoured)
	}
	return &web.None{}, f.Inbox.RequestPreview(in.ID)
}

// HeldCall returns the call that an item holds.
func HeldCall(item *Item) *core.Call {
	return &core.Call{
		Server: item.Server, Method: "tools/call", Name: item.Held.Tool, Client: item.Client, Workspace: item.Held.Workspace,
		Params: json.RawMessage(item.Held.Arguments), Arguments: core.Span{End: len(item.Held.Arguments)},
	}
}
