package policy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Feature is the policy of calls, as the API shows it.
type Feature struct {
	Policy  *Policy
	Config  func() *config.Config
	Servers interface {
		Status(id string) (core.ServerStatus, bool)
	}
	Views *registry.Registry
	Inbox *approvals.Inbox
	Store Calls // recorded calls
}

// PolicyStatus is the current state of the policy.
type PolicyStatus struct {
	Breakers []BreakerStatus `json:"breakers" nullable:"false" doc:"Servers whose circuit breaker is open or half-open"`
	Waiting  []Load          `json:"waiting" nullable:"false" doc:"Servers with a concurrency limit and calls that are in flight, queued or rejected by it"`
}

// Routes implements web.Feature.
func (f *Feature) Routes(r *web.Router) {
	web.Op(r, "GET", "/api/v1/policy", "State of circuit breakers and call queues", f.policyStatus)
	web.Op(r, "POST", "/api/v1/policy/try", "Show what argument rules would have done with recorded calls", f.tryRules)
	web.Op(r, "POST", "/api/v1/policy/suggest", "Suggest conditions for an argument rule that matches calls similar to a given call", f.suggestRule)
	web.Op(r, "GET", "/api/v1/explain", "Explain whether the policy would allow a call", f.explain)
	web.Op(r, "GET", "/api/v1/approvals/grants", "Temporary approvals", f.listGrants)
	web.Op(r, "DELETE", "/api/v1/approvals/grants", "Revoke temporary approvals", f.forgetGrants)
}

func (f *Feature) policyStatus(context.Context, *web.None) (*web.Answer[PolicyStatus], error) {
	return web.Reply(PolicyStatus{Breakers: f.Policy.Breakers(), Waiting: f.Policy.Loads()})
}

type explainInput struct {
	Server string `query:"server" required:"true" minLength:"1" maxLength:"256" server:"name" doc:"Server id or name"`
	Tool   string `query:"tool" required:"true" minLength:"1" maxLength:"1024" doc:"The server's own name for the tool, or its public name"`
	Client string `query:"client" maxLength:"128" doc:"Name of a client's access token"`
	// Arguments are JSON text: they may have several readings, which decoding would hide.
	Arguments string `query:"arguments" maxLength:"65536" doc:"Arguments of the call, the text of a JSON object; without them, argument rules with a condition do not apply"`
	Folder    string `query:"folder" maxLength:"4096" doc:"Absolute path of the client's working folder, for argument rules"`
}

func (f *Feature) explain(_ context.Context, in *explainInput) (*web.Answer[Explanation], error) {
	now := f.Config()
	rq := ExplainRequest{Server: in.Server, Tool: in.Tool, Client: in.Client, Workspace: in.Folder, Profile: now.Clients[in.Client].Profile}
	if in.Arguments != "" {
		rq.Arguments = []byte(in.Arguments)
	}
	if rq.Profile == "" && in.Folder != "" {
		rq.Profile = now.ProfileOf(in.Folder)
	}
	if server, ok := now.Server(in.Server); ok {
		rq.Account = now.AccountOf(&server, in.Client, rq.Profile, in.Folder)
	}
	e, err := f.Policy.Explain(rq)
	if err != nil {
		return nil, err
	}
	var first []Verdict
	if st, ok := f.Servers.Status(e.Server); ok {
		first = append(first, explainServer(st))
	}
	if rq.Account != "" {
		first = append(first, Verdict{Name: "account", Result: Pass, Detail: fmt.Sprintf("The call uses the account %q.", rq.Account), Key: "mcpServers." + e.Server + ".accounts." + rq.Account})
	}
	view := f.Views.All()
	if rq.Profile != "" {
		key := "profiles." + rq.Profile + ".folders"
		if now.Clients[in.Client].Profile != "" {
			key = "clients." + in.Client + ".profile"
		}
		var v Verdict
		if view, v = f.explainProfile(rq.Profile, key, e.Server, e.Tool); v.Name != "" {
			first = append(first, v)
		}
	} else if in.Folder == "" {
		first = append(first, f.explainFolders(now.Profiles, e.Server, e.Tool)...)
	}
	e.Checks = append(first, e.Checks...)
	for _, v := range first {
		e.Passes = e.Passes && v.Result != Refuse
	}
	for _, item := range view.Items(core.Tools) {
		if item.Server == e.Server && item.Name == e.Tool {
			e.PublicName = item.Public
		}
	}
	return web.Reply(e)
}

