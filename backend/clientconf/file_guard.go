package clientconf

import (
	"context"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Guard watches the files of connected clients. It never writes: when our entry
// vanishes or changes it says so once, and once more when it is back.
type Guard struct {
	Connector *Connector
	// Tell hears of every change of state. It must not block.
	Tell func(Status)
	Log  *slog.Logger
	// Quiet is how long a file must be left alone before it is looked at; 300 ms when zero.
	Quiet time.Duration
	// Every is how often all files are looked at in any case; 15 s when zero.
	Every time.Duration
}

// Run watches until ctx ends. Connections made or taken back meanwhile are noticed.
func (g *Guard) Run(ctx context.Context) error {
	if g.Quiet == 0 {
		g.Quiet = 300 * time.Millisecond
	}
	if g.Every == 0 {
		g.Every = 15 * time.Second
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		g.Log.Warn("Cannot watch the clients' files; looking at them now and then", "error", err)
	} else {
		defer watcher.Close()
	}
	var events chan fsnotify.Event
	if watcher != nil {
		events = watcher.Events
	}
	known := map[string]State{}
	watched := map[string]bool{}
	files, again := g.look(known, watcher, watched)
	every := time.NewTicker(g.Every)
	defer every.Stop()
	quiet, armed := time.NewTimer(g.Quiet), true
	for {
		if again && !armed { // what happened before a folder was watched was not seen
			quiet.Reset(g.Quiet)
			armed, again = true, false
		}
		select {
		case <-ctx.Done():
			return nil
		case e, open := <-events:
			if !open {
				events = nil
				continue
			}
			// A timer that began is not put off: some files never rest.
			if !armed && (files[e.Name] || filepath.Dir(e.Name) == g.Connector.dir) {
				quiet.Reset(g.Quiet)
				armed = true
			}
		case <-quiet.C:
			armed = false
			files, again = g.look(known, watcher, watched)
		case <-every.C:
			files, again = g.look(known, watcher, watched)
		}
	}
}

// look compares every connection with what was last known of it, and returns the paths
// whose change counts. again is set when a folder is watched from now on.
func (g *Guard) look(known map[string]State, watcher *fsnotify.Watcher, watched map[string]bool) (files map[string]bool, again bool) {
	files = map[string]bool{}
	records, err := g.Connector.records()
	if err != nil {
		g.Log.Warn("Cannot read which clients are connected", "error", err)
		return files, false
	}
	dirs := map[string]bool{}
	// A folder that is not there is seen coming in the one above.
	follow := func(path string) {
		files[path] = true
		for dir := filepath.Dir(path); ; path, dir = dir, filepath.Dir(dir) {
			files[path] = true
			if exists(dir) || dir == filepath.Dir(dir) {
				dirs[dir] = true
				return
			}
		}
	}
	follow(filepath.Join(g.Connector.dir, "any"))
	for key, r := range records {
		follow(r.Path)
		s, ok := g.Connector.Status(key)
		if !ok {
			continue
		}
		before, was := known[key]
		known[key] = s.State
		if was && before != s.State || !was && (s.State == Vanished || s.State == Changed) {
			g.Tell(s)
		}
	}
	maps.DeleteFunc(known, func(key string, _ State) bool { _, there := records[key]; return !there })
	if watcher == nil {
		return files, false
	}
	for dir := range dirs {
		if !watched[dir] && watcher.Add(dir) == nil {
			watched[dir], again = true, true
		}
	}
	for dir := range watched {
		if !dirs[dir] || !exists(dir) {
			_ = watcher.Remove(dir) // it may be gone
			delete(watched, dir)
		}
	}
	return files, again
}

// Status returns the state of one connection. ok is false when there is none.
func (c *Connector) Status(key string) (s Status, ok bool) {
	r, ok, err := c.loadRecord(key)
	if !ok || err != nil {
		return s, false
	}
	client, err := ByID(r.Choice.Client)
	if err != nil {
		return s, false
	}
	s = Status{Client: client, Key: key, Project: r.Choice.Project, Path: r.Path, Detected: true}
	c.inspect(&s, r, true)
	return s, true
}

// Connections returns the keys of all connections, the oldest first.
func (c *Connector) Connections() ([]string, error) {
	records, err := c.records()
	if err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Keys(records), func(a, b string) int { return records[a].At.Compare(records[b].At) }), nil
}
