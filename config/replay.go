package config

import (
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Replay configures a server that consists of recorded calls. Exactly one of File and Server is
// set.
type Replay struct {
	File   string `json:",omitempty" key:"file"`   // a cassette
	Server string `json:",omitempty" key:"server"` // id of the server whose history is served
	// Session, Account, Tag, Since and Until limit which calls of Server are served.
	Session string    `json:",omitempty" key:"session"`
	Account string    `json:",omitempty" key:"account"` // of Server; required if the calls used several
	Tag     string    `json:",omitempty" key:"tag"`
	Since   time.Time `json:",omitzero"`
	Until   time.Time `json:",omitzero"`
	// Misses is MissesStrict, MissesNearest or MissesPassthrough.
	Misses   string `json:",omitempty"`
	Realtime bool   `json:",omitempty"` // responses take as long as recorded
}

// What answers a request that is not recorded.
const (
	MissesStrict      = "strict"      // an error
	MissesNearest     = "nearest"     // the recorded call with the most similar arguments
	MissesPassthrough = "passthrough" // the live server
)

func replayFields(to *Replay) []field {
	return schemaTree().Defs["server"].Properties["from"].fields(to, pointInTime("since", &to.Since), pointInTime("until", &to.Until))
}

func pointInTime(name string, to *time.Time) field {
	return field{name, func(r *reader, name string, _ Position, n *node) {
		if n.kind != kindString {
			r.reportWrongKind(n, name, `a time such as "2026-01-31T10:00:00Z"`)
			return
		}
		at, err := time.Parse(time.RFC3339, n.text)
		if err != nil {
			r.errorf(n.at, name, `'%s'%s must be a time such as "2026-01-31T10:00:00Z"`, name, r.inServer())
			return
		}
		*to = at.UTC()
	}}
}

// replay validates the source of a replay server.
func (r *reader) replay(e *entry, m member) {
	p := &e.Replay
	at := r.keyAt(e, m, "from")
	p.File = inHome(p.File)
	if p.Server != "" {
		p.Server = core.Slug(p.Server)
	}
	switch limited := p.Session != "" || p.Account != "" || p.Tag != "" || !p.Since.IsZero() || !p.Until.IsZero(); {
	case p.File == "" && p.Server == "":
		r.report(at, "from", false, "set from.file, the path of a cassette, or from.server", "missing 'from' in %s server '%s'", e.Type, e.Label)
	case p.File != "" && p.Server != "":
		r.report(at, "from", false, "keep one of them", "both 'file' and 'server' in 'from'%s", r.inServer())
	case p.File != "" && limited:
		r.report(at, "from", false, "remove them", "'session', 'account', 'tag', 'since' and 'until'%s apply only to the history of a server, not to a file", r.inServer())
	case strings.EqualFold(p.Server, e.ID):
		r.report(at, "from.server", false, "name another server", "server '%s' cannot replay itself", e.Label)
	case !p.Since.IsZero() && !p.Until.IsZero() && !p.Since.Before(p.Until):
		r.report(at, "from.until", false, "", "'until'%s must be after 'since'", r.inServer())
	case p.File != "" && p.Misses == MissesPassthrough:
		r.report(r.keyAt(e, m, "misses"), "misses", false, "use strict or nearest", "'misses'%s can be passthrough only with from.server, which is the live server", r.inServer())
	}
}
