package marketplace

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

const (
	newestKey        = "newest-versions"
	newestInterval   = 24 * time.Hour // between two questions about one server, also after errors
	newestStartDelay = 5 * time.Minute
	newestTick       = time.Hour
)

// newestVersion is what the registry said about the entry of a server.
type newestVersion struct {
	Text    string    `json:"text"` // of the package in the entry
	Version string    `json:"version"`
	AskedAt time.Time `json:"askedAt"`
}

// newestVersions has the answers, by server. The zero value is ready to use.
type newestVersions struct {
	mu  sync.Mutex
	all map[string]newestVersion
}

// get returns the newest version for a package as it is written in the entry of a server, or "".
func (n *newestVersions) get(server, text string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if one := n.all[server]; one.Text == text {
		return one.Version
	}
	return ""
}

// Run asks the registry once a day for the newest version of each package that is started directly, and so
// stays as it is, if the user switched on the search for updates. It returns when ctx is done.
func (f *Feature) Run(ctx context.Context) error {
	f.loadNewest(ctx)
	for wait := newestStartDelay; core.Sleep(ctx, wait); wait = newestTick {
		f.askNewest(ctx, time.Now())
	}
	return nil
}

func (f *Feature) loadNewest(ctx context.Context) {
	if text, known, err := f.Store.Metadata(ctx, newestKey); err == nil && known {
		f.newest.mu.Lock()
		defer f.newest.mu.Unlock()
		_ = json.Unmarshal(text, &f.newest.all) // invalid data is discarded
	}
}

// askNewest asks about the servers whose last answer is old.
func (f *Feature) askNewest(ctx context.Context, now time.Time) {
	c := f.Config.Current()
	if !c.Updates.Check {
		return
	}
	ask := f.AskNewest
	if ask == nil {
		ask = askRegistry
	}
	all := map[string]newestVersion{}
	for i := range c.Servers {
		s := &c.Servers[i]
		spec, ok := Find(s)
		if !ok || spec.Launcher != NPX || spec.Pinned() || s.Disabled || s.Launch != config.LaunchDirect || ctx.Err() != nil {
			continue
		}
		f.newest.mu.Lock()
		was := f.newest.all[s.ID]
		f.newest.mu.Unlock()
		if was.Text == spec.Text && now.Sub(was.AskedAt) < newestInterval && !was.AskedAt.After(now) {
			all[s.ID] = was
			continue
		}
		version, err := ask(ctx, s, spec)
		if err != nil && was.Text == spec.Text {
			version = was.Version
		}
		all[s.ID] = newestVersion{spec.Text, version, now}
	}
	if ctx.Err() != nil {
		return
	}
	f.newest.mu.Lock()
	f.newest.all = all
	f.newest.mu.Unlock()
	if text, err := json.Marshal(all); err == nil {
		_ = f.Store.SaveMetadata(ctx, newestKey, text) // otherwise the registry is asked again after a restart
	}
}

// askRegistry returns the version that npm would install for the entry.
func askRegistry(ctx context.Context, s *config.Server, spec Spec) (string, error) {
	if spec.Wanted != "" {
		spec.Package += "@" + spec.Wanted
	}
	return Latest(ctx, s, spec)
}
