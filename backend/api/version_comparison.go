package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/marketplace"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Limits of a comparison.
const (
	comparisonLimit  = 5 * time.Minute
	maxChangeText    = 2000 // characters of a value in a difference
	maxShownChanges  = 50   // differences of one call
	maxShownUnstable = 50
)

// compareVersions starts the version of a plan and two instances of the current one, sends the
// newest recorded calls and the saved checks to all of them, and compares the results and the
// definitions. Of tools, it sends only calls of those that are read-only in both versions, and of
// those in also. None of the calls is recorded.
func (a *API) compareVersions(ctx context.Context, s *config.Server, key string, also []string, by core.Client, out *VersionPlan) error {
	a.plans.mu.Lock()
	p, ok := a.plans.all[s.ID]
	a.plans.mu.Unlock()
	if spec, _ := marketplace.Find(s); !ok || key == "" || !p.isFor(key, spec) {
		return errPlanOutdated
	}
	if !a.plans.startComparison(s.ID) {
		return errComparing
	}
	defer a.plans.endComparison(s.ID)
	checks, err := a.HistoryStore.SavedChecks(ctx)
	if err != nil {
		return err
	}
	select {
	case a.trials <- struct{}{}:
		defer func() { <-a.trials }()
	default:
		return errTooManyTrials
	}
	out.To, out.Key = p.to, p.key
	if out.Changes, err = a.Trust.Compare(ctx, s.ID, p.tools); err != nil {
		return err
	}
	candidate := p.spec.Apply(*s, p.to)
	ctx, cancel := context.WithTimeout(ctx, comparisonLimit)
	defer cancel()
	r := history.VersionComparison{
		Server: s.ID, By: by,
		NotAllowed: func(tool string) string { return a.mayChangeSomething(s, tool, p.tools, also) },
		Refused: func(tool string, arguments []byte) string {
			return a.policyRefusal(policy.ExplainRequest{Server: s.ID, Tool: tool, Arguments: arguments})
		},
		Progress: func(finished, total int) { a.plans.setComparison(s.ID, ComparisonProgress{finished, total}) },
	}
	calls, err := r.Select(ctx, a.History, checks)
	if err != nil {
		return err
	}
	starter := func(server *config.Server, text string) *comparedInstance {
		return &comparedInstance{a: a, server: server, id: s.ID, text: text}
	}
	old, repeat, other := starter(s, p.spec.Text), starter(s, p.spec.Text), starter(&candidate, p.to)
	defer old.stop()
	defer repeat.stop()
	defer other.stop()
	for _, i := range []*comparedInstance{old, repeat, other} {
		if err := i.start(ctx); err != nil {
			return err
		}
	}
	if hashPlan(p.to, other.conn.Catalog().Tools) != p.key {
		return errPlanOutdated
	}
	r.Old, r.Repeat, r.Candidate = old, repeat, other
	report := r.Run(ctx, calls)
	a.shortenReport(s.ID, &report)
	out.Comparison = &report
	return nil
}

// mayChangeSomething returns why a call of a tool must not be compared, or "".
func (a *API) mayChangeSomething(s *config.Server, tool string, candidate []core.Item, also []string) string {
	if slices.Contains(also, tool) {
		return ""
	}
	if !a.Views.All().ReadOnly(s.ID, tool) {
		return "may have side effects: the tool is not marked read-only"
	}
	at := slices.IndexFunc(candidate, func(i core.Item) bool { return i.Name == tool })
	if at >= 0 && registry.HintsOf(s.Filter, candidate[at]).ReadOnly != registry.Yes {
		return "may have side effects: the other version does not mark the tool read-only"
	}
	return ""
}

// policyRefusal returns why policy refuses a call by the user, or "".
func (a *API) policyRefusal(rq policy.ExplainRequest) string {
	e, err := a.Rules.Explain(rq)
	if err != nil {
		return err.Error()
	}
	for _, v := range e.Checks {
		if v.Result == policy.Refuse {
			return v.Detail
		}
	}
	return ""
}

// shortenReport removes secrets from a report and shortens its values for display.
func (a *API) shortenReport(server string, report *history.ComparisonReport) {
	trial := upstream.TrialID(server)
	clean := func(text string) string { return core.Shorten(a.Redact(text), maxChangeText) }
	for i := range report.Calls {
		c := &report.Calls[i]
		c.Arguments, c.Reason = clean(c.Arguments), clean(strings.ReplaceAll(c.Reason, trial, server))
		c.More = max(len(c.Changes)-maxShownChanges, 0)
		c.Changes = c.Changes[:len(c.Changes)-c.More]
		if more := len(c.Unstable) - maxShownUnstable; more > 0 {
			c.Unstable = append(c.Unstable[:maxShownUnstable], fmt.Sprintf("and %d more", more))
		}
		for j := range c.Changes {
			c.Changes[j].Before, c.Changes[j].After = clean(c.Changes[j].Before), clean(c.Changes[j].After)
		}
	}
}

// Errors of plans and trials.
var (
	errPlanOutdated  = &core.Error{Code: core.CodeConflict, Message: "this plan is out of date", Hint: "Plan the update again."}
	errComparing     = &core.Error{Code: core.CodeConflict, Message: "the versions of this server are already being compared", Hint: "Wait until the comparison has finished.", Retriable: true}
	errTooManyTrials = &core.Error{Code: core.CodeRateLimited, Message: "four servers are already being tested", Hint: "Wait until one of the tests has finished.", Retriable: true}
)

func unusableVersionError(text string, t *upstream.Trial) error {
	return &core.Error{Code: core.CodeUnavailable, Message: fmt.Sprintf("cannot use %s: %s", text, t.Reason), Hint: "Nothing was changed. " + t.Hint, Cause: t.Err}
}
