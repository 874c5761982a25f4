package main

import (
	"cmp"
	"log/slog"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/dial"
	"github.com/drawbridge-mcp/drawbridge/backend/egress"
	"github.com/drawbridge-mcp/drawbridge/backend/event"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// newEgress returns what observes where the processes of servers connect to.
func newEgress(history *store.Store, dialer *dial.Dialer, servers *supervisor.Supervisor, bus *event.Bus, log *slog.Logger, current func() *config.Config) *egress.Sampler {
	return egress.New(egress.Options{
		Store: history, Bus: bus, Log: log, Now: clock, Idle: dialer.Idle, Trees: dialer.Trees, Journal: dialer.Journal,
		Hosts: func(server string) []string {
			s, _ := current().Server(server)
			return s.MentionedHosts()
		},
		Hidden: func(server string) string {
			s, ok := current().Server(server)
			switch {
			case !ok:
				return ""
			case s.Type == core.Docker:
				return "Connections of processes in containers are not observed."
			case s.Command == "" && s.URL != "":
				return "The server runs elsewhere; Drawbridge itself connects to it."
			}
			return ""
		},
		Label: func(server string) string {
			status, _ := servers.Status(server)
			return cmp.Or(status.Label, server)
		},
	})
}
