package supervisor

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// debugLines is how much of stderr a Debug holds.
const debugLines = 20

// Debug is everything that helps the user to see why a server does not do what it
// should. It holds no value of a variable; Frames hold what was said, secrets too.
type Debug struct {
	Status       core.ServerStatus `json:"status"`
	Written      string            `json:"written"`              // the command as configured
	Session      string            `json:"session"`              // whose a process of it is
	Start        string            `json:"start"`                // when it is started
	Framing      string            `json:"framing"`              // of its messages, as configured
	Path         string            `json:"path,omitempty"`       // the executable that it means
	SearchPath   string            `json:"searchPath,omitempty"` // the PATH that was searched
	Dir          string            `json:"dir,omitempty"`        // "" is our own working directory
	Environment  []string          `json:"environment"`          // names
	Processes    []process.Proc    `json:"processes"`            // of all instances
	Capabilities json.RawMessage   `json:"capabilities,omitempty"`
	Instructions string            `json:"instructions,omitempty"`
	BothEras     bool              `json:"bothEras"` // a second connection, in the modern era, is open
	Stderr       []string          `json:"stderr"`   // the last 20 lines, safe to show
	Frames       []Frame           `json:"frames"`   // the last 5 of the newest connection, 10 over HTTP
	Timings      Timings           `json:"timings"`
}

// Timings are moments and durations; zero means "not yet".
type Timings struct {
	Began      time.Time     `json:"began"`        // the newest start
	StartTook  time.Duration `json:"startTookNs"`  // the newest successful one, until listed
	ListedAt   time.Time     `json:"listedAt"`     // the newest list
	Heard      time.Time     `json:"heard"`        // anything at all
	LastCall   time.Time     `json:"lastCall"`     // a call that needed it, or its start
	PingTook   time.Duration `json:"pingTookNs"`   // the newest that was answered
	NextLaunch time.Duration `json:"nextLaunchNs"` // pause before the next start while in backoff, without jitter
}

// Debug returns what is known of a server. A server that the configuration forbids
// has a status alone.
func (s *Supervisor) Debug(id string) (Debug, error) {
	fl := s.fleet.Load()
	r := fl.byID[id]
	if r == nil {
		st, ok := s.Status(id)
		if !ok {
			return Debug{}, fl.unknown(id)
		}
		return Debug{Status: st, Environment: []string{}, Processes: []process.Proc{}, Stderr: []string{}, Frames: []Frame{}}, nil
	}
	l := r.live.Load()
	p, c := r.newest().process, r.config()
	d := Debug{
		Status: r.current(l), Written: configText(c), Session: orText(c.Session, config.SessionShared), Start: orText(c.Start, config.StartAuto),
		Framing: orText(c.Framing, config.FramingAuto),
		Path:    p.Path, SearchPath: p.SearchPath, Dir: p.Dir, Environment: orEmpty(p.Environment), Processes: []process.Proc{},
		BothEras: l.modern.usable(), Stderr: orEmpty(s.o.LastLines(id, debugLines, time.Time{})), Frames: []Frame{}, Timings: l.timings,
	}
	if p.Frames != nil {
		d.Frames = p.Frames()
	}
	if u, err := s.o.Usage(id); err == nil {
		d.Processes = orEmpty(u.Tree)
	}
	if l.primary != nil {
		c := l.primary.Catalog()
		d.Capabilities, d.Instructions, d.Timings.ListedAt = c.Capabilities, c.Instructions, c.ListedAt
		d.Timings.Heard = lastHeard(l)
	}
	if used := r.used.Load(); used > 0 {
		d.Timings.LastCall = time.Unix(0, used).UTC()
	}
	return d, nil
}

// newest is the snapshot of whoever was called last: the server's own runner, or an
// instance of it.
func (r *runner) newest() *snapshot {
	latest := r
	for _, one := range r.instances() {
		if one.used.Load() > latest.used.Load() && one.live.Load().process.Frames != nil {
			latest = one
		}
	}
	return latest.live.Load()
}

// configText is what the configuration says of how the server is reached.
func configText(c *config.Server) string {
	if c.URL != "" {
		address, _, _ := strings.Cut(c.URL, "?")
		return address
	}
	return commandText(c)
}

func orText(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// timings are those that the runner knows.
func (r *runner) timings() Timings {
	t := Timings{StartTook: r.took, PingTook: r.pingTook}
	if !r.began.IsZero() {
		t.Began = r.began.UTC()
	}
	if r.state.phase == phaseBackoff {
		t.NextLaunch = backoff(r.config().Restart, r.state.failures)
	}
	return t
}
