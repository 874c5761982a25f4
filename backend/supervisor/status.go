package supervisor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// snapshot is the published state of a server. It is immutable, except for the counters in its
// connections.
type snapshot struct {
	phase   phase
	wanted  bool
	status  core.ServerStatus
	primary *connection
	modern  *connection
	// modernPossible is set while a modern connection is open or may be opened. No attempt begins
	// before modernRetryAfter; modernOpening is when the current attempt began, or zero.
	modernPossible   bool
	modernRetryAfter time.Time
	modernOpening    time.Time
	// retrySoon is set in phaseWaiting if a call waits for the next attempt, which begins within
	// a second.
	retrySoon bool
	// conflicts are the warnings in status that are caused by other servers.
	conflicts []string
	process   upstream.Process
	timings   Timings
	changed   chan struct{} // closed when a newer snapshot is published
}

// publish replaces the snapshot, and publishes an event if the status visibly changed.
func (r *runner) publish() {
	old := r.live.Load()
	l := &snapshot{phase: r.state.phase, wanted: r.wanted, process: r.process, timings: r.timings(), changed: make(chan struct{})}
	l.conflicts, l.retrySoon = r.conflicts(), r.state.phase == phaseWaiting && r.remoteRetry.callWaiting
	l.status = r.status(old.status)
	l.status.Warnings = slices.Concat(l.status.Warnings, l.conflicts)
	if r.state.phase == phaseRunning && r.primary != nil {
		l.primary, l.modern = r.primary, r.secondEra.conn
		l.modernPossible = r.primary.Peer().Era == core.Legacy && r.secondEra.mayOpen()
		l.modernRetryAfter = r.secondEra.retryAfter
		if r.secondEra.opening {
			l.modernOpening = r.secondEra.since
		}
	}
	r.live.Store(l)
	close(old.changed)
	r.logTransition(old.status, l.status)
	switch {
	case !visiblyDiffer(old.status, l.status):
	case r.parent != nil:
		r.parent.publishStatus()
	default:
		r.publishStatus()
	}
}

func (r *shared) publishStatus() {
	if !r.retired.Load() {
		r.s.o.Bus.Publish(core.ServerEvent, r.current(r.live.Load()))
	}
}

// conflicts returns the names of this server that are in conflict with other servers.
func (r *shared) conflicts() []string {
	if r.parent != nil {
		return nil
	}
	return r.s.o.Registry.All().Conflicts(r.id)
}

// PublishStatus publishes the current status of a server. It does not block.
func (s *Supervisor) PublishStatus(id string) {
	if r := s.fleet.Load().byID[id]; r != nil {
		r.post(r.publishStatus)
	}
}

// publishConflicts publishes the servers whose conflicts have changed. It does not block.
func (s *Supervisor) publishConflicts() {
	for _, r := range s.fleet.Load().order {
		if !slices.Equal(r.conflicts(), r.live.Load().conflicts) {
			r.post(r.publish)
		}
	}
}

// logTransition logs a change of state. A crash has level error, because the user has to act.
func (r *shared) logTransition(old, now core.ServerStatus) {
	if old.State == now.State || old.State == "" {
		return
	}
	level := slog.LevelInfo
	if now.State == core.StateFailed {
		level = slog.LevelError
	}
	r.s.o.Log.Log(context.Background(), level, "MCP server changed state", "server", r.id, "state", now.State, "was", old.State, "reason", now.Reason, "instance", r.owner.name)
	r.s.o.Journal(r.id, level, strings.TrimSuffix(fmt.Sprintf("%s%s: %s", now.State, r.instanceSuffix(), now.Reason), ": "))
}

