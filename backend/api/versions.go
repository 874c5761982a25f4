package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/marketplace"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/trust"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// MetadataStore stores small values; *store.Store implements it.
type MetadataStore interface {
	Metadata(ctx context.Context, key string) (value []byte, ok bool, err error)
	SaveMetadata(ctx context.Context, key string, value []byte) error
}

// ServerVersion is the package that a server runs.
type ServerVersion struct {
	Server     string           `json:"server"`
	Known      bool             `json:"known" doc:"Whether the entry runs a package: npx, uvx or an image"`
	Launcher   string           `json:"launcher" enum:",npx,uvx,image"`
	Package    string           `json:"package"`
	Configured string           `json:"configured" doc:"As in the configuration"`
	Pinned     bool             `json:"pinned" doc:"Whether the entry specifies a fixed version"`
	Version    string           `json:"version" doc:"Running version, if known"`
	Source     string           `json:"source" enum:",configuration,process,cache,server,container,image" doc:"Source of version: cache is the newest that was downloaded, server is what the server reports, image is what the image's tag refers to on this machine"`
	Latest     string           `json:"latest" doc:"Newest version in the registry if it was just queried; for an image, the digest of its tag there"`
	Pin        string           `json:"pin" doc:"What pinning would write; empty if there is nothing to pin"`
	Earlier    []EarlierVersion `json:"earlier" nullable:"false" doc:"Previous values, newest first"`

	Comparing *ComparisonProgress `json:"comparing,omitempty" doc:"The comparison that is in progress"`
}

// ComparisonProgress is how far a comparison is.
type ComparisonProgress struct {
	Finished int `json:"finished" doc:"Calls whose results have been compared"`
	Total    int `json:"total" doc:"All calls; 0 while the versions are started"`
}

// EarlierVersion is a previous version in the configuration.
type EarlierVersion struct {
	Configured string    `json:"configured"`
	Until      time.Time `json:"until"`
}

// VersionPlan describes the changes of switching to another version.
type VersionPlan struct {
	ServerVersion
	Key        string             `json:"key" doc:"Identifies this plan in the apply request; empty if nothing was planned"`
	From       string             `json:"from" doc:"Current value in the configuration"`
	To         string             `json:"to" doc:"New value in the configuration"`
	Changes    []trust.ToolChange `json:"changes" nullable:"false" doc:"Tools that are added, removed or changed"`
	Applied    bool               `json:"applied"`
	TrialNs    int64              `json:"trialNs" doc:"How long the trial took"`
	ServerInfo web.JSON           `json:"serverInfo" doc:"Name and version that the candidate reports"`

	Comparison *history.ComparisonReport `json:"comparison,omitempty" doc:"Recorded calls and checks that were sent to both versions"`
}

// candidateVersion is a tried version that waits for confirmation.
type candidateVersion struct {
	key, to string
	spec    marketplace.Spec
	tools   []core.Item
	at      time.Time
}

// isFor reports whether the plan has this key, is recent, and changes what the configuration
// contains.
func (p *candidateVersion) isFor(key string, spec marketplace.Spec) bool {
	return p.key == key && time.Since(p.at) <= planLifetime && spec.Text == p.spec.Text && spec.Arg == p.spec.Arg
}

// versionPlans holds the latest plan of each server for a limited time. The zero value is ready to
// use.
type versionPlans struct {
	mu  sync.Mutex
	all map[string]candidateVersion
	// comparisons has the comparisons in progress.
	comparisons map[string]ComparisonProgress
}

// startComparison returns false if one of this server is in progress.
func (p *versionPlans) startComparison(server string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, busy := p.comparisons[server]; busy {
		return false
	}
	if p.comparisons == nil {
		p.comparisons = map[string]ComparisonProgress{}
	}
	p.comparisons[server] = ComparisonProgress{}
	return true
}

func (p *versionPlans) setComparison(server string, progress ComparisonProgress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.comparisons[server] = progress
}

func (p *versionPlans) endComparison(server string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.comparisons, server)
}

// comparison returns the progress of the comparison of a server, or nil.
func (p *versionPlans) comparison(server string) *ComparisonProgress {
	p.mu.Lock()
	defer p.mu.Unlock()
	if progress, busy := p.comparisons[server]; busy {
		return &progress
	}
	return nil
}

const (
	planLifetime     = 30 * time.Minute
	maxEarlier       = 10
	maxPlans         = 50
	versionKeyPrefix = "version/"
)

func (a *API) registerVersions(r *web.Router) {
	web.Op(r, "GET", "/api/v1/versions", "Packages of all servers with their versions", a.listVersions)
	web.Op(r, "GET", "/api/v1/servers/{id}/version", "Package of a server with its version", a.getVersion)
	web.Op(r, "POST", "/api/v1/servers/{id}/version", "Check for a newer version, compare its tools with the running ones, apply it, pin the version, or roll back", a.changeVersion)
}

