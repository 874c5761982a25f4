package api

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/sandbox"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/backend/trust"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

func (a *API) status(context.Context, *web.None) (*web.Answer[Status], error) {
	return web.Reply(a.statusNow())
}

func (a *API) statusNow() Status {
	st := a.Recorder.Stats()
	cfg := a.ConfigEditor.Current()
	s := Status{
		Version: a.Version, URL: a.URL, StartedAt: a.StartedAt, ConfigPath: a.ConfigPath,
		Problems: web.NonNil(a.ConfigEditor.Problems()), RequireToken: cfg.Bridge.RequireToken,
		Recorder: RecorderStatus{State: st.State, Queued: st.Queued, Dropped: st.Dropped, Full: a.HistoryStore.Recording().Full},
		Servers:  web.NonNil(a.Servers.Statuses()), Notices: []core.Notice{},
	}
	s.KnowsReleases = a.KnowsReleases()
	s.Usage = a.usageOf(s.Servers)
	s.Visible, s.Withheld, s.Idle = a.visibleTools(cfg, s.Servers), a.withheldCounts(), cfg.Idle()
	if st.Reason != "" {
		s.Notices = append(s.Notices, core.Notice{Subject: "history", Message: st.Reason})
	}
	if h := a.HistoryStore.HeldCalls(); h != nil && h.All {
		s.Notices = append(s.Notices, clockNotice(h))
	}
	if !s.RequireToken {
		s.Notices = append(s.Notices, core.Notice{Subject: "bridge", Message: "The bridge accepts calls without a token: any program, run by any user of this machine, can call any tool."})
	}
	s.Notices = append(s.Notices, a.CommandApprovals.Notices()...)
	s.Notices = append(s.Notices, a.withheldNotices()...)
	s.Notices = append(s.Notices, a.Observer.Notices()...)
	s.Notices = append(s.Notices, a.Notices()...)
	return s
}

const withheldSubject = "withheld/"

// withheldCounts counts the definitions of each server that no client sees until the user accepts
// their change.
func (a *API) withheldCounts() map[string]int {
	counts := map[string]int{}
	for _, c := range a.Trust.Waiting() {
		counts[c.Server]++
	}
	return counts
}

func (a *API) withheldNotices() (list []core.Notice) {
	counts := a.withheldCounts()
	for _, server := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, core.Notice{Subject: withheldSubject + server,
			Message: fmt.Sprintf("%s of server %q withheld from clients. Review: drawbridge tools changes %s.", core.Plural(counts[server], "changed definition"), server, server)})
	}
	return list
}

// Idle returns why no server can run.
func (a *API) Idle() config.Idle { return a.ConfigEditor.Current().Idle() }

// VisibleTools counts the tools that clients see, for the servers with hidden tools, by id.
func (a *API) VisibleTools() map[string]int {
	return a.visibleTools(a.ConfigEditor.Current(), a.Servers.Statuses())
}

func (a *API) visibleTools(cfg *config.Config, servers []core.ServerStatus) map[string]int {
	some, changed := map[string]int{}, a.withheldCounts()
	for i := range servers {
		if c, ok := cfg.Server(servers[i].ID); ok && (c.Filter != nil || changed[c.ID] > 0) && servers[i].Tools > 0 && !c.Disabled {
			some[c.ID] = 0
		}
	}
	if len(some) == 0 {
		return nil
	}
	for _, item := range a.Views.All().Items(core.Tools) {
		if _, asked := some[item.Server]; asked {
			some[item.Server]++
		}
	}
	for i := range servers {
		if n, asked := some[servers[i].ID]; asked && n >= servers[i].Tools {
			delete(some, servers[i].ID)
		}
	}
	return some
}

// health is public. With a token or session it reports which servers have problems and why;
// without, only codes and counts, because a reason may contain an address, a command or a path.
func (a *API) health(w http.ResponseWriter, r *http.Request) {
	h := Health{Status: "ok", Version: a.Version, Reasons: a.healthReasons()}
	if len(h.Reasons) > 0 {
		h.Status = "degraded"
	}
	if !a.isAuthenticated(w, r) {
		h.Reasons = summarizeReasons(h.Reasons)
	}
	w.Header().Set("Content-Type", "application/json")
	web.NoStore(w.Header())
	_ = json.NewEncoder(w).Encode(h)
}

func (a *API) healthReasons() []HealthReason {
	reasons := []HealthReason{}
	resting := map[string]bool{} // servers that are degraded by an open breaker
	for _, b := range a.Rules.Breakers() {
		resting[b.Server] = true
		reasons = append(reasons, HealthReason{Server: b.Server, State: "breaker", Reason: b.Reason})
	}
	for _, n := range a.CommandApprovals.Notices() {
		if n.Subject == supervisor.PausedSubject {
			reasons = append(reasons, HealthReason{State: n.Subject, Reason: n.Message})
		}
	}
	for _, n := range a.withheldNotices() {
		reasons = append(reasons, HealthReason{Server: strings.TrimPrefix(n.Subject, withheldSubject), State: "withheld", Reason: n.Message})
	}
	for _, s := range a.Servers.Statuses() {
		switch {
		case s.State == core.StateRunning, s.State == core.StateStarting, s.State == core.StateStopped, s.State == core.StateDisabled, s.State == core.StatePaused:
		case s.State == core.StateDegraded && resting[s.ID]:
		default:
			reasons = append(reasons, HealthReason{Server: s.ID, State: string(s.State), Reason: s.Reason})
		}
	}
	if st := a.Recorder.Stats(); st.State != "recording" {
		reasons = append(reasons, HealthReason{State: "history", Reason: st.Reason})
	}
	if wrong := countErrors(a.ConfigEditor.Problems()); wrong > 0 {
		reasons = append(reasons, HealthReason{State: "config", Reason: "the configuration has errors: " + strconv.Itoa(wrong)})
	}
	return reasons
}