// status returns the status as the runner's goroutine knows it.
func (r *runner) status(old core.ServerStatus) core.ServerStatus {
	c, now := r.config(), time.Now().UTC()
	st := core.ServerStatus{
		ID: r.id, Label: c.Label, Tags: c.Tags, Transport: c.Type,
		Since: now, Updated: old.Updated, Restarts: r.restarts,
		Command: r.process.Command, ExitCode: r.exitCode, Detail: r.detail, Stderr: r.stderr,
	}
	if st.State, st.Reason = r.stateAndReason(c); strings.Contains(st.Reason, clause(r.reason)) { // not a reason from elsewhere
		st.Hint, st.Remedy = r.hint, r.remedy
	}
	st.ManualOnly = st.State == core.StateStopped && c.Start == config.StartManual && !r.idleStopped
	if st.State == old.State && !old.Since.IsZero() {
		st.Since = old.Since
	}
	st.Login, _ = r.login()
	r.completeRemedy(&st)
	if c.Sandbox.On {
		st.Sandbox = c.Sandbox.Mode()
	}
	catalog := r.catalog()
	if l := r.primary; l != nil {
		st.Era, st.Version, st.PID = l.Peer().Era, l.Peer().Version, l.Process.PID
		st.Updated = time.Unix(0, l.lastHeard.Load()).UTC()
	} else if r.state.phase == phaseStarting {
		st.PID = r.process.PID
	}
	if catalog != nil {
		st.Info, st.Warnings = catalog.Info, catalog.Warnings
		st.Tools, st.Prompts = len(catalog.Tools), len(catalog.Prompts)
		st.Resources, st.Templates = len(catalog.Resources), len(catalog.Templates)
	}
	st.Warnings = slices.Concat(st.Warnings, r.process.Warnings)
	return st
}

// completeRemedy sets the remedies that follow from the state, and that of a failure without one.
func (r *shared) completeRemedy(st *core.ServerStatus) {
	switch {
	case st.State == core.StateNeedsSignIn, st.Login == core.LoginNeeded, st.Login == core.LoginMorePermissions:
		st.Remedy = core.SignIn(r.config().SignInID())
	case st.State == core.StateNeedsApproval:
		st.Remedy = core.Remedy{Kind: core.RemedyApprove, Command: "drawbridge approvals"}
	case st.Remedy.Kind == "" && (st.State == core.StateFailed || st.State == core.StateRestarting || st.State == core.StateRunning && st.Reason != ""):
		st.Remedy.Kind = core.RemedySeeLog
	}
	if st.Remedy.Kind == core.RemedySeeLog {
		st.Remedy.Command = "drawbridge logs " + r.id
	}
}

// catalog returns the catalog that clients see: the current one, or the one of an earlier run.
func (r *runner) catalog() *core.Catalog {
	if r.primary != nil {
		return r.primary.Catalog()
	}
	if v, ok := r.s.o.Registry.Server(r.id); ok {
		return v.Offers()[0].Catalog
	}
	return nil
}

// clause returns a reason without the full stop that ends it, which can be that of a server's line of
// stderr, so that the sentence can continue. An ellipsis stays.
func clause(reason string) string {
	if strings.HasSuffix(reason, "..") {
		return reason
	}
	return strings.TrimSuffix(reason, ".")
}

func (r *runner) stateAndReason(c *config.Server) (core.State, string) {
	switch r.state.phase {
	case phaseStarting:
		if r.remoteRetry.unreachable { // still unreachable: do not report each attempt as a new state
			return core.StateWaiting, r.reason
		}
		return core.StateStarting, r.failureSuffix()
	case phaseRunning:
		if r.pingFailed {
			return core.StateDegraded, r.reason
		}
		if login, reason := r.login(); login == core.LoginMorePermissions {
			return core.StateDegraded, reason
		}
		if r.state.failures > 1 { // since it last ran for healthyAfter
			return core.StateRunning, fmt.Sprintf("failed %d times in a row; last failure: %s", r.state.failures, r.lastFailure)
		}
		return core.StateRunning, ""
	case phaseStopping:
		switch {
		case r.state.failed:
			return core.StateRestarting, r.reason
		case r.state.unreachable:
			return core.StateWaiting, r.reason
		case r.wanted:
			return core.StateStarting, "starting again"
		case c.Disabled:
			return core.StateDisabled, "stopping the process"
		case r.s.paused.Load():
			return core.StatePaused, "stopping the process"
		}
		return core.StateStopped, "stopping the process"
	case phaseBackoff:
		return core.StateRestarting, fmt.Sprintf("%s; retrying (attempt %d of %d)", clause(r.reason), r.state.failures+1, r.state.limit)
	case phaseWaiting:
		if r.needsLogin {
			return core.StateNeedsSignIn, r.reason
		}
		return core.StateWaiting, r.reason
	case phaseCrashed:
		if r.state.failures > 1 {
			return core.StateFailed, fmt.Sprintf("%s; gave up after %d starts", clause(r.reason), r.state.failures)
		}
		return core.StateFailed, r.reason
	}
	switch {
	case c.Disabled:
		return core.StateDisabled, ""
	case r.needsApproval.Load():
		return core.StateNeedsApproval, "its new command or sandbox needs your approval"
	case r.s.paused.Load():
		return core.StatePaused, r.s.pauseEnd()
	case r.idleStopped && c.Session == config.SessionPerCall:
		return core.StateStopped, "each call starts its own process"
	case r.idleStopped:
		return core.StateStopped, fmt.Sprintf("idle for %s; starts on the next call", formatDuration(r.idleTimeout()))
	case c.Start == config.StartManual:
		return core.StateStopped, "starts manually"
	case c.Start == config.StartOnDemand:
		return core.StateStopped, "starts on the first call"
	case !r.wanted && !r.closing:
		return core.StateStopped, "stopped by the user; starts on the next call"
	}
	return core.StateStopped, ""
}

