package api

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/backend/trust"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

func (a *API) getStatus(context.Context, *web.None) (*web.Answer[Status], error) {
	return web.Reply(a.Status())
}

// Status returns the summary of the whole state.
func (a *API) Status() Status {
	st := a.History.Store.Recorder().Stats()
	cfg := a.ConfigEditor.Current()
	s := Status{
		Version: a.Version, URL: a.URL, StartedAt: a.StartedAt, ConfigPath: a.ConfigPath,
		Problems: web.NonNil(a.ConfigEditor.Problems()), RequireToken: cfg.Bridge.RequireToken,
		Recorder: history.RecorderStatus{State: st.State, Queued: st.Queued, Dropped: st.Dropped, Full: a.History.Store.Recording().Full},
		Servers:  web.NonNil(a.Servers.Statuses()), Notices: []core.Notice{},
	}
	s.KnowsReleases = a.KnowsReleases()
	s.Usage = a.Usage(s.Servers)
	s.Visible, s.Withheld, s.Idle = a.visibleTools(cfg, s.Servers), a.Trust.Withheld(), cfg.Idle()
	if st.Reason != "" {
		s.Notices = append(s.Notices, core.Notice{Subject: "history", Message: st.Reason})
	}
	if h := a.History.Store.HeldCalls(); h != nil && h.All {
		s.Notices = append(s.Notices, history.ClockNotice(h))
	}
	if !s.RequireToken {
		s.Notices = append(s.Notices, core.Notice{Subject: "bridge", Message: "The bridge accepts calls without an access token: any program, run by any user of this machine, can call any tool."})
	}
	s.Notices = append(s.Notices, a.Commands.Notices()...)
	s.Notices = append(s.Notices, a.Trust.Notices()...)
	s.Notices = append(s.Notices, a.Observer.Notices()...)
	s.Notices = append(s.Notices, a.Notices()...)
	return s
}

// Idle returns why no server can run.
func (a *API) Idle() config.Idle { return a.ConfigEditor.Current().Idle() }

// VisibleTools counts the tools that clients see, for the servers with hidden tools, by id.
func (a *API) VisibleTools() map[string]int {
	return a.visibleTools(a.ConfigEditor.Current(), a.Servers.Statuses())
}

func (a *API) visibleTools(cfg *config.Config, servers []core.ServerStatus) map[string]int {
	some, changed := map[string]int{}, a.Trust.Withheld()
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
	for _, n := range a.Commands.Notices() {
		if n.Subject == supervisor.PausedSubject {
			reasons = append(reasons, HealthReason{State: n.Subject, Reason: n.Message})
		}
	}
	for _, n := range a.Trust.Notices() {
		reasons = append(reasons, HealthReason{Server: strings.TrimPrefix(n.Subject, trust.WithheldSubject), State: "withheld", Reason: n.Message})
	}
	for _, s := range a.Servers.Statuses() {
		switch {
		case s.State == core.StateRunning, s.State == core.StateStarting, s.State == core.StateStopped, s.State == core.StateDisabled, s.State == core.StatePaused:
		case s.State == core.StateDegraded && resting[s.ID]:
		default:
			reasons = append(reasons, HealthReason{Server: s.ID, State: string(s.State), Reason: s.Reason})
		}
	}
	if st := a.History.Store.Recorder().Stats(); st.State != "recording" {
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

type noticeInput struct {
	Subject string `path:"subject" maxLength:"100"`
}

func (a *API) dismissNotice(_ context.Context, in *noticeInput) (*web.None, error) {
	if !a.Commands.Dismiss(in.Subject) && !a.Observer.Dismiss(in.Subject) {
		return nil, core.Errorf(core.CodeNotFound, "there is no such notice, or it cannot be acknowledged because it describes the current state")
	}
	return &web.None{}, nil
}
