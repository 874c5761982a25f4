package policy

import (
	"context"
	"encoding/json"
	"errors"
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

// GrantTime is the lifetime of a temporary permission.
const GrantTime = 10 * time.Minute

// serverApproval is the configuration key that applies to the tools of a server without a setting
// of their own.
const serverApproval = "approval"

// KeepAlive is the interval of progress notifications while a call waits.
const KeepAlive = 10 * time.Second

// checkApproval blocks a call that needs the user's approval until there is a decision. It denies
// the call if the user does not answer in time or cannot be asked.
func (p *Policy) checkApproval(ctx context.Context, call *core.Call, plan *Plan, target registry.Target, sink core.ServerMessageHandler) error {
	if call.Method != "tools/call" {
		return nil
	}
	word, err := approvalOf(call, plan.rules, plan.server, plan.hints, plan.byArguments)
	if err != nil || word != config.ApprovalAsk || call.Continues {
		return err
	}
	call.Admission.Definition, call.Admission.Rule = definitionHash(target), plan.byArguments.askingID()
	if approved := p.grants.find(plan.server, call, p.grantFor(call, plan.byArguments), time.Now()); approved != "" {
		call.Approval = approved
		return nil
	}
	if err := plan.breaker.checkOpen(); err != nil {
		return err // do not ask for a call that will be refused anyway
	}
	if p.Approvals == nil || p.Reachable != nil && !p.Reachable() {
		call.Approval = core.ApprovalNobody
		e := core.Errorf(core.CodeRejected, "tool %q of server %q needs the user's approval, and neither the window nor the web UI is open", call.Name, call.Server)
		e.Hint = "Ask the user to open Drawbridge, or to run in a terminal: drawbridge approvals --wait. Then try again."
		return e
	}
	if p.Process != nil {
		if call.Admission.Process, err = p.Process(call); err != nil {
			return err
		}
	}
	reason := plan.byArguments.question()
	if reason == "" {
		reason = approvalReason(plan.rules, plan.server, plan.tool, call)
	}
	return p.askUser(ctx, call, *plan, sink, reason)
}

// approvalOf returns whether a tool call needs approval, never or ask, or the error if it is denied.
func approvalOf(call *core.Call, rules *ruleset, s *server, hints registry.Hints, d argumentDecision) (word string, err error) {
	word, why := approvalSetting(rules, s, s.tool(call), call.Client.Token, hints)
	switch word = d.overrideApproval(word); {
	case word == config.ApprovalDeny:
		e := core.Errorf(core.CodeRejected, "tool %q of server %q is not allowed", call.Name, call.Server)
		e.Hint = "The configuration denies it: " + why + "."
		return word, e
	case call.ByUser || call.Preview: // the user makes this call
		return config.ApprovalNever, nil
	}
	return word, nil
}

// permittedWhileAsking returns how a call is permitted about which the user has not answered yet: by
// the answer to another call, or because the rules no longer require approval. It returns "" if it
// is not. plan is that of the call, which is still admitted.
func (p *Policy) permittedWhileAsking(call *core.Call, plan *Plan) core.Approval {
	if approved := p.grants.find(plan.server, call, p.grantFor(call, plan.byArguments), time.Now()); approved != "" {
		return approved
	}
	rules := p.rules.Load()
	if rules == plan.rules {
		return ""
	}
	s := rules.server(call.Server)
	target, err := p.lookupTarget(call, s)
	if err != nil {
		return ""
	}
	if word, err := approvalOf(call, rules, s, target.Hints, rules.decide(s, call)); err != nil || word != config.ApprovalNever {
		return ""
	}
	return core.ApprovedAlways
}

// askUser shows the call to the user and waits for the decision. A call that is no longer admitted
// is withdrawn, and not sent even if it was approved.
func (p *Policy) askUser(ctx context.Context, call *core.Call, plan Plan, sink core.ServerMessageHandler, why string) error {
	began, bound := time.Now(), boundTo(call)
	stop := SendKeepAlives(sink, call, 0, "waiting for the user's approval")
	var permitted core.Approval
	waiting, stopWaiting := p.grants.await(ctx, func() error {
		if err := p.readmit(call, &plan, sink, false); err != nil {
			return err
		}
		if permitted = p.permittedWhileAsking(call, &plan); permitted != "" {
			return approvals.ErrPermitted
		}
		return nil
	})
	client, _ := sink.(core.ClientAdmission)
	ruleKey, ruleText := plan.byArguments.askingRule()
	answer, err := p.Approvals.Ask(waiting, approvals.Item{
		Kind: approvals.Call, Server: call.Server, Client: call.Client, Tool: displayName(call),
		Message: fmt.Sprintf("%s wants to call %q on %q%s", clientName(call.Client), shorten(call.Name), shorten(plan.server.label), accountSuffix(call)),
		Held: &approvals.Held{
			CallID: call.ID, Tool: call.Name, Why: why, Workspace: call.Workspace, Session: sessionOf(call) != "", Rule: ruleKey, RuleText: ruleText, Effect: effectOf(plan.hints),
			Arguments: strings.ToValidUTF8(string(argumentsOf(call)), "\ufffd"),
			Bound:     bound, Definition: plan.definition, PreviewSetting: plan.server.previewSetting(call.Name), Client: client,
			Folders: plan.server.paths.folders(call), Cwd: strings.Replace(plan.server.paths.cwd, config.WorkspaceRoot, call.Workspace, 1),
			Caller: core.Call{
				Client: call.Client, Session: call.Session, Shim: call.Shim, Workspace: call.Workspace, OtherRoots: call.OtherRoots, Era: call.Era,
				Server: call.Server, Account: call.Account, Profile: call.Profile, PublicName: call.PublicName,
				Admission: core.Admission{Launch: call.Admission.Launch, Definition: call.Admission.Definition},
			},
		},
	})
	_ = stopWaiting()
	stop()
	call.Queued += time.Since(began)
	switch {
	case err != nil && permitted != "" && ctx.Err() == nil:
		call.Approval = permitted
		return nil
	case errors.Is(err, approvals.ErrPermitted): // the client cancelled the call at the same time
		return context.Cause(ctx)
	case err != nil:
		if core.CodeOf(err) == core.CodeRateLimited {
			call.Approval = core.ApprovalNobody
		}
		return err
	case answer.Expired:
		call.Approval = core.ApprovalExpired
		e := core.Errorf(core.CodeRejected, "the call to tool %q of server %q was not approved in time", call.Name, call.Server)
		e.Hint, e.Retriable = "Ask the user to watch for the approval request, then try again.", true
		return e
	case answer.Action != approvals.Accept:
		call.Approval = core.Denied
		e := core.Errorf(core.CodeRejected, "the user denied the call to tool %q of server %q", call.Name, call.Server)
		e.Hint = "Do not try it again unless the user asks for it."
		return e
	}
	call.Admission.Approved, call.Admission.Unchanged = bound, answer.Unchanged
	if err := p.readmit(call, &plan, sink, true); err != nil {
		return err
	}
	switch answer.Scope {
	case approvals.Minutes:
		call.Approval = core.ApprovedMinutes
		p.grants.add(p.grantFor(call, plan.byArguments), answer.Content, time.Now().Add(GrantTime))
	case approvals.Session:
		call.Approval = core.ApprovedSession
		key := p.grantFor(call, plan.byArguments)
		key.session = sessionOf(call)
		p.grants.add(key, answer.Content, time.Now().Add(sessionGrantTime))
	case approvals.Always:
		call.Approval = core.ApprovedAlways
	default:
		call.Approval = core.ApprovedOnce
	}
	return nil
}

// strictness orders the approval settings. The setting of a client applies only if it is stricter
// than that of the tool.
var strictness = map[string]int{config.ApprovalNever: 0, config.ApprovalDestructive: 1, config.ApprovalAsk: 2, config.ApprovalDeny: 3}

// approvalSetting returns the approval setting for a call, which is never, ask or deny, and the
// reason.
func approvalSetting(rules *ruleset, s *server, t *tool, token string, hints registry.Hints) (word, why string) {
	word, why = t.approval, t.approvalKey+" of server "+s.id+" is set to "+t.approval
	if client := rules.clients[token]; strictness[client] > strictness[word] {
		word, why = client, "approval of client "+token+" is set to "+client
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
	if token != "" && slices.Contains(t.allowedClients, token) {
		return config.ApprovalNever, "allowClients of the tool includes " + token
	}
	return word, why
}

// approvalReason explains to the user which setting requires the approval, without its
// configuration key.
func approvalReason(rules *ruleset, s *server, t *tool, call *core.Call) string {
	word, before := t.approval, fmt.Sprintf("a tool on %q runs", shorten(s.label))
	if t.approvalKey != serverApproval {
		before = fmt.Sprintf("%q on %q runs", shorten(call.Name), shorten(s.label))
	}
	if client := rules.clients[call.Client.Token]; strictness[client] > strictness[word] {
		word, before = client, clientName(call.Client)+" calls a tool"
	}
	if word == config.ApprovalDestructive {
		return "Your configuration requires approval before " + before + ", unless it is marked non-destructive."
	}
	return "Your configuration requires approval before " + before + "."
}

func effectOf(h registry.Hints) string {
	switch {
	case h.ReadOnly == registry.Yes:
		return approvals.EffectReadOnly
	case h.Destructive == registry.Yes:
		return approvals.EffectDestructive
	}
	return approvals.EffectUnknown
}

// accountSuffix names the account of a call, if its server has accounts.
func accountSuffix(call *core.Call) string {
	if call.Account == "" {
		return ""
	}
	return " with account " + call.Account
}

func argumentsOf(call *core.Call) []byte {
	if call.Arguments.Empty() {
		return []byte("{}")
	}
	return call.Params[call.Arguments.Start:call.Arguments.End]
}

// clientKey identifies a client: by its token, or without one by the name that it reports. A NUL
// byte marks such a name, because any client can report it.
func clientKey(c core.Client) string {
	if c.Token != "" {
		return c.Token
	}
	return "\x00" + c.Name
}

// clientName names a client by its token. What it calls itself is quoted and comes last, so that no
// client writes the sentence.
func clientName(c core.Client) string {
	name := strconv.Quote(shorten(c.Name))
	switch {
	case c.Name != "" && c.Token != "" && c.Name != c.Token:
		return shorten(c.Token) + " (" + name + ")"
	case c.Token != "":
		return shorten(c.Token)
	case c.Name != "":
		return "A client without an access token (" + name + ")"
	}
	return "An unnamed client"
}

func shorten(s string) string { return core.ShortenBytes(s, 200) }

// SendKeepAlives sends a progress notification every KeepAlive until stop is called, so that the
// client does not time out while its call waits. It does nothing if the call has no progress token.
// reached is the progress that the client has received last. stop waits until nothing more is sent.
func SendKeepAlives(sink core.ServerMessageHandler, call *core.Call, reached float64, message string) (stop func()) {
	if sink == nil || call.ProgressToken.Empty() {
		return func() {}
	}
	token := call.Params[call.ProgressToken.Start:call.ProgressToken.End]
	text, _ := json.Marshal(message)
	done := make(chan struct{})
	var sender sync.WaitGroup
	sender.Go(func() {
		tick := time.NewTicker(KeepAlive)
		defer tick.Stop()
		for n := 1; ; n++ {
			select {
			case <-done:
				return
			case <-tick.C:
				// Progress must increase, and the server may start with any number. Use tiny steps.
				params := fmt.Appendf(nil, `{"progressToken":%s,"progress":%s,"message":%s}`, token, strconv.FormatFloat(reached+float64(n)/1e6, 'f', -1, 64), text)
				sink.Notify("notifications/progress", params)
			}
		}
	})
	return func() {
		close(done)
		sender.Wait()
	}
}
