package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Rules reports the policy; *policy.Policy implements it.
type Rules interface {
	Breakers() []policy.BreakerStatus
	Loads() []policy.Load
	Grants() []policy.Grant
	ForgetGrants()
	Reset(server string)
	Explain(policy.ExplainRequest) (policy.Explanation, error)
}

// PolicyStatus is the current state of the policy.
type PolicyStatus struct {
	Breakers []policy.BreakerStatus `json:"breakers" nullable:"false" doc:"Servers whose circuit breaker is open or half-open"`
	Waiting  []policy.Load          `json:"waiting" nullable:"false" doc:"Servers with a concurrency limit and calls that are in flight, queued or rejected by it"`
}

func (a *API) registerPolicy(r *web.Router) {
	web.Op(r, "GET", "/api/v1/policy", "State of circuit breakers and call queues", a.policyStatus)
	web.Op(r, "POST", "/api/v1/policy/try", "Show what argument rules would have done with recorded calls", a.tryRules)
	web.Op(r, "POST", "/api/v1/policy/suggest", "Suggest conditions for an argument rule that matches calls similar to a given call", a.suggestRule)
	web.Op(r, "GET", "/api/v1/explain", "Explain whether the policy would allow a call", a.explain)
	web.Op(r, "GET", "/api/v1/servers/{id}/tools", "All tools of a server, including hidden ones, with their settings", a.listToolSettings)
	web.Op(r, "POST", "/api/v1/servers/{id}/tools", "Change tool settings in the configuration, in a single edit", a.setTools)
	web.Op(r, "GET", "/api/v1/approvals/grants", "Temporary approvals", a.listGrants)
	web.Op(r, "DELETE", "/api/v1/approvals/grants", "Revoke temporary approvals", a.forgetGrants)
}

func (a *API) policyStatus(context.Context, *web.None) (*web.Answer[PolicyStatus], error) {
	return web.Reply(PolicyStatus{Breakers: a.Rules.Breakers(), Waiting: a.Rules.Loads()})
}

type explainInput struct {
	Server string `query:"server" required:"true" minLength:"1" maxLength:"256" server:"name" doc:"Server id or name"`
	Tool   string `query:"tool" required:"true" minLength:"1" maxLength:"1024" doc:"The server's own name for the tool, or its public name"`
	Client string `query:"client" maxLength:"128" doc:"Name of a client's token"`
	// Arguments are JSON text: they may have several readings, which decoding would hide.
	Arguments string `query:"arguments" maxLength:"65536" doc:"Arguments of the call, the text of a JSON object; without them, argument rules with a condition do not apply"`
	Folder    string `query:"folder" maxLength:"4096" doc:"Absolute path of the client's working folder, for argument rules"`
}

func (a *API) explain(_ context.Context, in *explainInput) (*web.Answer[policy.Explanation], error) {
	now := a.ConfigEditor.Current()
	rq := policy.ExplainRequest{Server: in.Server, Tool: in.Tool, Client: in.Client, Workspace: in.Folder, Profile: now.Clients[in.Client].Profile}
	if in.Arguments != "" {
		rq.Arguments = []byte(in.Arguments)
	}
	if rq.Profile == "" && in.Folder != "" {
		rq.Profile = now.ProfileOf(in.Folder)
	}
	if server, ok := now.Server(in.Server); ok {
		rq.Account = now.AccountOf(&server, in.Client, rq.Profile, in.Folder)
	}
	e, err := a.Rules.Explain(rq)
	if err != nil {
		return nil, err
	}
	var first []policy.Verdict
	if st, ok := a.Servers.Status(e.Server); ok {
		first = append(first, explainServer(st))
	}
	if rq.Account != "" {
		first = append(first, policy.Verdict{Name: "account", Result: policy.Pass, Detail: fmt.Sprintf("The call uses the account %q.", rq.Account), Key: "mcpServers." + e.Server + ".accounts." + rq.Account})
	}
	view := a.Views.All()
	if rq.Profile != "" {
		key := "profiles." + rq.Profile + ".folders"
		if now.Clients[in.Client].Profile != "" {
			key = "clients." + in.Client + ".profile"
		}
		var v policy.Verdict
		if view, v = a.explainProfile(rq.Profile, key, e.Server, e.Tool); v.Name != "" {
			first = append(first, v)
		}
	} else if in.Folder == "" {
		first = append(first, a.explainFolders(now.Profiles, e.Server, e.Tool)...)
	}
	e.Checks = append(first, e.Checks...)
	for _, v := range first {
		e.Passes = e.Passes && v.Result != policy.Refuse
	}
	for _, item := range view.Items(core.Tools) {
		if item.Server == e.Server && item.Name == e.Tool {
			e.PublicName = item.Public
		}
	}
	return web.Reply(e)
}

