package marketplace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

type candidateVersion struct {
	key, to string
	spec    Spec
	tools   []core.Item
	at      time.Time
}

// isFor reports whether the plan has this key, is recent, and changes what the configuration
// contains.
func (p *candidateVersion) isFor(key string, spec Spec) bool {
	return p.key == key && time.Since(p.at) <= planLifetime && spec.Text == p.spec.Text && spec.Arg == p.spec.Arg
}

// versionPlans holds the latest plan of each server for a limited time. The zero value is ready to
// use.
type versionPlans struct {
	mu  sync.Mutex
	all map[string]candidateVersion
	// comparisons has the comparisons in progress.
	comparisons map[string]bool
}

// startComparison returns false if one of this server is in progress.
func (p *versionPlans) startComparison(server string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.comparisons[server] {
		return false
	}
	if p.comparisons == nil {
		p.comparisons = map[string]bool{}
	}
	p.comparisons[server] = true
	return true
}

func (p *versionPlans) endComparison(server string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.comparisons, server)
}

const (
	planLifetime = 30 * time.Minute
	maxPlans     = 50
)

func (f *Feature) latestVersion(ctx context.Context, s *config.Server, spec Spec) (latest string, err error) {
	if spec.Launcher == Image {
		latest, err = LatestImage(ctx, s, spec)
	} else {
		latest, err = Latest(ctx, s, spec)
	}
	if err != nil {
		return "", &core.Error{Code: core.CodeUnavailable, Message: "cannot determine the newest version: " + f.Redact(err.Error()), Hint: "Specify a version, or try again when the registry responds."}
	}
	return latest, nil
}

// planVersion tries another version beside the running server and compares its tools with the
// trusted ones.
func (f *Feature) planVersion(ctx context.Context, s *config.Server, spec Spec, wanted string, out *VersionPlan) (err error) {
	if wanted == "" {
		if wanted, err = f.latestVersion(ctx, s, spec); err != nil {
			return err
		}
		out.Latest = wanted
	}
	text, ok := spec.At(wanted)
	if !ok {
		return core.Errorf(core.CodeValidation, "this is not a valid version")
	}
	out.To = text
	if text == spec.Text {
		return nil
	}
	end, err := f.Dialer.BeginTrial()
	if err != nil {
		return err
	}
	defer end()
	candidate := spec.Apply(*s, text)
	t := f.Dialer.Try(ctx, &candidate, s.ID, nil)
	out.TrialNs, out.ServerInfo = int64(t.Took), web.JSON(t.Catalog.Info)
	if t.Err != nil {
		return unusableVersionError(text, &t)
	}
	if out.Changes, err = f.Trust.Compare(ctx, s.ID, t.Catalog.Tools); err != nil {
		return err
	}
	out.Tokens, out.TokensThen = tokensOf(f.Views.All(), s.ID), tokensOf(f.Views.WithTools(s.ID, t.Catalog.Tools), s.ID)
	out.Key = hashPlan(text, t.Catalog.Tools)
	f.plans.mu.Lock()
	defer f.plans.mu.Unlock()
	if f.plans.all == nil || len(f.plans.all) >= maxPlans {
		f.plans.all = map[string]candidateVersion{}
	}
	f.plans.all[s.ID] = candidateVersion{out.Key, text, spec, t.Catalog.Tools, time.Now()}
	return nil
}

// tokensOf estimates the context size of the tools of a server.
func tokensOf(v *registry.View, server string) (sum int) {
	for _, tool := range v.Items(core.Tools) {
		if tool.Server == server {
			sum += bridge.EstimateTokens(len(tool.Raw))
		}
	}
	return sum
}

// hashPlan returns a hash of what the user sees of a plan: the configuration and the tools.
func hashPlan(text string, tools []core.Item) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\x00", text)
	for _, tool := range tools {
		fmt.Fprintf(sum, "%s\x00%s\x00", tool.Name, tool.Raw)
	}
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

// applyVersion applies a plan after its changes of tools were accepted.
func (f *Feature) applyVersion(ctx context.Context, s *config.Server, key string, out *VersionPlan) error {
	f.plans.mu.Lock()
	p, ok := f.plans.all[s.ID]
	delete(f.plans.all, s.ID)
	f.plans.mu.Unlock()
	if spec, _ := Find(s); !ok || key == "" || !p.isFor(key, spec) {
		return errPlanOutdated
	}
	if err := f.Trust.AcceptInAdvance(ctx, s.ID, p.tools, "seen before the update to "+p.to); err != nil {
		return err
	}
	return f.writeVersion(ctx, s, p.spec, p.to, out)
}

// maxRestarts limits how often one instance is started again during a comparison.
const maxRestarts = 5

// comparedInstance is a version of a server during a comparison. It is started again after a call
// without a response, so that one crash does not fail the calls after it. It is not safe for
// concurrent use.
type comparedInstance struct {
	dialer   Dialer
	server   *config.Server
	id, text string // the id of the configured server, and the version

	conn     upstream.Connection
	end      func()
	again    func() error // starts it again
	restarts int
	gone     error // why it was not started again
}

