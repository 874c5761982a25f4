package desktop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"aead.dev/minisign"
	"golang.org/x/mod/semver"
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

// Release is the newest release, as the signed document describes it.
type Release struct {
	Version   string    `json:"version"` // semantic version without "v"
	Published time.Time `json:"published"`
	Notes     string    `json:"notes"` // address of the release notes, or ""
}

// newerThan reports whether r is newer than a version of ours, which may begin with "v". The version
// of a build that is not a release, such as "dev" or "v1.2.0-3-g1b5ccca", is never older.
func (r Release) newerThan(version string) bool {
	current := canonical(version)
	return semver.IsValid(current) && !strings.Contains(semver.Prerelease(current), "-g") &&
		semver.Compare(canonical(r.Version), current) > 0
}

func canonical(version string) string {
	if len(version) > 0 && version[0] != 'v' {
		return "v" + version
	}
	return version
}

const (
	readTimeout  = 20 * time.Second
	maxDocument  = 64 << 10
	signatureExt = ".minisig" // as minisign names it
)

// read reads the document at address and its signature, and verifies it with publicKey, which is the
// second line of a public key file of minisign.
func read(ctx context.Context, address, publicKey string) (Release, error) {
	var key minisign.PublicKey
	if err := key.UnmarshalText([]byte(publicKey)); err != nil {
		return Release{}, errors.New("updates.publicKey is not a minisign public key")
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	document, err := get(ctx, address)
	if err != nil {
		return Release{}, err
	}
	signature, err := get(ctx, address+signatureExt)
	if err != nil {
		return Release{}, err
	}
	if !minisign.Verify(key, document, signature) {
		return Release{}, fmt.Errorf("the signature of %s is not valid", address)
	}
	var r Release
	if err := json.Unmarshal(document, &r); err != nil || !semver.IsValid(canonical(r.Version)) {
		return Release{}, fmt.Errorf("%s does not describe a release", address)
	}
	if u, err := url.Parse(r.Notes); r.Notes != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http") {
		r.Notes = ""
	}
	return r, nil
}

var client = &http.Client{
	CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if len(via) >= 5 {
			return errors.New("too many redirects")
		}
		return requireHTTPSOrLoopback(req.URL)
	},
}

func get(ctx context.Context, address string) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("updates.url is not a URL")
	}
	if err := requireHTTPSOrLoopback(u); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", address, err)
	}
	req.Header.Set("User-Agent", "drawbridge")
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", address, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("cannot read %s: %s", address, resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", address, err)
	}
	if len(body) > maxDocument {
		return nil, fmt.Errorf("%s is larger than %d bytes", address, maxDocument)
	}
	return body, nil
}

// requireHTTPSOrLoopback accepts https, and http on this machine.
func requireHTTPSOrLoopback(u *url.URL) error {
	ip := net.ParseIP(u.Hostname())
	local := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if u.Scheme == "https" || u.Scheme == "http" && local {
		return nil
	}
	return errors.New("updates.url must use https")
}