// explainFolders names the profiles without a tool that apply only to the clients in some folders.
func (a *API) explainFolders(profiles []config.Profile, server, tool string) (list []policy.Verdict) {
	for _, p := range profiles {
		if len(p.Folders) == 0 {
			continue
		}
		if _, v := a.explainProfile(p.Name, "profiles."+p.Name+".folders", server, tool); v.Result == policy.Refuse {
			v.Result, v.Detail = policy.Pass, fmt.Sprintf("But in %s, the profile %q applies, which does not contain the tool.", shortPaths(p.Folders), p.Name)
			list = append(list, v)
		}
	}
	return list
}

// shortPaths lists a few paths in one line.
func shortPaths(paths []string) string {
	const most = 3
	if rest := len(paths) - most; rest > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(paths[:most], ", "), rest)
	}
	return strings.Join(paths, ", ")
}

// explainProfile reports whether the profile that the setting key chooses contains a tool, and
// returns what the profile offers. It does not judge a tool that the server is not known to have: the catalog check
// does.
func (a *API) explainProfile(profile, key, server, tool string) (*registry.View, policy.Verdict) {
	v := policy.Verdict{Name: "profile", Result: policy.Refuse, Key: key}
	view, ok := a.Views.Profile(profile, 0)
	if !ok {
		v.Detail = fmt.Sprintf("The profile %q applies, which does not exist.", profile)
		return &registry.View{}, v
	}
	if whole, ok := a.Views.Server(server); ok {
		if target, ok := whole.LookupOwnName(core.Tools, tool); !ok || target.Raw == nil {
			return view, policy.Verdict{}
		}
	}
	holds := func(one registry.Item) bool { return one.Server == server && one.Name == tool }
	if v.Detail = fmt.Sprintf("The client's profile %q hides the tool: it does not contain it.", profile); slices.ContainsFunc(view.Items(core.Tools), holds) {
		v.Result, v.Detail = policy.Pass, fmt.Sprintf("The client's profile %q contains the tool.", profile)
	}
	return view, v
}

// explainServer describes what happens to a call at the server.
func explainServer(st core.ServerStatus) policy.Verdict {
	v := policy.Verdict{Name: "server", Result: policy.Wait}
	switch st.State {
	case core.StateRunning:
		v.Result, v.Detail = policy.Pass, "It is running"
	case core.StateDegraded:
		v.Result, v.Detail = policy.Pass, "It responds, but some of its lists are unavailable"
	case core.StateStopped:
		v.Detail = "It is stopped; the next call starts it"
		if st.ManualOnly {
			v.Result, v.Detail = policy.Refuse, "It is stopped, and a call does not start it; use drawbridge start "+st.ID
		}
	case core.StatePaused:
		v.Result, v.Detail = policy.Refuse, "All servers are paused; use drawbridge resume"
	case core.StateFailed:
		v.Detail = "It has failed; the next call tries to restart it"
	case core.StateDisabled:
		v.Result, v.Detail, v.Key = policy.Refuse, "It is disabled", "mcpServers."+st.Label+".enabled"
	case core.StateNeedsSignIn:
		v.Result, v.Detail = policy.Refuse, "You must sign in to it first"
	case core.StateNeedsApproval:
		v.Result, v.Detail = policy.Refuse, "It does not start until you approve its command"
	default:
		v.Detail = "It is not ready; a call waits for it"
	}
	if st.Reason != "" && st.State != core.StateRunning {
		v.Detail += " (" + strings.TrimSuffix(st.Reason, ".") + ")"
	}
	v.Detail += "."
	return v
}

