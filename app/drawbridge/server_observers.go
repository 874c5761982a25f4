package main

import (
	"cmp"
	"log/slog"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/sandbox"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// newConnectionObserver returns what observes where the processes of servers connect to.
func newConnectionObserver(history *store.Store, dialer *upstream.Dialer, servers *supervisor.Supervisor, bus *core.Bus, log *slog.Logger, current func() *config.Config) *sandbox.DestinationSampler {
	return sandbox.New(sandbox.Options{
		Store: history, Bus: bus, Log: log, Now: timeSource, Idle: dialer.Idle, Trees: dialer.Trees, Journal: dialer.Journal,
		Hosts: func(server string) []string {
			s, _ := current().Server(server)
			return s.MentionedHosts()
		},
		UnobservableReason: func(server string) string {
			s, ok := current().Server(server)
			switch {
			case !ok:
				return ""
			case s.Type == core.Docker:
				return "Connections of processes in containers are not monitored."
			case s.Command == "" && s.URL != "":
				return "The server is remote: only Drawbridge itself connects to it."
			}
			return ""
		},
		Label: func(server string) string {
			status, _ := servers.Status(server)
			return cmp.Or(status.Label, server)
		},
	})
}