// summarizeReasons counts reasons by state and omits names and texts.
func summarizeReasons(reasons []HealthReason) []HealthReason {
	out := []HealthReason{}
	for _, r := range reasons {
		i := slices.IndexFunc(out, func(o HealthReason) bool { return o.State == r.State })
		if i < 0 {
			i = len(out)
			out = append(out, HealthReason{State: r.State, Reason: r.State})
		}
		out[i].Count++
	}
	return out
}

func countErrors(problems []config.Problem) (n int) {
	for _, p := range problems {
		if !p.Warning {
			n++
		}
	}
	return n
}

var _ Observer = (*sandbox.DestinationSampler)(nil)

// RecentChange is a change of a server in the last days.
type RecentChange struct {
	At     time.Time `json:"at"`
	Server string    `json:"server"`
	Kind   string    `json:"kind" enum:"server,version,command,tool,definition,warning,destination"`
	Name   string    `json:"name" doc:"Of the tool or other definition, or the destination"`
	Action string    `json:"action" enum:"new,changed,accepted,blocked,returned,warned"`
	Detail string    `json:"detail"`
}

// Limits of recent changes.
const (
	maxRecentDays    = 90
	maxRecentChanges = 1000
)

func (a *API) registerObservations(r *web.Router) {
	web.Op(r, "GET", "/api/v1/servers/{id}/destinations", "Hosts and ports that the processes of a server connect to", a.destinations)
	web.Op(r, "GET", "/api/v1/recent-changes", "What changed in recent days: versions, definitions, new tools and new destinations, newest first", a.recentChanges)
}

type recentInput struct {
	Server string `query:"server" maxLength:"256" server:"name" doc:"Only this server, by id or name"`
	Days   int    `query:"days" minimum:"1" maximum:"90" default:"7"`
}

func (a *API) recentChanges(ctx context.Context, in *recentInput) (*web.Answer[web.List[RecentChange]], error) {
	since := time.Now().AddDate(0, 0, -min(in.Days, maxRecentDays))
	list := []RecentChange{}
	for before := int64(0); len(list) < maxRecentChanges; {
		events, next, err := a.Trust.Events(ctx, in.Server, before, 500)
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			if e.At.Before(since) {
				next = 0
				break
			}
			list = append(list, recentChange(e))
		}
		if before = next; before == 0 {
			break
		}
	}
	found, err := a.Observer.Destinations(ctx, in.Server)
	if err != nil {
		return nil, err
	}
	for _, d := range found {
		if !d.FirstAt.Before(since) {
			list = append(list, RecentChange{At: d.FirstAt, Server: d.Server, Kind: "destination", Name: destinationName(d), Action: trust.EventNew})
		}
	}
	slices.SortStableFunc(list, func(x, y RecentChange) int { return y.At.Compare(x.At) })
	return web.Reply(web.List[RecentChange]{Items: list[:min(len(list), maxRecentChanges)]})
}

func recentChange(e trust.Event) RecentChange {
	c := RecentChange{At: e.At, Server: e.Server, Kind: "definition", Name: e.Name, Action: e.Action, Detail: e.Detail}
	switch {
	case e.Kind == trust.Server && e.Name == trust.VersionName:
		c.Kind, c.Name = "version", ""
	case e.Kind == trust.Server && e.Action == trust.EventNew:
		c.Kind = "server"
	case e.Kind == trust.Server:
		c.Kind = "command"
	case e.Action == trust.EventWarned:
		c.Kind = "warning"
	case e.Kind == trust.Tool && e.Action == trust.EventNew:
		c.Kind = "tool"
	case e.Kind == trust.Instructions:
		c.Name = "instructions"
	case e.Kind != trust.Tool:
		c.Name = e.Kind + " " + e.Name
	}
	return c
}

// Observer reports where servers connect to; *observe.Sampler implements it.
type Observer interface {
	Available(server string) (ok bool, why string)
	Destinations(ctx context.Context, server string) ([]store.Destination, error)
	Renamed(from, to string)
	Notices() []core.Notice
	Dismiss(subject string) bool
}

// Destinations is where the processes of a server connect to.
type Destinations struct {
	Available bool                `json:"available" doc:"Whether connections of this server can be observed"`
	Reason    string              `json:"reason" doc:"Why not, in one sentence"`
	Items     []store.Destination `json:"items" nullable:"false" doc:"Newest first"`
}

func (a *API) destinations(ctx context.Context, in *web.ServerInput) (*web.Answer[Destinations], error) {
	if _, ok := a.Servers.Status(in.ID); !ok {
		return nil, web.ErrNoSuchServer
	}
	d := Destinations{Items: []store.Destination{}}
	d.Available, d.Reason = a.Observer.Available(in.ID)
	list, err := a.Observer.Destinations(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	d.Items = web.NonNil(list)
	return web.Reply(d)
}

func destinationName(d store.Destination) string {
	text := net.JoinHostPort(d.Host, strconv.Itoa(d.Port))
	if d.Protocol != "tcp" {
		text += "/" + d.Protocol
	}
	return text
}