func (a *API) listGrants(context.Context, *web.None) (*web.Answer[web.List[policy.Grant]], error) {
	return web.Reply(web.List[policy.Grant]{Items: a.Rules.Grants()})
}

func (a *API) forgetGrants(context.Context, *web.None) (*web.None, error) {
	a.Rules.ForgetGrants()
	return &web.None{}, nil
}

// RuleTrial is what rules would have done with recorded calls.
type RuleTrial = history.RuleTrial

type tryRulesInput struct {
	Body struct {
		Rules string `json:"rules,omitempty" maxLength:"1048576" doc:"Text of a configuration file, or of a list of rules; default: the rules in force"`
		YAML  bool   `json:"yaml,omitempty" doc:"Whether rules is YAML"`
		Days  int    `json:"days,omitempty" minimum:"1" maximum:"36500" doc:"Test the calls of this many days; default: 30"`
	}
}

// tryRules decides about recorded calls, as if other rules had been in force.
func (a *API) tryRules(ctx context.Context, in *tryRulesInput) (*web.Answer[RuleTrial], error) {
	now := a.ConfigEditor.Current()
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
	trial, err := history.TryRules(ctx, a.History.Store, policy.NewArgumentRules(rules, now), time.Now().AddDate(0, 0, -in.Body.Days))
	if err != nil {
		return nil, err
	}
	return web.Reply(*trial)
}

// RuleSuggestion contains conditions for a rule about calls like one call.
type RuleSuggestion = history.RuleSuggestion

type suggestRuleInput struct {
	Body struct {
		Call     string `json:"call,omitempty" pattern:"^[0-9]{0,19}$" doc:"Id of a recorded call"`
		Approval string `json:"approval,omitempty" maxLength:"200" doc:"Id of a pending approval"`
	}
}

// suggestRule derives conditions from a recorded or a pending call and from similar calls of 30
// days.
func (a *API) suggestRule(ctx context.Context, in *suggestRuleInput) (*web.Answer[RuleSuggestion], error) {
	like, err := a.recordedOrPendingCall(ctx, in.Body.Call, in.Body.Approval)
	if err != nil {
		return nil, err
	}
	bases := policy.NewArgumentRules(nil, a.ConfigEditor.Current()).RelativeBases(like)
	found, err := history.SuggestRule(ctx, a.History.Store, like, time.Now().AddDate(0, 0, -30), bases)
	if err != nil {
		return nil, err
	}
	// Only what a rule certainly finds in the call: of a server elsewhere, paths are not certain.
	found.Where = slices.DeleteFunc(found.Where, func(where string) bool {
		c, problems := config.ParseCondition([]byte(where))
		return len(problems) > 0 || !policy.Holds(&c, like, a.ConfigEditor.Current())
	})
	return web.Reply(*found)
}

// recordedOrPendingCall returns the call with an id, or the one that waits for an approval, with
// its arguments.
func (a *API) recordedOrPendingCall(ctx context.Context, id, approval string) (*core.Call, error) {
	if approval != "" {
		item, ok := a.Approvals.Inbox.Item(approval)
		if !ok || item.Held == nil {
			return nil, core.Errorf(core.CodeNotFound, "this approval is no longer pending")
		}
		return approvals.HeldCall(&item), nil
	}
	n := web.ParseID(id)
	r, err := a.History.Store.Call(ctx, n)
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
