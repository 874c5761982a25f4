package api

import (
	"context"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/config"
)

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
func (a *API) tryRules(ctx context.Context, in *tryRulesInput) (*answer[RuleTrial], error) {
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
	trial, err := history.TryRules(ctx, a.History, policy.NewArgumentRules(rules, now), time.Now().AddDate(0, 0, -in.Body.Days))
	if err != nil {
		return nil, err
	}
	return reply(*trial)
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
func (a *API) suggestRule(ctx context.Context, in *suggestRuleInput) (*answer[RuleSuggestion], error) {
	like, err := a.recordedOrPendingCall(ctx, in.Body.Call, in.Body.Approval)
	if err != nil {
		return nil, err
	}
	bases := policy.NewArgumentRules(nil, a.ConfigEditor.Current()).RelativeBases(like)
	found, err := history.SuggestRule(ctx, a.History, like, time.Now().AddDate(0, 0, -30), bases)
	if err != nil {
		return nil, err
	}
	// Only what a rule certainly finds in the call: of a server elsewhere, paths are not certain.
	found.Where = slices.DeleteFunc(found.Where, func(where string) bool {
		c, problems := config.ParseCondition([]byte(where))
		return len(problems) > 0 || !a.holds(&c, like)
	})
	return reply(*found)
}

// recordedOrPendingCall returns the call with an id, or the one that waits for an approval, with
// its arguments.
func (a *API) recordedOrPendingCall(ctx context.Context, id, approval string) (*core.Call, error) {
	if approval != "" {
		item, ok := a.Approvals.Item(approval)
		if !ok || item.Held == nil {
			return nil, core.Errorf(core.CodeNotFound, "this approval is no longer pending")
		}
		return heldCall(&item), nil
	}
	n := parseID(id)
	r, err := a.History.Call(ctx, n)
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

// holds reports whether a condition certainly holds for a call.
func (a *API) holds(c *config.Condition, call *core.Call) bool {
	rules := policy.NewArgumentRules([]config.ArgumentRule{{Where: c, Then: config.RuleAllow}}, a.ConfigEditor.Current())
	then, _, _ := rules.Decide(call)
	return then == config.RuleAllow
}
