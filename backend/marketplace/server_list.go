package marketplace

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// DefaultAddress is the address of the official registry.
const DefaultAddress = "https://registry.modelcontextprotocol.io"

//go:embed curated.json
var curatedServers []byte

// List is the list of installable servers: the curated ones that are part of the program, and the
// last snapshot of a registry that the user requested. Its methods are safe for concurrent use.
type List struct {
	path string // of the snapshot file
	http *http.Client

	mu      sync.Mutex
	entries []Entry
	taken   time.Time // time of the snapshot; zero if there is none
	mod     time.Time
	loaded  bool
}

// Entry is a server in the list.
type Entry struct {
	Record  *Record
	Curated bool   // part of the program
	Refused string // the reason why it cannot be installed, or ""
}

// NewList returns the list whose snapshot is stored at path.
func NewList(path string) *List {
	return &List{path: path, http: &http.Client{Timeout: 20 * time.Second, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) > 3 {
			return errors.New("too many redirects")
		}
		return requireHTTPSOrLoopback(r.URL.String())
	}}}
}

// snapshot is a response of the registry's list endpoint, or all pages of it combined.
type snapshot struct {
	Servers []struct {
		Server json.RawMessage `json:"server"`
		Meta   struct {
			Official struct {
				Status   string `json:"status"`
				IsLatest *bool  `json:"isLatest"`
			} `json:"io.modelcontextprotocol.registry/official"`
		} `json:"_meta"`
	} `json:"servers"`
	Metadata struct {
		NextCursor string `json:"nextCursor"`
	} `json:"metadata"`
	RefreshedAt time.Time `json:"refreshedAt,omitzero"` // added by Refresh
}

// parseSnapshot parses the records of a snapshot. It skips records that cannot be parsed; records
// that cannot be installed carry the reason.
func parseSnapshot(src []byte, ours bool) ([]Entry, snapshot, error) {
	var s snapshot
	if err := json.Unmarshal(src, &s); err != nil {
		return nil, s, validationErrorf("cannot read the list of servers: %v", err)
	}
	if len(s.Servers) > maxServers {
		return nil, s, validationErrorf("the list has more than %d servers", maxServers)
	}
	var list []Entry
	for _, one := range s.Servers {
		if o := one.Meta.Official; o.Status == "deleted" || o.Status == "deprecated" || o.IsLatest != nil && !*o.IsLatest {
			continue
		}
		r, err := Parse(one.Server)
		if r == nil || !serverNamePattern().MatchString(r.Name) {
			continue
		}
		e := Entry{Record: r, Curated: ours}
		if err != nil {
			e.Refused = err.Error()
			// Untrusted text is displayed only after it has passed the checks.
			e.Record = &Record{Name: r.Name}
		}
		list = append(list, e)
	}
	return list, s, nil
}

// All returns all entries: curated ones first, then the snapshot by name. It reads the snapshot
// file again if the file has changed.
func (l *List) All() (list []Entry, taken time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	info, err := os.Stat(l.path)
	if l.loaded && (err != nil && l.mod.IsZero() || err == nil && info.ModTime().Equal(l.mod)) {
		return l.entries, l.taken
	}
	l.entries, _, _ = parseSnapshot(curatedServers, true)
	l.loaded, l.taken, l.mod = true, time.Time{}, time.Time{}
	if err != nil || info.Size() > maxSnapshot {
		return l.entries, l.taken
	}
	l.mod = info.ModTime()
	if src, err := osutil.ReadFile(l.path); err == nil {
		if more, s, err := parseSnapshot(src, false); err == nil {
			known := map[string]bool{}
			for _, e := range l.entries {
				known[e.Record.Name] = true
			}
			slices.SortStableFunc(more, func(a, b Entry) int { return strings.Compare(a.Record.Name, b.Record.Name) })
			for _, e := range more {
				if !known[e.Record.Name] {
					known[e.Record.Name] = true
					l.entries = append(l.entries, e)
				}
			}
			l.taken = s.RefreshedAt
		}
	}
	return l.entries, l.taken
}

