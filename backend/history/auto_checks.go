package history

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"strconv"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// When checks run by themselves.
const (
	AutoAlways = "on"
	AutoNever  = "off"
	// "" is: when all its tools say that they only read.
)

// Settled is how long nothing must have changed before checks run: servers change
// their lists in bursts.
const settled = 3 * time.Second

// runLimit bounds one run of a check by itself.
const runLimit = 5 * time.Minute

// LastRun is how the newest run of a check went.
type LastRun struct {
	At     time.Time `json:"at"`
	OK     bool      `json:"ok"`
	Failed int       `json:"failed" doc:"Steps that were not as expected"`
	Why    string    `json:"why" doc:"Who ran it: the user, or the server whose version or tools changed"`
	// Seen is what the check's servers offered then, by server: a hash.
	Seen map[string]string `json:"seen,omitempty"`
}

// Documents keeps checks and how they went; *store.Store implements it.
type Documents interface {
	Checks(ctx context.Context) (documents [][]byte, err error)
	Metadata(ctx context.Context, key string) (value []byte, ok bool, err error)
	SaveMetadata(ctx context.Context, key string, value []byte) error
}

// Watchman runs saved checks after the version or the tools of one of their servers
// have changed.
type Watchman struct {
	Documents Documents
	Caller    Caller
	ReadOnly  func(server, tool string) bool
	// Offers is a hash of a server's version and tools; false while it is not known.
	Offers func(server string) (string, bool)
	// Label is what the user calls a server. nil: its id.
	Label func(server string) string
	By    core.Client
	// Failed is told of each run by itself: a sentence, or "" when all was as expected.
	Failed func(check, sentence string)
	Log    *slog.Logger

	changed chan string
}

// NewWatchman completes w.
func NewWatchman(w Watchman) *Watchman {
	w.changed = make(chan string, 64)
	return &w
}

// Changed says that a server may offer something else. It never blocks.
func (w *Watchman) Changed(server string) {
	select {
	case w.changed <- server:
	default: // so many wait that all are looked at anyway
	}
}

// Run waits for changes until ctx ends.
func (w *Watchman) Run(ctx context.Context) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	waiting := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.changed:
			waiting = true
			timer.Reset(settled)
		case <-timer.C:
			if waiting {
				w.look(ctx)
			}
			waiting = false
			timer.Reset(time.Hour)
		}
	}
}

// look runs each check whose servers offer something else than at its last run.
func (w *Watchman) look(ctx context.Context) {
	documents, err := w.Documents.Checks(ctx)
	if err != nil {
		w.Log.Debug("Cannot read the saved checks", "error", err)
		return
	}
	for _, d := range documents {
		var c Check
		if json.Unmarshal(d, &c) != nil || ctx.Err() != nil {
			continue
		}
		now, known := w.seen(&c)
		last := w.Last(ctx, c.Name)
		if !known || maps.Equal(now, last.Seen) {
			continue
		}
		if last.Seen == nil || !w.allowed(&c) { // nothing to compare with: from now on there is
			last.Seen = now
			w.save(ctx, c.Name, last)
			continue
		}
		why := ""
		for server, hash := range now {
			if last.Seen[server] != hash {
				why = w.label(server)
			}
		}
		limit, cancel := context.WithTimeout(ctx, runLimit)
		report := c.Run(limit, w.Caller, w.By)
		cancel()
		if ctx.Err() != nil {
			return
		}
		w.Note(ctx, &c, report, "the version or tools of "+why+" changed")
		sentence := ""
		if !report.OK {
			sentence = "The check " + strconv.Quote(c.Name) + " is not as expected since the version or tools of " + strconv.Quote(why) + " changed."
		}
		w.Failed(c.Name, sentence)
	}
}

func (w *Watchman) label(server string) string {
	if w.Label == nil {
		return server
	}
	return w.Label(server)
}

// allowed reports whether a check may run without the user.
func (w *Watchman) allowed(c *Check) bool {
	if c.Auto != "" {
		return c.Auto == AutoAlways
	}
	for _, s := range c.Steps {
		if !w.ReadOnly(s.Server, s.Tool) {
			return false
		}
	}
	return true
}

// seen is what the servers of a check offer; false while one of them is not known.
func (w *Watchman) seen(c *Check) (map[string]string, bool) {
	all := make(map[string]string)
	for _, s := range c.Steps {
		hash, ok := w.Offers(s.Server)
		if !ok {
			return nil, false
		}
		all[s.Server] = hash
	}
	return all, true
}

// Note keeps how a run went, whoever began it.
func (w *Watchman) Note(ctx context.Context, c *Check, report CheckReport, why string) {
	last := LastRun{At: time.Now().UTC(), OK: report.OK, Why: why}
	for _, s := range report.Steps {
		if !s.OK {
			last.Failed++
		}
	}
	last.Seen, _ = w.seen(c)
	w.save(ctx, c.Name, last)
}

func lastRunFact(name string) string { return "check.last." + name }

func (w *Watchman) save(ctx context.Context, name string, last LastRun) {
	document, err := json.Marshal(last)
	if err == nil {
		err = w.Documents.SaveMetadata(ctx, lastRunFact(name), document)
	}
	if err != nil {
		w.Log.Debug("Cannot keep how a check went", "check", name, "error", err)
	}
}

// Last is how the newest run of a check went; its At is zero when there was none.
func (w *Watchman) Last(ctx context.Context, name string) (last LastRun) {
	if document, ok, err := w.Documents.Metadata(ctx, lastRunFact(name)); err == nil && ok {
		_ = json.Unmarshal(document, &last)
	}
	return last
}
