package supervisor

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// debugLines is the number of lines of stderr in a Debug.
const debugLines = 20

// Debug is the information that helps the user to debug a server. It contains no values of
// variables. Frames are the messages as they were exchanged, secrets included.
type Debug struct {
	Status       core.ServerStatus `json:"status"`
	Configured   string            `json:"configured"`           // the command as configured
	Session      string            `json:"session"`              // which calls share a process
	Start        string            `json:"start"`                // when the server is started
	Framing      string            `json:"framing"`              // message framing, as configured
	Path         string            `json:"path,omitempty"`       // the resolved executable
	SearchPath   string            `json:"searchPath,omitempty"` // the PATH that was searched
	Dir          string            `json:"dir,omitempty"`        // working directory; "" is that of Drawbridge
	Environment  []string          `json:"environment"`          // names
	Processes    []process.Proc    `json:"processes"`            // of all instances
	Capabilities json.RawMessage   `json:"capabilities,omitempty"`
	Instructions string            `json:"instructions,omitempty"`
	BothEras     bool              `json:"bothEras"` // a second connection, in the modern era, is open
	Stderr       []string          `json:"stderr"`   // the last 20 lines, cleaned by serverlog.Clean
	Frames       []upstream.Frame  `json:"frames"`   // the last 5 of the newest connection, 10 over HTTP
	Timings      Timings           `json:"timings"`
}

// Timings are points in time and durations. Zero means "not yet".
type Timings struct {
	Began       time.Time     `json:"began"`        // when the newest start began
	StartTook   time.Duration `json:"startTookNs"`  // duration of the newest successful start, until the catalog was read
	ListedAt    time.Time     `json:"listedAt"`     // when a list was last read
	LastMessage time.Time     `json:"lastMessage"`  // when the server last sent anything
	LastCall    time.Time     `json:"lastCall"`     // when the server was last called or started
	PingTook    time.Duration `json:"pingTookNs"`   // round-trip time of the newest answered ping
	NextLaunch  time.Duration `json:"nextLaunchNs"` // in backoff: delay before the next start, without jitter
}

// Debug returns the debug information of a server. For a server whose configuration is invalid,
// only Status is set.
func (s *Supervisor) Debug(id string) (Debug, error) {
	fl := s.fleet.Load()
	r := fl.byID[id]
	if r == nil {
		st, ok := s.Status(id)
		if !ok {
			return Debug{}, fl.unknownError(id)
		}
		return Debug{Status: st, Environment: []string{}, Processes: []process.Proc{}, Stderr: []string{}, Frames: []upstream.Frame{}}, nil
	}
	l := r.live.Load()
	p, c := r.mostRecentSnapshot().process, r.config()
	d := Debug{
		Status: r.current(l), Configured: configText(c), Session: cmp.Or(c.Session, config.SessionShared), Start: cmp.Or(c.Start, config.StartAuto),
		Framing: cmp.Or(c.Framing, config.FramingAuto),
		Path:    p.Path, SearchPath: p.SearchPath, Dir: p.Dir, Environment: orEmpty(p.Environment), Processes: []process.Proc{},
		BothEras: l.modern.usable(), Stderr: orEmpty(s.o.LastLines(id, debugLines, time.Time{})), Frames: []upstream.Frame{}, Timings: l.timings,
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
		d.Timings.LastMessage = lastHeard(l)
	}
	if used := r.lastUsed.Load(); used > 0 {
		d.Timings.LastCall = time.Unix(0, used).UTC()
	}
	return d, nil
}

// mostRecentSnapshot returns the snapshot of the runner that was used last: the server's own
// runner or one of its instances.
func (r *runner) mostRecentSnapshot() *snapshot {
	latest := r
	for _, one := range r.instances() {
		if one.lastUsed.Load() > latest.lastUsed.Load() && one.live.Load().process.Frames != nil {
			latest = one
		}
	}
	return latest.live.Load()
}

// configText returns the command or the URL without its query, as in the configuration.
func configText(c *config.Server) string {
	if c.URL != "" {
		address, _, _ := strings.Cut(c.URL, "?")
		return address
	}
	return commandText(c)
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// timings returns the timings that the runner knows.
func (r *runner) timings() Timings {
	t := Timings{StartTook: r.startDuration, PingTook: r.pingDuration}
	if !r.startedAt.IsZero() {
		t.Began = r.startedAt.UTC()
	}
	if r.state.phase == phaseBackoff {
		t.NextLaunch = backoff(r.config().Restart, r.state.failures)
	}
	return t
}
