package main

import (
	"cmp"
	"log/slog"
	"maps"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/dial"
	"github.com/drawbridge-mcp/drawbridge/backend/event"
	"github.com/drawbridge-mcp/drawbridge/backend/observe"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// newConnectionObserver returns what observes where the processes of servers connect to.
func newConnectionObserver(history *store.Store, dialer *dial.Dialer, servers *supervisor.Supervisor, bus *event.Bus, log *slog.Logger, current func() *config.Config) *observe.DestinationSampler {
	return observe.New(observe.Options{
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

// newFileObserver returns what observes which files the servers with sandbox "observe" open.
func newFileObserver(history *store.Store, dialer *dial.Dialer, log *slog.Logger, current func() *config.Config) *observe.FileSampler {
	return observe.NewFileSampler(observe.FileSamplerOptions{
		Store: history, Log: log, Now: timeSource,
		Trees: func() map[string][]int {
			observed := map[string]bool{}
			all := current().Servers
			for i := range all {
				if all[i].Sandbox.Observe && !all[i].Disabled {
					observed[all[i].ID] = true
				}
			}
			if len(observed) == 0 || dialer.Idle() {
				return nil
			}
			trees := dialer.Trees()
			maps.DeleteFunc(trees, func(server string, _ []int) bool { return !observed[server] })
			return trees
		},
	})
}
