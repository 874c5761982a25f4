package api

import (
	"context"
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
		Days  int    `json:"days,omitempty" minimum:"1" maximum:"36500" doc:"Try the calls of this many days; default: 30"`
	}
}

// tryRules decides about recorded calls, as if other rules had been in force.
func (a *API) tryRules(ctx context.Context, in *tryRulesInput) (*answer[RuleTrial], error) {
	now := a.Files.Current()
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