func (a *API) listVersions(ctx context.Context, _ *web.None) (*web.Answer[web.List[ServerVersion]], error) {
	list := web.List[ServerVersion]{Items: []ServerVersion{}}
	cfg := a.ConfigEditor.Current()
	for i := range cfg.Servers {
		v, _, err := a.versionOf(ctx, &cfg.Servers[i])
		if err != nil {
			return nil, err
		}
		if v.Known {
			list.Items = append(list.Items, v)
		}
	}
	return web.Reply(list)
}

func (a *API) getVersion(ctx context.Context, in *web.ServerInput) (*web.Answer[ServerVersion], error) {
	s, ok := a.ConfigEditor.Current().Server(in.ID)
	if !ok {
		return nil, web.ErrNoSuchServer
	}
	v, _, err := a.versionOf(ctx, &s)
	if err != nil {
		return nil, err
	}
	return web.Reply(v)
}

func (a *API) versionOf(ctx context.Context, s *config.Server) (ServerVersion, marketplace.Spec, error) {
	v := ServerVersion{Server: s.ID, Earlier: []EarlierVersion{}, Comparing: a.plans.comparison(s.ID)}
	spec, ok := marketplace.Find(s)
	if !ok {
		return v, spec, nil
	}
	v.Known, v.Launcher, v.Package, v.Configured, v.Pinned = true, spec.Launcher, spec.Package, spec.Text, spec.Pinned()
	var pids []int
	if usage, err := a.Usage(s.ID); err == nil {
		for _, p := range usage.Tree {
			pids = append(pids, p.PID)
		}
	}
	st, _ := a.Servers.Status(s.ID)
	home, _ := os.UserHomeDir()
	found := marketplace.Resolve(spec, marketplace.Environment{Home: home, Getenv: os.Getenv}, pids, st.Info)
	if spec.Launcher == marketplace.Image {
		var is marketplace.Resolved
		if is, v.Pin, spec = marketplace.ResolveImage(ctx, s, spec); is.Version != "" {
			found = is
		}
	}
	v.Version, v.Source = found.Version, found.Source
	if !v.Pinned && spec.Launcher != marketplace.Image && (found.Source == marketplace.FromProcess || found.Source == marketplace.FromCache) {
		v.Pin, _ = spec.At(found.Version)
	}
	text, known, err := a.Metadata.Metadata(ctx, versionKeyPrefix+s.ID)
	if err != nil {
		return v, spec, err
	}
	if known {
		_ = json.Unmarshal(text, &v.Earlier) // invalid data is discarded
		v.Earlier = web.NonNil(v.Earlier)
	}
	if len(v.Earlier) > 0 {
		spec = spec.WithImageName(v.Earlier[0].Configured)
	}
	v.Package = spec.Package
	return v, spec, nil
}

// ChangeVersionInputBody says what to do with the version of a server.
type ChangeVersionInputBody struct {
	Action  string `json:"action" enum:"check,plan,compare,apply,pin,rollback" doc:"check queries the registry; plan tries a version alongside the running server; compare sends the newest recorded calls to read-only tools and the saved checks to the planned version and to the current one, and compares the results; apply writes the plan with that key; pin writes the running version; rollback restores the previous value"`
	Version string `json:"version,omitempty" maxLength:"128" doc:"plan: version to try; default: the newest in the registry"`
	Key     string `json:"key,omitempty" maxLength:"64" doc:"compare, apply: key of the plan"`

	Also []string `json:"also,omitempty" maxItems:"100" maxLength:"512" doc:"compare: tools that are called although they are not marked read-only"`
}

type changeVersionInput struct {
	ID   string `path:"id" maxLength:"256" server:"name" doc:"Server id or name"`
	By   string `header:"X-Drawbridge-Client" hidden:"true"` // set by loopback.RequireAdmin
	Body ChangeVersionInputBody
}

func (a *API) changeVersion(ctx context.Context, in *changeVersionInput) (*web.Answer[VersionPlan], error) {
	s, ok := a.ConfigEditor.Current().Server(in.ID)
	if !ok {
		return nil, web.ErrNoSuchServer
	}
	v, spec, err := a.versionOf(ctx, &s)
	if err != nil {
		return nil, err
	}
	if !v.Known {
		return nil, &core.Error{Code: core.CodeValidation, Message: "the server's entry does not run an npx package, a uvx package or an image", Hint: "Drawbridge cannot change its version: update it the way it was installed."}
	}
	out := VersionPlan{ServerVersion: v, From: spec.Text, Changes: []trust.ToolChange{}}
	switch in.Body.Action {
	case "check":
		out.Latest, err = a.latestVersion(ctx, &s, spec)
	case "plan":
		err = a.planVersion(ctx, &s, spec, in.Body.Version, &out)
	case "compare":
		err = a.compareVersions(ctx, &s, in.Body.Key, in.Body.Also, a.clientFor(in.By), &out)
	case "apply":
		err = a.applyVersion(ctx, &s, in.Body.Key, &out)
	case "pin":
		if v.Pin == "" {
			return nil, &core.Error{Code: core.CodeConflict, Message: "there is nothing to pin: the entry already contains a version, or the running version is not known", Hint: "Start the server, or specify a version with: drawbridge versions update " + s.ID + " VERSION"}
		}
		err = a.writeVersion(ctx, &s, spec, v.Pin, &out)
	case "rollback":
		if len(v.Earlier) == 0 {
			return nil, &core.Error{Code: core.CodeConflict, Message: "there is no earlier version to roll back to", Hint: "Specify a version with: drawbridge versions update " + s.ID + " VERSION"}
		}
		err = a.writeVersion(ctx, &s, spec, v.Earlier[0].Configured, &out)
	}
	if err != nil {
		return nil, err
	}
	return web.Reply(out)
}

