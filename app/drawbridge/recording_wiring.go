package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/event"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// records is what looks at calls besides the recorder: results that do not fit, the
// messages of those that somebody debugs, secrets that must not be kept, checks that run
// by themselves.
type records struct {
	judge    *history.Judge
	timeline *history.Timeline
	keeper   *secretFeed
	watchman *history.Watchman

	views   *registry.Registry
	servers *supervisor.Supervisor
	schemas map[string]serverSchemas // by server; only changed uses it
}

func newRecords(kept *store.Store, views *registry.Registry, log *slog.Logger, secrets ...SecretHolder) *records {
	return &records{
		judge:    history.NewJudge(kept.Recorder(), kept, log),
		timeline: &history.Timeline{Redact: kept.Recorder().Redact},
		keeper:   newSecretFeed(kept.Recorder(), log, secrets...),
		views:    views,
	}
}

// serve is told who makes calls. It must come before the first change of a view.
func (r *records) serve(kept *store.Store, servers *supervisor.Supervisor, calls history.Caller, bus *event.Bus, log *slog.Logger) {
	r.servers = servers
	r.keeper.read = func(failed error) { bus.Publish(event.Health, loginNotice(failed)) }
	r.watchman = history.NewWatchman(history.Watchman{
		Documents: kept, Caller: calls, ReadOnly: r.readOnly, Offers: r.offers, Label: r.label, Log: log,
		By: core.Client{Name: "drawbridge-check", Version: version},
		Failed: func(check, sentence string) {
			bus.Publish(event.Health, event.Notice{Subject: "check:" + check, Message: sentence})
		},
	})
}

// serverSchemas are the outputSchemas of one server's tools, by the server's names for them.
type serverSchemas struct {
	view   *registry.View // that they were read from
	byTool map[string]string
}

// changed takes what a server offers now. The registry calls it, one change at a time, while
// all who write to it wait: only servers whose view is another one are read again.
func (r *records) changed(server string) {
	offers := r.views.All().Offers()
	read := make(map[string]serverSchemas, len(offers))
	schemas := make(map[string]map[string]string, len(offers))
	for _, o := range offers {
		view, ok := r.views.Server(o.Server)
		if !ok {
			continue
		}
		known := r.schemas[o.Server]
		if known.view != view {
			known = serverSchemas{view, outputSchemas(view)}
		}
		read[o.Server] = known
		if len(known.byTool) > 0 {
			schemas[o.Server] = known.byTool
		}
	}
	r.schemas = read
	r.judge.SetSchemas(schemas)
	r.watchman.Changed(server)
}

func outputSchemas(view *registry.View) map[string]string {
	schemas := make(map[string]string)
	for _, item := range view.Items(core.Tools) {
		if !bytes.Contains(item.Raw, []byte(`"outputSchema"`)) {
			continue
		}
		var about struct {
			OutputSchema json.RawMessage `json:"outputSchema"`
		}
		if json.Unmarshal(item.Raw, &about) == nil && len(about.OutputSchema) > 0 {
			schemas[item.Name] = string(about.OutputSchema)
		}
	}
	return schemas
}

// apply takes a new configuration.
func (r *records) apply(c *config.Config) {
	levels := make(map[string]string)
	var debugged []string
	for i := range c.Servers {
		s := &c.Servers[i]
		if s.ValidateOutput != config.ValidateOff {
			levels[s.ID] = s.ValidateOutput
		}
		if s.Debug {
			debugged = append(debugged, s.ID)
		}
	}
	r.judge.SetLevels(levels)
	r.timeline.Watch(debugged, c.History.DebugClients)
	r.keeper.apply(c)
}

func (r *records) readOnly(server, tool string) bool {
	return r.views.All().ReadOnly(server, tool)
}

// label is what the user calls a server.
func (r *records) label(server string) string {
	if status, ok := r.servers.Status(server); ok {
		return cmp.Or(status.Label, server)
	}
	return server
}

// offers is the version and the tools of a server that has been listed in this run.
func (r *records) offers(server string) (string, bool) {
	status, ok := r.servers.Status(server)
	view, listed := r.views.Server(server)
	if !ok || !listed || status.State != core.StateRunning {
		return "", false
	}
	var info struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	_ = json.Unmarshal(status.Info, &info)
	return info.Name + " " + info.Version + " " + view.Hash(), true
}

// watch puts the timeline before the bridge.
func (r *records) watch(front *bridge.Bridge) http.Handler {
	return r.timeline.Clients(front, loopback.ClientHeader, front.ClientOf)
}

// start runs the parts; each is named in life. They stop in the reverse order: checks
// make calls, whose results are judged and recorded without the secrets.
func (r *records) start(life *lifecycle) {
	life.run("secrets", time.Second, r.keeper.run)
	life.run("results", time.Second, r.judge.Run)
	life.run("checks", time.Second, r.watchman.Run)
}

// keepHistory applies what the configuration says of the history: there, 0 is no bound.
func keepHistory(history *store.Store, c config.History) {
	keep := store.RetentionLimits{Age: c.KeepFor, Bytes: c.MaxBytes}
	if keep.Age == 0 {
		keep.Age = -1
	}
	if keep.Bytes == 0 {
		keep.Bytes = -1
	}
	history.SetKeep(keep)
	history.Recorder().SetEnabled(c.Enabled)
	history.Recorder().SetMaxField(c.MaxPayload)
}