// Find returns the entry with that name, or the one that is part of Drawbridge with that title, label
// or last part of its name. It returns an error if the entry cannot be installed.
func (l *List) Find(name string) (Entry, error) {
	all, _ := l.All()
	at := slices.IndexFunc(all, func(e Entry) bool { return e.Record.Name == name })
	if at < 0 {
		at = slices.IndexFunc(all, func(e Entry) bool {
			return e.Curated && slices.ContainsFunc([]string{e.Record.Title, e.Record.Label(), path.Base(e.Record.Name)}, func(s string) bool { return strings.EqualFold(s, name) })
		})
	}
	switch {
	case at < 0:
		return Entry{}, &core.Error{Code: core.CodeNotFound, Message: fmt.Sprintf("the directory has no server %q", truncate(name)),
			Hint: "Search it with: drawbridge add --search WORDS. To add a program: drawbridge add NAME -- COMMAND"}
	case all[at].Refused != "":
		return all[at], core.Errorf(core.CodeValidation, "cannot install %s: %s", name, all[at].Refused)
	}
	return all[at], nil
}

// Refresh replaces the snapshot with the list of the registry at base, and returns the number of
// servers. It is limited in time, pages and bytes. On failure the old snapshot remains.
func (l *List) Refresh(ctx context.Context, base string) (int, error) {
	if base == "" {
		base = DefaultAddress
	}
	if err := requireHTTPSOrLoopback(base); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	whole := snapshot{RefreshedAt: time.Now().UTC().Truncate(time.Second)}
	left, cursor := int64(maxSnapshot), ""
	for page := 0; page < maxServers/100; page++ {
		src, err := l.fetchPage(ctx, base, cursor, left)
		if err != nil {
			return 0, err
		}
		left -= int64(len(src))
		var s snapshot
		if err := json.Unmarshal(src, &s); err != nil {
			return 0, validationErrorf("cannot read the registry's response: %v", err)
		}
		whole.Servers = append(whole.Servers, s.Servers...)
		if len(whole.Servers) > maxServers {
			return 0, validationErrorf("the registry has more than %d servers", maxServers)
		}
		if s.Metadata.NextCursor == "" || s.Metadata.NextCursor == cursor || len(s.Servers) == 0 {
			break
		}
		cursor = s.Metadata.NextCursor
	}
	out, err := json.Marshal(whole)
	if err != nil {
		return 0, err
	}
	entries, _, err := parseSnapshot(out, false)
	if err != nil {
		return 0, err
	}
	return len(entries), l.saveSnapshot(out)
}

func (l *List) saveSnapshot(out []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loaded = false
	if err := osutil.WriteFileWithoutSync(l.path, out, 0o600); err != nil {
		return fmt.Errorf("cannot save the list of servers: %w", err)
	}
	return nil
}

func (l *List) fetchPage(ctx context.Context, base, cursor string, left int64) ([]byte, error) {
	query := url.Values{"limit": {"100"}, "version": {"latest"}}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+"/v0.1/servers?"+query.Encode(), nil)
	if err != nil {
		return nil, validationErrorf("%q is not a URL", base)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := l.http.Do(req)
	if err != nil {
		return nil, &core.Error{Code: core.CodeUnavailable, Message: "cannot reach the registry: " + truncate(err.Error()), Hint: "Try again later. The current list is kept."}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, &core.Error{Code: core.CodeUnavailable, Message: "the registry responded with " + resp.Status, Hint: "Check directory.url in the configuration."}
	}
	src, err := io.ReadAll(io.LimitReader(resp.Body, left+1))
	if err != nil {
		return nil, &core.Error{Code: core.CodeUnavailable, Message: "the registry's response was interrupted", Cause: err}
	}
	if int64(len(src)) > left {
		return nil, validationErrorf("the registry's list is larger than %d MiB", maxSnapshot>>20)
	}
	return src, nil
}
