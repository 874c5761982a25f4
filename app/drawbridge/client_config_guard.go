package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/drawbridge-mcp/drawbridge/backend/cli"
	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// newClientConfigGuard returns the connector of client configuration files and a guard that watches
// them. It first updates entries that contain an old address of ours. The guard reports a lost
// entry but never restores it.
func newClientConfigGuard(o cli.ServeOptions, bus *core.Bus, tokens *loopback.Tokens, vault *secret.Store, url string, log *slog.Logger) (*clientconf.Connector, *clientconf.Guard, error) {
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
