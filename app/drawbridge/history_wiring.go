package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// historyWiring groups what processes calls besides the recorder: validation of results, the
// timeline of debugged servers, and secrets that must not be recorded.
type historyWiring struct {
	validator *history.ResultValidator
	frameLog  *history.FrameLog
	secrets   *recorderRedaction

	views   *registry.Registry
	schemas map[string]cachedSchemas // by server; used by changed only
}

func newHistoryWiring(kept *store.Store, views *registry.Registry, bus *core.Bus, log *slog.Logger, secrets ...SecretHolder) *historyWiring {
	return &historyWiring{
		validator: history.NewResultValidator(kept.Recorder(), kept, log),
		frameLog:  &history.FrameLog{Redact: kept.Recorder().Redact},
		secrets:   newRecorderRedaction(kept.Recorder(), bus, log, secrets...),
		views:     views,
	}
}

// cachedSchemas are the output schemas of one server's tools, by the tool names of the server.
type cachedSchemas struct {
	view   *registry.View // the view that they were read from
	byTool map[string]string
}

// changed updates the schemas after a change of a server's tools. The registry calls it for one
// change at a time. Only servers with a new view are read again.
func (r *historyWiring) changed() {
	offers := r.views.All().Offers()
	read := make(map[string]cachedSchemas, len(offers))
	schemas := make(map[string]map[string]string, len(offers))
	for _, o := range offers {
		view, ok := r.views.Server(o.Server)
		if !ok {
			continue
		}
		known := r.schemas[o.Server]
		if known.view != view {
			known = cachedSchemas{view, outputSchemas(view)}
		}
		read[o.Server] = known
		if len(known.byTool) > 0 {
			schemas[o.Server] = known.byTool
		}
	}
	r.schemas = read
	r.validator.SetSchemas(schemas)
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
func (r *historyWiring) apply(c *config.Config) {
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
	r.frameLog.Watch(debugged, c.History.DebugClients)
	r.secrets.apply(c)
}

// withFrameLog returns the bridge's handler with the frame log in front of it.
func (r *historyWiring) withFrameLog(front *bridge.Bridge) http.Handler {
	return r.frameLog.Clients(front, loopback.ClientHeader, front.ClientOf)
}

// start runs the parts, each with a name in life. They stop in reverse order: results are validated
// and recorded without the secrets.
func (r *historyWiring) start(life *lifecycle) {
	life.run("secrets", time.Second, r.secrets.run)
	life.run("results", time.Second, r.validator.Run)
}

// applyHistorySettings applies the history settings. In the configuration 0 means no limit.
func applyHistorySettings(history *store.Store, c config.History) {
	keep := store.RetentionLimits{Age: c.KeepFor, Bytes: c.MaxBytes}
	if keep.Age == 0 {
		keep.Age = -1
	}
	if keep.Bytes == 0 {
		keep.Bytes = -1
	}
	history.SetRetentionLimits(keep)
	history.Recorder().SetEnabled(c.Enabled)
	history.Recorder().SetMaxField(c.MaxPayload)
	history.Recorder().SetFullSession(c.FullSession)
}
