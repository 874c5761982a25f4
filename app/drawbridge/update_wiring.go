package main

import (
	"cmp"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/desktop"
	"github.com/drawbridge-mcp/drawbridge/backend/gateway"
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
