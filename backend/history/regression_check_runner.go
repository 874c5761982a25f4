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

// Values of Check.Auto, which sets whether a check runs automatically.
const (
	AutoAlways = "on"
	AutoNever  = "off"
	// "": the check runs automatically if all its tools are read-only.
)

// debounceDelay is the debounce time after a change: servers change their lists in bursts.
const debounceDelay = 3 * time.Second

// runLimit is the timeout of one automatic run of a check.
const runLimit = 5 * time.Minute

// LastRun is the result of the most recent run of a check.
type LastRun struct {
	At      time.Time `json:"at"`
	OK      bool      `json:"ok"`
	Failed  int       `json:"failed" doc:"Steps with an unexpected result"`
	Trigger string    `json:"trigger" doc:"What started the run: the user, or the server whose version or tools changed"`
	// Seen is the hash of version and tools of each server of the check at the time of the run.
	Seen map[string]string `json:"seen,omitempty"`
}

// CheckStore stores checks and their last runs. *store.Store implements it.
type CheckStore interface {
	SavedChecks(ctx context.Context) (documents [][]byte, err error)
	Metadata(ctx context.Context, key string) (value []byte, ok bool, err error)
	SaveMetadata(ctx context.Context, key string, value []byte) error
}

// CheckRunner runs saved checks automatically when the version or the tools of one of their servers
// have changed. All fields except Label are required.
type CheckRunner struct {
	Store    CheckStore
	Caller   Caller
	ReadOnly func(server, tool string) bool
	// ServerHash returns a hash of a server's version and tools, and false if they are not known.
	ServerHash func(server string) (string, bool)
	// Label returns the display name of a server. nil: the server's id is used.
	Label func(server string) string
	By    core.Client
	// Notify is called after each automatic run, with a sentence if the check failed and "" if it
	// passed.
	Notify func(check, sentence string)
	Log    *slog.Logger

	changed chan string
}

// NewCheckRunner returns a CheckRunner with the fields of w.
func NewCheckRunner(w CheckRunner) *CheckRunner {
	w.changed = make(chan string, 64)
	return &w
}

// Changed reports that the version or tools of a server may have changed. It never blocks.
func (w *CheckRunner) Changed(server string) {
	select {
	case w.changed <- server:
	default: // Run examines all checks, so a pending change is sufficient
	}
}

// Run runs checks after changes until ctx is done. It always returns nil.
func (w *CheckRunner) Run(ctx context.Context) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	waiting := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.changed:
			waiting = true
			timer.Reset(debounceDelay)
		case <-timer.C:
			if waiting {
				w.runChanged(ctx)
			}
			waiting = false
			timer.Reset(time.Hour)
		}
	}
}

// runChanged runs each check whose servers' versions or tools differ from those of its last run.
func (w *CheckRunner) runChanged(ctx context.Context) {
	documents, err := w.Store.SavedChecks(ctx)
	if err != nil {
		w.Log.Debug("Cannot read the saved checks", "error", err)
		return
	}
	for _, d := range documents {
		var c Check
		if json.Unmarshal(d, &c) != nil || ctx.Err() != nil {
			continue
		}
		now, known := w.hashes(&c)
		last := w.Last(ctx, c.Name)
		if !known || maps.Equal(now, last.Seen) {
			continue
		}
		if last.Seen == nil || !w.mayAutoRun(&c) { // no earlier run, or not allowed: store the baseline only
			last.Seen = now
			w.saveRun(ctx, c.Name, last)
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
		w.SaveRun(ctx, &c, report, "the version or tools of "+why+" changed")
		sentence := ""
		if !report.OK {
			sentence = "The check " + strconv.Quote(c.Name) + " failed after the version or tools of " + strconv.Quote(why) + " changed."
		}
		w.Notify(c.Name, sentence)
	}
}

func (w *CheckRunner) label(server string) string {
	if w.Label == nil {
		return server
	}
	return w.Label(server)
}

// mayAutoRun reports whether a check may run automatically.
func (w *CheckRunner) mayAutoRun(c *Check) bool {
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

// hashes returns the hashes of the servers of a check, and false if one of them is not known.
func (w *CheckRunner) hashes(c *Check) (map[string]string, bool) {
	all := make(map[string]string)
	for _, s := range c.Steps {
		hash, ok := w.ServerHash(s.Server)
		if !ok {
			return nil, false
		}
		all[s.Server] = hash
	}
	return all, true
}

// SaveRun stores the result of a run. why is who or what started it.
func (w *CheckRunner) SaveRun(ctx context.Context, c *Check, report CheckReport, why string) {
	last := LastRun{At: time.Now().UTC(), OK: report.OK, Trigger: why}
	for _, s := range report.Steps {
		if !s.OK {
			last.Failed++
		}
	}
	last.Seen, _ = w.hashes(c)
	w.saveRun(ctx, c.Name, last)
}

func lastRunKey(name string) string { return "check.last." + name }

func (w *CheckRunner) saveRun(ctx context.Context, name string, last LastRun) {
	document, err := json.Marshal(last)
	if err == nil {
		err = w.Store.SaveMetadata(ctx, lastRunKey(name), document)
	}
	if err != nil {
		w.Log.Debug("Cannot save the result of a check", "check", name, "error", err)
	}
}

// Last returns the result of the most recent run of a check. Its At is zero if there was none.
func (w *CheckRunner) Last(ctx context.Context, name string) (last LastRun) {
	if document, ok, err := w.Store.Metadata(ctx, lastRunKey(name)); err == nil && ok {
		_ = json.Unmarshal(document, &last)
	}
	return last
}