func (f *Feature) listGrants(context.Context, *web.None) (*web.Answer[web.List[Grant]], error) {
	return web.Reply(web.List[Grant]{Items: f.Policy.Grants()})
}

type forgetGrantsInput struct {
	ID string `query:"id" maxLength:"64" doc:"Only this one; default: all"`
}

func (f *Feature) forgetGrants(_ context.Context, in *forgetGrantsInput) (*web.None, error) {
	if !f.Policy.ForgetGrants(in.ID) && in.ID != "" {
		return nil, core.Errorf(core.CodeNotFound, "this temporary approval has ended or was revoked")
	}
	return &web.None{}, nil
}

type tryRulesInput struct {
	Body struct {
		Rules string `json:"rules,omitempty" maxLength:"1048576" doc:"Text of a configuration file, or of a list of rules; default: the rules in force"`
		YAML  bool   `json:"yaml,omitempty" doc:"Whether rules is YAML"`
		Days  int    `json:"days,omitempty" minimum:"1" maximum:"36500" doc:"Test the calls of this many days; default: 30"`
	}
}

// tryRules decides about recorded calls, as if other rules had been in force.
func (f *Feature) tryRules(ctx context.Context, in *tryRulesInput) (*web.Answer[RuleTrial], error) {
	now := f.Config()
	rules := now.Policy.Arguments
	if in.Body.Rules != "" {
		file := "rules.jsonc"
		if in.Body.YAML {
			file = "rules.yaml"
		}
		var problems []config.Problem
		if rules, problems = config.ParseArgumentRules(file, []byte(in.Body.Rules)); config.HasErrors(problems) {
			e := core.Errorf(core.CodeValidation, "the rules are not valid")
			for _, p := range problems {
				e.Fields = append(e.Fields, core.FieldError{Field: p.Key, Error: p.String()})
			}
			return nil, e
		}
	}
	if in.Body.Days == 0 {
		in.Body.Days = 30
	}
	trial, err := TryRules(ctx, f.Store, NewArgumentRules(rules, now), time.Now().AddDate(0, 0, -in.Body.Days))
	if err != nil {
		return nil, err
	}
	return web.Reply(*trial)
}

type suggestRuleInput struct {
	Body struct {
		Call     string `json:"call,omitempty" pattern:"^[0-9]{0,19}$" doc:"Id of a recorded call"`
		Approval string `json:"approval,omitempty" maxLength:"200" doc:"Id of a pending approval"`
	}
}

// suggestRule derives conditions from a recorded or a pending call and from similar calls of 30
// days.
func (f *Feature) suggestRule(ctx context.Context, in *suggestRuleInput) (*web.Answer[RuleSuggestion], error) {
	like, err := f.recordedOrPendingCall(ctx, in.Body.Call, in.Body.Approval)
	if err != nil {
		return nil, err
	}
	bases := NewArgumentRules(nil, f.Config()).RelativeBases(like)
	found, err := SuggestRule(ctx, f.Store, like, time.Now().AddDate(0, 0, -30), bases)
	if err != nil {
		return nil, err
	}
	// Only what a rule certainly finds in the call: of a server elsewhere, paths are not certain.
	found.Where = slices.DeleteFunc(found.Where, func(where string) bool {
		c, problems := config.ParseCondition([]byte(where))
		return len(problems) > 0 || !Holds(&c, like, f.Config())
	})
	return web.Reply(*found)
}

// recordedOrPendingCall returns the call with an id, or the one that waits for an approval, with
// its arguments.
func (f *Feature) recordedOrPendingCall(ctx context.Context, id, approval string) (*core.Call, error) {
	if approval != "" {
		item, ok := f.Inbox.Item(approval)
		if !ok || item.Held == nil {
			return nil, core.Errorf(core.CodeNotFound, "this approval is no longer pending")
		}
		return approvals.HeldCall(&item), nil
	}
	n := web.ParseID(id)
	r, err := f.Store.Call(ctx, n)
	if err != nil {
		return nil, err
	}
	call := r.Call
	call.Params, call.Arguments = r.Arguments, core.Span{End: len(r.Arguments)}
	if r.ArgumentsCut != nil {
		call.Params, call.Arguments = nil, core.Span{}
	}
	return &call, nil
}