func (a *API) latestVersion(ctx context.Context, s *config.Server, spec marketplace.Spec) (latest string, err error) {
	if spec.Launcher == marketplace.Image {
		latest, err = marketplace.LatestImage(ctx, s, spec)
	} else {
		latest, err = marketplace.Latest(ctx, s, spec)
	}
	if err != nil {
		return "", &core.Error{Code: core.CodeUnavailable, Message: "cannot determine the newest version: " + a.Redact(err.Error()), Hint: "Specify a version, or try again when the registry responds."}
	}
	return latest, nil
}

// planVersion tries another version beside the running server and compares its tools with the
// trusted ones.
func (a *API) planVersion(ctx context.Context, s *config.Server, spec marketplace.Spec, wanted string, out *VersionPlan) (err error) {
	if wanted == "" {
		if wanted, err = a.latestVersion(ctx, s, spec); err != nil {
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
	select {
	case a.trials <- struct{}{}:
		defer func() { <-a.trials }()
	default:
		return errTooManyTrials
	}
	candidate := spec.Apply(*s, text)
	t := a.Try(ctx, &candidate, s.ID, nil)
	out.TrialNs, out.ServerInfo = int64(t.Took), web.JSON(t.Catalog.Info)
	if t.Err != nil {
		return unusableVersionError(text, &t)
	}
	if out.Changes, err = a.Trust.Compare(ctx, s.ID, t.Catalog.Tools); err != nil {
		return err
	}
	out.Key = hashPlan(text, t.Catalog.Tools)
	a.plans.mu.Lock()
	defer a.plans.mu.Unlock()
	if a.plans.all == nil || len(a.plans.all) >= maxPlans {
		a.plans.all = map[string]candidateVersion{}
	}
	a.plans.all[s.ID] = candidateVersion{out.Key, text, spec, t.Catalog.Tools, time.Now()}
	return nil
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
func (a *API) applyVersion(ctx context.Context, s *config.Server, key string, out *VersionPlan) error {
	a.plans.mu.Lock()
	p, ok := a.plans.all[s.ID]
	delete(a.plans.all, s.ID)
	a.plans.mu.Unlock()
	if spec, _ := marketplace.Find(s); !ok || key == "" || !p.isFor(key, spec) {
		return errPlanOutdated
	}
	if err := a.Trust.AcceptInAdvance(ctx, s.ID, p.tools, "seen before the update to "+p.to); err != nil {
		return err
	}
	return a.writeVersion(ctx, s, p.spec, p.to, out)
}

// writeVersion changes the configuration and stores the previous version.
func (a *API) writeVersion(ctx context.Context, s *config.Server, spec marketplace.Spec, text string, out *VersionPlan) error {
	out.To = text
	a.CommandApprovals.SuppressCommandNotice(s.ID)
	if err := a.ConfigEditor.SetArgument(ctx, s.ID, spec.Arg, spec.Argument(spec.Text), spec.Argument(text)); err != nil {
		return err
	}
	out.Applied = true
	earlier := slices.DeleteFunc(out.Earlier, func(e EarlierVersion) bool { return e.Configured == text || e.Configured == spec.Text })
	earlier = slices.Insert(earlier, 0, EarlierVersion{spec.Text, time.Now().UTC().Truncate(time.Second)})
	out.Earlier = earlier[:min(len(earlier), maxEarlier)]
	value, err := json.Marshal(out.Earlier)
	if err != nil {
		return err
	}
	return a.Metadata.SaveMetadata(ctx, versionKeyPrefix+s.ID, value)
}

// maxRestarts limits how often one instance is started again during a comparison.
const maxRestarts = 5

// comparedInstance is a version of a server during a comparison. It is started again after a call
// without a response, so that one crash does not fail the calls after it. It is not safe for
// concurrent use.
type comparedInstance struct {
	a        *API
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
		ended <- i.a.Try(ctx, i.server, i.id, func(conn upstream.Connection) {
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
