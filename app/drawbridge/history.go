package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/cassette"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
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

func (r *historyWiring) withFrameLog(front *bridge.Bridge) http.Handler {
	return r.frameLog.Clients(front, loopback.ClientHeader, front.ClientOf)
}

// start runs the parts, each with a name in life. They stop in reverse order: results are validated
// and recorded without the secrets.
func (r *historyWiring) start(life *lifecycle) {
	life.run("secrets", time.Second, r.secrets.run)
	life.run("results", time.Second, r.validator.Run)
}

// restoreTasks lets clients fetch the tasks that they created before a restart of Drawbridge. Tasks
// of calls that were not recorded are unknown.
func restoreTasks(ctx context.Context, history *store.Store, front *bridge.Bridge, log *slog.Logger) {
	tasks, err := history.Tasks(ctx, front.Now().Add(-bridge.MaxTaskLife), bridge.MaxRestoredTasks)
	if err != nil {
		log.Warn("Cannot read the tasks from the history", "error", err)
	}
	front.RestoreTasks(tasks)
}

const clientsKey = "clients" // of the metadata

// restoreClients adds the clients of earlier runs, so that what they support is known.
func restoreClients(ctx context.Context, history *store.Store, front *bridge.Bridge, log *slog.Logger) {
	var clients []bridge.ClientInfo
	text, known, err := history.Metadata(ctx, clientsKey)
	if err == nil && known {
		err = json.Unmarshal(text, &clients)
	}
	if err != nil {
		log.Warn("Cannot read the clients of earlier runs", "error", err)
	}
	front.RestoreClients(clients)
}

// saveClients implements bridge.Options.SaveClients.
func saveClients(history *store.Store, log *slog.Logger) func([]bridge.ClientInfo) {
	return func(clients []bridge.ClientInfo) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		text, err := json.Marshal(clients)
		if err == nil {
			err = history.SaveMetadata(ctx, clientsKey, text)
		}
		if err != nil {
			log.Warn("Cannot store the clients", "error", err)
		}
	}
}

// recordingOf returns a function that reads the calls of a replay server from the history.
func recordingOf(kept *store.Store) func(context.Context, config.Replay) (*cassette.Recording, error) {
	return func(ctx context.Context, r config.Replay) (*cassette.Recording, error) {
		rec, err := history.ReadRecording(ctx, kept, store.Query{Server: r.Server, Session: r.Session, Account: r.Account, Tag: r.Tag, From: r.Since, To: r.Until})
		if own, ok := errors.AsType[*core.Error](err); ok && own.Code == core.CodeNotFound {
			return nil, &core.Error{Code: core.CodeValidation, Message: own.Message, Hint: own.Hint} // another attempt would find as little
		}
		return rec, err
	}
}

// storedResult returns the function that reads complete results from the history.
func storedResult(history *store.Store) func(context.Context, int64) (*core.Call, json.RawMessage, error) {
	return func(ctx context.Context, id int64) (*core.Call, json.RawMessage, error) {
		record, err := history.Call(ctx, id)
		switch {
		case err != nil:
			return nil, nil, err
		case record.ReplyCut != nil || len(record.Result) == 0:
			return nil, nil, core.Errorf(core.CodeNotFound, "the result of call %d is not recorded", id)
		}
		return &record.Call, record.Result, nil
	}
}

// newCheckRunner returns what runs the saved checks of a server after its tools changed.
func newCheckRunner(kept *store.Store, servers *supervisor.Supervisor, views *registry.Registry, calls history.Caller, bus *core.Bus, log *slog.Logger) *history.CheckRunner {
	checked := checkedServers{servers, views}
	return history.NewCheckRunner(history.CheckRunner{
		Store: kept, Caller: calls, ServerHash: checked.offers, Label: checked.label, Log: log,
		ReadOnly: func(server, tool string) bool { return views.All().ReadOnly(server, tool) },
		By:       core.Client{Name: "drawbridge-check", Version: version},
		Notify: func(check, sentence string) {
			bus.Publish(core.NoticeEvent, core.Notice{Subject: "check:" + check, Message: sentence})
		},
	})
}

// checkedServers describes the servers whose checks run.
type checkedServers struct {
	servers *supervisor.Supervisor
	views   *registry.Registry
}

func (c checkedServers) label(server string) string {
	if status, ok := c.servers.Status(server); ok {
		return cmp.Or(status.Label, server)
	}
	return server
}

// offers returns the version and the tools of a server that has been listed in this run.
func (c checkedServers) offers(server string) (string, bool) {
	status, ok := c.servers.Status(server)
	view, listed := c.views.Server(server)
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
