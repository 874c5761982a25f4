package main

import (
	"cmp"
	"encoding/json"
	"log/slog"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
)

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

// label returns the display name of a server.
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