// start starts the server for a trial, which lasts until stop.
func (i *comparedInstance) start(ctx context.Context) error {
	i.again = func() error { return i.start(ctx) }
	started, release, ended := make(chan upstream.Connection), make(chan struct{}), make(chan upstream.Trial, 1)
	go func() {
		ended <- i.dialer.Try(ctx, i.server, i.id, func(conn upstream.Connection) {
			started <- conn
			<-release
		})
	}()
	select {
	case i.conn = <-started:
		i.end = func() { close(release); <-ended }
		return nil
	case t := <-ended:
		return unusableVersionError(i.text, &t)
	}
}

// Catalog returns what the version lists.
func (i *comparedInstance) Catalog() *core.Catalog { return i.conn.Catalog() }

func (i *comparedInstance) stop() {
	if i.end != nil {
		i.end()
		i.end = nil
	}
}

// Send sends a call. The error wraps history.ErrNotSent if the server could not be started again.
func (i *comparedInstance) Send(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
	if i.gone != nil {
		return core.Reply{}, i.gone
	}
	reply, err := i.conn.Send(ctx, call, sink)
	if err == nil {
		return reply, nil
	}
	i.stop()
	if i.restarts++; i.restarts > maxRestarts {
		i.gone = notSent(fmt.Sprintf("%s was restarted %d times and will not be restarted again", i.text, maxRestarts))
	} else if failed := i.again(); failed != nil {
		message, _ := core.Describe(failed)
		i.gone = notSent(message)
	}
	return reply, err
}

func notSent(why string) error {
	return &core.Error{Code: core.CodeUnavailable, Message: why, Cause: history.ErrNotSent}
}

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
func (f *Feature) compareVersions(ctx context.Context, s *config.Server, key string, also []string, by core.Client, out *VersionPlan) error {
	f.plans.mu.Lock()
	p, ok := f.plans.all[s.ID]
	f.plans.mu.Unlock()
	if spec, _ := Find(s); !ok || key == "" || !p.isFor(key, spec) {
		return errPlanOutdated
	}
	if !f.plans.startComparison(s.ID) {
		return errComparing
	}
	defer f.plans.endComparison(s.ID)
	checks, err := f.Store.SavedChecks(ctx)
	if err != nil {
		return err
	}
	end, err := f.Dialer.BeginTrial()
	if err != nil {
		return err
	}
	defer end()
	out.To, out.Key = p.to, p.key
	if out.Changes, err = f.Trust.Compare(ctx, s.ID, p.tools); err != nil {
		return err
	}
	candidate := p.spec.Apply(*s, p.to)
	ctx, cancel := context.WithTimeout(ctx, comparisonLimit)
	defer cancel()
	r := history.VersionComparison{
		Server: s.ID, By: by,
		NotAllowed: func(tool string) string { return f.mayChangeSomething(s, tool, p.tools, also) },
		Refused: func(tool string, arguments []byte) string {
			return f.policyRefusal(policy.ExplainRequest{Server: s.ID, Tool: tool, Arguments: arguments})
		},
	}
	calls, err := r.Select(ctx, f.Store, checks)
	if err != nil {
		return err
	}
	starter := func(server *config.Server, text string) *comparedInstance {
		return &comparedInstance{dialer: f.Dialer, server: server, id: s.ID, text: text}
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
	f.shortenReport(s.ID, &report)
	out.Comparison = &report
	return nil
}

// mayChangeSomething returns why a call of a tool must not be compared, or "".
func (f *Feature) mayChangeSomething(s *config.Server, tool string, candidate []core.Item, also []string) string {
	if slices.Contains(also, tool) {
		return ""
	}
	if !f.Views.All().ReadOnly(s.ID, tool) {
		return "may have side effects: the tool is not marked read-only"
	}
	at := slices.IndexFunc(candidate, func(i core.Item) bool { return i.Name == tool })
	if at >= 0 && registry.HintsOf(s.Filter, candidate[at]).ReadOnly != registry.Yes {
		return "may have side effects: the other version does not mark the tool read-only"
	}
	return ""
}

// policyRefusal returns why policy refuses a call by the user, or "".
func (f *Feature) policyRefusal(rq policy.ExplainRequest) string {
	e, err := f.Rules.Explain(rq)
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
func (f *Feature) shortenReport(server string, report *history.ComparisonReport) {
	trial := upstream.TrialID(server)
	clean := func(text string) string { return core.Shorten(f.Redact(text), maxChangeText) }
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

// Errors of plans.
var (
	errPlanOutdated = &core.Error{Code: core.CodeConflict, Message: "this plan is out of date", Hint: "Plan the update again."}
	errComparing    = &core.Error{Code: core.CodeConflict, Message: "the versions of this server are already being compared", Hint: "Wait until the comparison has finished.", Retriable: true}
)

func unusableVersionError(text string, t *upstream.Trial) error {
	return &core.Error{Code: core.CodeUnavailable, Message: fmt.Sprintf("cannot use %s: %s", text, t.Reason), Hint: "Nothing was changed. " + t.Hint, Cause: t.Err}
}

// writeVersion changes the configuration and stores the previous version.
func (f *Feature) writeVersion(ctx context.Context, s *config.Server, spec Spec, text string, out *VersionPlan) (err error) {
	out.To = text
	f.Servers.SuppressCommandNotice(s.ID)
	if err := f.Config.SetArgument(ctx, s.ID, spec.Arg, spec.Argument(spec.Text), spec.Argument(text)); err != nil {
		return err
	}
	out.Applied = true
	out.Earlier, err = f.saveEarlierVersion(ctx, s.ID, out.Earlier, spec.Text, text)
	return err
}
