package clientconf

import (
	"context"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/config"
)

// Guard watches the files of connected clients. It never writes. It reports once when an
// entry of ours disappears or changes, and once when it is back.
type Guard struct {
	Connector *Connector
	// OnChange is called on every change of state. It must not block.
	OnChange func(Status)
	Log      *slog.Logger
	// Debounce is the debounce interval after the first change of a file; 300 ms if zero.
	Debounce time.Duration
	// Interval is the interval at which all files are checked regardless of events; 15 s if
	// zero.
	Interval time.Duration
}

// Run watches until ctx is done, and returns nil. It picks up connections that are made or
// undone in the meantime.
func (g *Guard) Run(ctx context.Context) error {
	if g.Debounce == 0 {
		g.Debounce = 300 * time.Millisecond
	}
	if g.Interval == 0 {
		g.Interval = 15 * time.Second
	}
	watcher, err := config.NewFolderWatcher()
	if err != nil {
		g.Log.Warn("Cannot watch the clients' files; polling them instead", "error", err)
	} else {
		defer watcher.Close()
	}
	var changed <-chan string
	if watcher != nil {
		changed = watcher.Changed
	}
	known := map[string]State{}
	watched := map[string]bool{}
	files, rescan := g.check(known, watcher, watched)
	every := time.NewTicker(g.Interval)
	defer every.Stop()
	quiet, armed := time.NewTimer(g.Debounce), true
	for {
		if rescan && !armed { // changes made before the watch was added were missed
			quiet.Reset(g.Debounce)
			armed, rescan = true, false
		}
		select {
		case <-ctx.Done():
			return nil
		case name := <-changed:
			// Events do not extend a running timer: some files change constantly.
			if !armed && (name == "" || files[name] || filepath.Dir(name) == g.Connector.dir) {
				quiet.Reset(g.Debounce)
				armed = true
			}
		case <-quiet.C:
			armed = false
			files, rescan = g.check(known, watcher, watched)
		case <-every.C:
			files, rescan = g.check(known, watcher, watched)
		}
	}
}

// check compares every connection with its last known state, and returns the paths whose
// events matter. again is set if a new directory is now watched.
func (g *Guard) check(known map[string]State, watcher *config.FolderWatcher, watched map[string]bool) (files map[string]bool, rescan bool) {
	files = map[string]bool{}
	records, err := g.Connector.records()
	if err != nil {
		g.Log.Warn("Cannot read the list of connected clients", "error", err)
		return files, false
	}
	dirs := map[string]bool{}
	// The creation of a missing directory is detected by watching its nearest existing
	// parent.
	watchPath := func(path string) {
		files[path] = true
		for dir := filepath.Dir(path); ; path, dir = dir, filepath.Dir(dir) {
			files[path] = true
			if exists(dir) || dir == filepath.Dir(dir) {
				dirs[dir] = true
				return
			}
		}
	}
	watchPath(filepath.Join(g.Connector.dir, "any"))
	for key, r := range records {
		watchPath(r.Path)
		s, ok := g.Connector.Status(key)
		if !ok {
			continue
		}
		before, was := known[key]
		known[key] = s.State
		if was && before != s.State || !was && (s.State == Vanished || s.State == Changed) {
			g.OnChange(s)
		}
	}
	maps.DeleteFunc(known, func(key string, _ State) bool { _, there := records[key]; return !there })
	if watcher == nil {
		return files, false
	}
	for dir := range dirs {
		if !watched[dir] && watcher.Add(dir) == nil {
			watched[dir], rescan = true, true
		}
	}
	for dir := range watched {
		if !dirs[dir] || !exists(dir) {
			_ = watcher.Remove(dir) // it may have been deleted
			delete(watched, dir)
		}
	}
	return files, rescan
}

// Status returns the state of one connection. ok is false if it does not exist.
func (c *Connector) Status(key string) (s Status, ok bool) {
	all, err := c.connection(key)
	if err != nil || len(all) == 0 {
		return s, false
	}
	client, err := ByID(all[0].Choice.Client)
	if err != nil {
		return s, false
	}
	s = Status{Client: client, Key: key, Project: all[0].Choice.Project, State: NotConnected, Detected: true}
	for _, r := range slices.Backward(all) {
		c.include(&s, r)
	}
	return s, true
}

// Connections returns the keys of all connections, the oldest first.
func (c *recordFolder) Connections() ([]string, error) {
	records, err := c.records()
	if err != nil {
		return nil, err
	}
	times := connectionTimes(records)
	return slices.SortedFunc(maps.Keys(times), func(a, b string) int { return times[a].Compare(times[b]) }), nil
}
