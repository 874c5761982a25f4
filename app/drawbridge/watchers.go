package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/cli"
	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/desktop"
	"github.com/drawbridge-mcp/drawbridge/backend/gateway"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/sandbox"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Where releases are announced and the public key of minisign that verifies it; set by the linker
// in a release, otherwise "".
var updateURL, updateKey string

// updateSource returns where to look for newer versions; it is off unless the user switched it on.
func updateSource(c config.Updates) desktop.Source {
	if !c.Check {
		return desktop.Source{}
	}
	return desktop.Source{URL: cmp.Or(c.URL, updateURL), PublicKey: cmp.Or(c.PublicKey, updateKey)}
}

// knowsReleases reports whether the search for newer versions would work if it were switched on.
func knowsReleases(c config.Updates) bool {
	c.Check = true
	source := updateSource(c)
	return source.URL != "" && source.PublicKey != ""
}

// updateNotice returns the notice about a newer version, or about a check that is switched on but
// cannot work. Its Message is empty if there is neither.
func updateNotice(c config.Updates, checker *desktop.Checker) core.Notice {
	if c.Check && !knowsReleases(c) {
		return core.Notice{Subject: desktop.Subject, Message: "This build has no update source. Set updates.url and updates.publicKey, or set updates.check to false."}
	}
	return checker.Notice()
}

// errRestart ends a daemon that another version replaces.
var errRestart = errors.New("restarting with the installed version")

// newReplacementWatcher watches for another version of the program that is installed over this one.
func newReplacementWatcher(calls *gateway.Gateway, files *config.Reloader, bus *core.Bus, log *slog.Logger, restart func()) *desktop.ReplacementWatcher {
	self, _ := os.Executable() // "" is reported by Run
	return desktop.NewReplacementWatcher(desktop.ReplacementWatcherOptions{
		Program: self, Version: version, Bus: bus, Log: log, Restart: restart,
		IdleTime: func() time.Duration { return files.Current().Updates.RestartIdle },
		Activity: func() (int64, bool) { return calls.LastID(), len(calls.Running()) > 0 },
	})
}

// newConnectionObserver returns what observes where the processes of servers connect to.
func newConnectionObserver(history *store.Store, dialer *upstream.Dialer, servers *supervisor.Supervisor, bus *core.Bus, log *slog.Logger, now func() time.Time, current func() *config.Config) *sandbox.DestinationSampler {
	return sandbox.New(sandbox.Options{
		Store: history, Bus: bus, Log: log, Now: now, Idle: dialer.Idle, Trees: dialer.Trees, Journal: dialer.Journal,
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

// newClientConfigGuard returns the connector of client configuration files and a guard that watches
// them. It first updates entries that contain an old address of ours. The guard reports a lost
// entry but never restores it.
func newClientConfigGuard(o cli.ServeOptions, bus *core.Bus, tokens *loopback.Tokens, vault *secret.Store, sync func(ctx context.Context, confirm string) error, url string, log *slog.Logger) (*clientconf.Connector, *clientconf.Guard, error) {
	connector, err := clientconf.NewDefault(o.Folders.Data, o.Folders.CustomData, o.Sources.Main(), vault, os.Getenv)
	if err != nil {
		return nil, nil, err
	}
	rewritten, err := connector.UpdateEntries(context.Background(), "", url, func(client string) (string, error) {
		t, err := tokens.Create(client)
		return t.Token, err
	})
	if err != nil {
		log.Warn("Cannot update the clients' entries", "error", err)
	}
	for _, r := range rewritten {
		if r.Error != "" {
			log.Error("A client's entry still contains an old Drawbridge URL", "client", r.Key, "path", r.Path, "error", r.Error)
			continue
		}
		log.Info("Updated Drawbridge's URL in a client's entry", "client", r.Key, "path", r.Path)
	}
	connector.Sync = sync
	guard := &clientconf.Guard{Connector: connector, Log: log, OnChange: func(s clientconf.Status) {
		notice := core.Notice{Subject: "clients/" + s.Key}
		switch s.State {
		case clientconf.Vanished:
			notice.Message = "The Drawbridge entry is no longer in the configuration of " + s.Client.Name + "."
		case clientconf.Changed:
			notice.Message = "The Drawbridge entry in the configuration of " + s.Client.Name + " was changed."
		case clientconf.Unreadable:
			notice.Message = "Cannot read the configuration of " + s.Client.Name + "."
		}
		log.Info("The state of a client's entry changed", "client", s.Key, "state", s.State, "path", s.Path)
		bus.Publish(core.NoticeEvent, notice)
	}}
	return connector, guard, nil
}

// confirmedEntries returns whether the user has confirmed the entry of a server in our configuration,
// because a move or an import wrote it.
func confirmedEntries(o cli.ServeOptions, vault *secret.Store) func(*config.Server) bool {
	connector, err := clientconf.NewDefault(o.Folders.Data, o.Folders.CustomData, o.Sources.Main(), vault, os.Getenv)
	return func(s *config.Server) bool { return err == nil && connector.WroteEntry(s.Source.File, s.Label) }
}
