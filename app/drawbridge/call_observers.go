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

// callObservers groups what processes calls besides the recorder: validation of results, the timeline of
// debugged servers, secrets that must not be recorded, and scheduled checks.
type callObservers struct {
	validator   *history.ResultValidator
	timeline    *history.Timeline
	secrets     *secretFeed
	checkRunner *history.CheckRunner

	views   *registry.Registry
	servers *supervisor.Supervisor
	schemas map[string]serverSchemas // by server; used by changed only
}

func newCallObservers(kept *store.Store, views *registry.Registry, log *slog.Logger, secrets ...SecretHolder) *callObservers {
	return &callObservers{
		validator: history.NewResultValidator(kept.Recorder(), kept, log),
		timeline:  &history.Timeline{Redact: kept.Recorder().Redact},
		secrets:   newSecretFeed(kept.Recorder(), log, secrets...),
		views:     views,
	}
}

// serve sets the servers and the caller. It must be called before the first change of a view.
func (r *callObservers) serve(kept *store.Store, servers *supervisor.Supervisor, calls history.Caller, bus *event.Bus, log *slog.Logger) {
	r.servers = servers
	r.secrets.read = func(failed error) { bus.Publish(event.Health, loginNotice(failed)) }
	r.checkRunner = history.NewCheckRunner(history.CheckRunner{
		Store: kept, Caller: calls, ReadOnly: r.readOnly, Offers: r.offers, Label: r.label, Log: log,
		By: core.Client{Name: "drawbridge-check", Version: version},
		Failed: func(check, sentence string) {
			bus.Publish(event.Health, event.Notice{Subject: "check:" + check, Message: sentence})
		},
	})
}

// serverSchemas are the output schemas of one server's tools, by the tool names of the server.
type serverSchemas struct {
	view   *registry.View // the view that they were read from
	byTool map[string]string
}

// changed updates the schemas after a change of a server's tools. The registry calls it for one
// change at a time. Only servers with a new view are read again.
func (r *callObservers) changed(server string) {
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
	r.validator.SetSchemas(schemas)
	r.checkRunner.Changed(server)
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

// apply applies a new configuration.
func (r *callObservers) apply(c *config.Config) {
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
	r.validator.SetLevels(levels)
	r.timeline.Watch(debugged, c.History.DebugClients)
	r.secrets.apply(c)
}

func (r *callObservers) readOnly(server, tool string) bool {
	return r.views.All().ReadOnly(server, tool)
}

// label returns the display name of a server.
func (r *callObservers) label(server string) string {
	if status, ok := r.servers.Status(server); ok {
		return cmp.Or(status.Label, server)
	}
	return server
}

// offers returns the version and the tools of a server that has been listed in this run.
func (r *callObservers) offers(server string) (string, bool) {
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

// watch returns the bridge's handler with the timeline in front of it.
func (r *callObservers) watch(front *bridge.Bridge) http.Handler {
	return r.timeline.Clients(front, loopback.ClientHeader, front.ClientOf)
}

// start runs the parts, each with a name in life. They stop in reverse order: checks make calls,
// whose results are validated and recorded without the secrets.
func (r *callObservers) start(life *lifecycle) {
	life.run("secrets", time.Second, r.secrets.run)
	life.run("results", time.Second, r.validator.Run)
	life.run("checks", time.Second, r.checkRunner.Run)
}

// keepHistory applies the history settings. In the configuration 0 means no limit.
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