// formatDuration formats d without trailing zero units: 10m, not 10m0s.
func formatDuration(d time.Duration) string {
	text := d.Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// failureSuffix describes the failure before the current start, or returns "".
func (r *runner) failureSuffix() string {
	if r.state.failures == 0 || r.reason == "" {
		return ""
	}
	return fmt.Sprintf("attempt %d of %d; last failure: %s", r.state.failures+1, r.state.limit, r.reason)
}

// current returns the snapshot's status with the fields that change without being published.
func (r *shared) current(l *snapshot) core.ServerStatus {
	st := l.status
	st.InFlight = l.inFlight() + len(r.perCall.slots)
	if heard := lastHeard(l); heard.After(st.Updated) {
		st.Updated = heard
	}
	r.addInstances(&st)
	if st.State == core.StateRunning && r.s.o.Impaired != nil {
		if reason := r.s.o.Impaired(r.id); reason != "" {
			st.State, st.Reason = core.StateDegraded, reason
		}
	}
	if st.Updated.IsZero() {
		st.Updated = st.Since
	}
	return st
}

func (l *snapshot) inFlight() (n int) {
	for _, link := range []*connection{l.primary, l.modern} {
		if link != nil {
			n += int(link.inFlight.Load())
		}
	}
	return n
}

// lastHeard returns when the server last sent anything over its open connections.
func lastHeard(l *snapshot) (last time.Time) {
	for _, link := range []*connection{l.primary, l.modern} {
		if link == nil {
			continue
		}
		if at := time.Unix(0, link.lastHeard.Load()).UTC(); at.After(last) {
			last = at
		}
	}
	return last
}

// visiblyDiffer reports whether two statuses differ in a field that the user sees.
func visiblyDiffer(a, b core.ServerStatus) bool {
	return a.State != b.State || a.Reason != b.Reason || a.Hint != b.Hint || a.Remedy != b.Remedy || a.Label != b.Label || a.PID != b.PID ||
		a.Tools != b.Tools || a.Prompts != b.Prompts || a.Resources != b.Resources || a.Templates != b.Templates ||
		a.Restarts != b.Restarts || a.Sandbox != b.Sandbox || a.Login != b.Login || a.Detail != b.Detail || a.Command != b.Command || a.Era != b.Era || a.Version != b.Version ||
		!slices.Equal(a.Tags, b.Tags) || !slices.Equal(a.Warnings, b.Warnings) || !slices.Equal(a.Stderr, b.Stderr)
}

// Statuses returns the status of every server, in the order of the configuration, followed by
// those whose configuration is invalid.
func (s *Supervisor) Statuses() []core.ServerStatus {
	fl := s.fleet.Load()
	list := make([]core.ServerStatus, 0, len(fl.order)+len(fl.broken))
	for _, r := range fl.order {
		list = append(list, r.current(r.live.Load()))
	}
	return append(list, fl.broken...)
}

// Status returns the status of a server, and whether there is one.
func (s *Supervisor) Status(id string) (core.ServerStatus, bool) {
	fl := s.fleet.Load()
	if r := fl.byID[id]; r != nil {
		return r.current(r.live.Load()), true
	}
	for _, b := range fl.broken {
		if b.ID == id {
			return b, true
		}
	}
	return core.ServerStatus{}, false
}

// reportsBroken reports whether f has the server as broken for the same reason.
func (f *fleet) reportsBroken(b core.ServerStatus) bool {
	return slices.ContainsFunc(f.broken, func(o core.ServerStatus) bool { return o.ID == b.ID && o.Reason == b.Reason })
}

const debugLines = 20

// Debug is the information that helps the user to debug a server. It contains no values of
// variables. Frames are the messages as they were exchanged, secrets included.
type Debug struct {
	Status       core.ServerStatus `json:"status"`
	Configured   string            `json:"configured"`           // the command as configured
	Session      string            `json:"session"`              // which calls share a process
	Start        string            `json:"start"`                // when the server is started
	Framing      string            `json:"framing"`              // message framing, as configured
	Path         string            `json:"path,omitempty"`       // the resolved executable
	SearchPath   string            `json:"searchPath,omitempty"` // the PATH that was searched
	Dir          string            `json:"dir,omitempty"`        // working directory; "" is that of Drawbridge
	Environment  []string          `json:"environment"`          // names
	Processes    []process.Proc    `json:"processes"`            // of all instances
	Capabilities json.RawMessage   `json:"capabilities,omitempty"`
	Instructions string            `json:"instructions,omitempty"`
	BothEras     bool              `json:"bothEras"` // a second connection, in the modern era, is open
	Stderr       []string          `json:"stderr"`   // the last 20 lines, cleaned by serverlog.Clean
	Frames       []upstream.Frame  `json:"frames"`   // the last 5 of the newest connection, 10 over HTTP
	Timings      Timings           `json:"timings"`
}

// Timings are points in time and durations. Zero means "not yet".
type Timings struct {
	Began       time.Time     `json:"began"`        // when the newest start began
	StartTook   time.Duration `json:"startTookNs"`  // duration of the newest successful start, until the catalog was read
	ListedAt    time.Time     `json:"listedAt"`     // when a list was last read
	LastMessage time.Time     `json:"lastMessage"`  // when the server last sent anything
	LastCall    time.Time     `json:"lastCall"`     // when the server was last called or started
	PingTook    time.Duration `json:"pingTookNs"`   // round-trip time of the newest answered ping
	NextLaunch  time.Duration `json:"nextLaunchNs"` // in backoff: delay before the next start, without jitter
}

// Debug returns the debug information of a server. For a server whose configuration is invalid,
// only Status is set.
func (s *Supervisor) Debug(id string) (Debug, error) {
	fl := s.fleet.Load()
	r := fl.byID[id]
	if r == nil {
		st, ok := s.Status(id)
		if !ok {
			return Debug{}, fl.unknownError(id)
		}
		return Debug{Status: st, Environment: []string{}, Processes: []process.Proc{}, Stderr: []string{}, Frames: []upstream.Frame{}}, nil
	}
	l := r.live.Load()
	p, c := r.mostRecentSnapshot().process, r.config()
	d := Debug{
		Status: r.current(l), Configured: configText(c), Session: cmp.Or(c.Session, config.SessionShared), Start: cmp.Or(c.Start, config.StartAuto),
		Framing: cmp.Or(c.Framing, config.FramingAuto),
		Path:    p.Path, SearchPath: p.SearchPath, Dir: p.Dir, Environment: orEmpty(p.Environment), Processes: []process.Proc{},
		BothEras: l.modern.usable(), Stderr: orEmpty(s.o.LastLines(id, debugLines, time.Time{})), Frames: []upstream.Frame{}, Timings: l.timings,
	}
	if p.Frames != nil {
		d.Frames = p.Frames()
	}
	if u, err := s.o.Usage(id); err == nil {
		d.Processes = orEmpty(u.Tree)
	}
	if l.primary != nil {
		c := l.primary.Catalog()
		d.Capabilities, d.Instructions, d.Timings.ListedAt = c.Capabilities, c.Instructions, c.ListedAt
		d.Timings.LastMessage = lastHeard(l)
	}
	if used := r.lastUsed.Load(); used > 0 {
		d.Timings.LastCall = time.Unix(0, used).UTC()
	}
	return d, nil
}

// mostRecentSnapshot returns the snapshot of the runner that was used last: the server's own
// runner or one of its instances.
func (r *runner) mostRecentSnapshot() *snapshot {
	latest := r
	for _, one := range r.instances() {
		if one.lastUsed.Load() > latest.lastUsed.Load() && one.live.Load().process.Frames != nil {
			latest = one
		}
	}
	return latest.live.Load()
}

// configText returns the command or the URL without its query, as in the configuration.
func configText(c *config.Server) string {
	if c.URL != "" {
		address, _, _ := strings.Cut(c.URL, "?")
		return address
	}
	return commandText(c)
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func (r *runner) timings() Timings {
	t := Timings{StartTook: r.startDuration, PingTook: r.pingDuration}
	if !r.startedAt.IsZero() {
		t.Began = r.startedAt.UTC()
	}
	if r.state.phase == phaseBackoff {
		t.NextLaunch = backoff(r.config().Restart, r.state.failures)
	}
	return t
}
