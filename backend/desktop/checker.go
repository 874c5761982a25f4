package desktop

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

const (
	interval   = 24 * time.Hour  // between two readings, also across restarts and errors
	startDelay = 2 * time.Minute // after the start, so that a start waits for nothing of this
	stateKey   = "updates"
)

// Subject is the subject of the notice about a newer release.
const Subject = "update"

// Source is where the document is, and who signs it. It is off if URL or PublicKey is "".
type Source struct{ URL, PublicKey string }

func (s Source) off() bool { return s.URL == "" || s.PublicKey == "" }

// Storage keeps the time of the last reading across restarts.
type Storage interface {
	Metadata(ctx context.Context, key string) (value []byte, ok bool, err error)
	SaveMetadata(ctx context.Context, key string, value []byte) error
}

// Options are the dependencies of a Checker. All are required.
type Options struct {
	Version string // of this program
	Storage Storage
	Bus     *core.Bus
	Log     *slog.Logger
}

// Checker looks for newer releases. Its methods are safe for concurrent use.
type Checker struct {
	Options
	changed chan Source // the newest configuration that Run has not applied yet
	notice  atomic.Pointer[core.Notice]
}

// New returns a Checker that is off.
func New(o Options) *Checker {
	return &Checker{Options: o, changed: make(chan Source, 1)}
}

// Apply changes the source. It never blocks; it must not be called concurrently.
func (c *Checker) Apply(s Source) {
	select {
	case <-c.changed:
	default:
	}
	c.changed <- s
}

// Notice returns the notice about a newer release; its Message is empty if there is none.
func (c *Checker) Notice() core.Notice {
	if n := c.notice.Load(); n != nil {
		return *n
	}
	return core.Notice{Subject: Subject}
}

// state is what is kept across restarts.
type state struct {
	Source Source    `json:"source"`
	ReadAt time.Time `json:"readAt"`
	Newest Release   `json:"newest"` // zero if none was read
}

// Run reads the document when it is due, until ctx is done. It then returns nil.
func (c *Checker) Run(ctx context.Context) error {
	var source Source
	var kept state
	timer := time.NewTimer(0)
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case next := <-c.changed:
			if next == source {
				continue
			}
			source = next
			kept = c.load(ctx, source)
			c.publish(source, kept.Newest)
			timer.Stop()
			if !source.off() {
				timer.Reset(max(startDelay, time.Until(kept.ReadAt.Add(interval))))
			}
		case <-timer.C:
			// A failure counts as a reading, too: a server that does not answer is not asked more
			// often.
			kept.ReadAt = time.Now()
			if r, err := read(ctx, source.URL, source.PublicKey); err != nil {
				c.Log.Info("Cannot check for a newer version", "error", err)
			} else {
				kept.Newest = r
			}
			c.save(ctx, kept)
			c.publish(source, kept.Newest)
			timer.Reset(interval)
		}
	}
}

func (c *Checker) publish(source Source, newest Release) {
	n := core.Notice{Subject: Subject}
	if !source.off() && newest.newerThan(c.Version) {
		n.Message = fmt.Sprintf("Drawbridge %s is available; this is %s. Install it the same way you installed the current version.",
			strings.TrimPrefix(newest.Version, "v"), strings.TrimPrefix(c.Version, "v"))
		if newest.Notes != "" {
			n.Message += " Release notes: " + newest.Notes
		}
	}
	if was := c.notice.Swap(&n); was == nil && n.Message == "" || was != nil && *was == n {
		return
	}
	c.Bus.Publish(core.NoticeEvent, n)
}

// load returns what an earlier run has read from source.
func (c *Checker) load(ctx context.Context, source Source) (kept state) {
	if value, ok, err := c.Storage.Metadata(ctx, stateKey); err != nil || !ok || json.Unmarshal(value, &kept) != nil || kept.Source != source || kept.ReadAt.After(time.Now()) {
		kept = state{Source: source}
	}
	return kept
}

func (c *Checker) save(ctx context.Context, kept state) {
	value, err := json.Marshal(kept)
	if err == nil {
		err = c.Storage.SaveMetadata(ctx, stateKey, value)
	}
	if err != nil {
		c.Log.Info("Cannot save the time of the last update check", "error", err)
	}
}
