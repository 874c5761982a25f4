package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"sync/atomic"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// RecordLevel says what is kept of a call.
type RecordLevel string

const (
	KeepFull    RecordLevel = "full"
	KeepMeta    RecordLevel = "meta" // all but arguments, reply and the sentence of an error
	KeepNothing RecordLevel = "off"
)

// Recording is what the user decided about recording.
type Recording struct {
	Paused bool   `json:"paused"`
	Rules  []Rule `json:"rules,omitempty"`
}

// Rule says what is kept of the calls of a server, or of one tool of it. That of a tool
// wins over that of its server.
type Rule struct {
	Server string      `json:"server"`
	Tool   string      `json:"tool,omitempty"` // "": all
	Keep   RecordLevel `json:"record"`
}

// maxRules bounds Recording.Rules.
const maxRules = 1000

// rules are what Record looks at; they are replaced, never changed.
type rules struct {
	Recording
	off      bool // in the configuration
	maxField int
	known    *secretValues
	patterns []*regexp.Regexp
	ceiling  map[string]RecordLevel // by server, in the configuration: no rule keeps more
	ofTool   map[Tool]RecordLevel   // the same of single tools; it wins
	renamed  map[string]string      // by the name that a server had when a call began
	harmless *harmless              // names in which no secret was found
}

func (r *rules) levelFor(server, tool string) RecordLevel {
	if r.off || r.Paused {
		return KeepNothing
	}
	keep, most := KeepFull, r.ceiling[server]
	if len(r.ofTool) > 0 && tool != "" {
		if own, ok := r.ofTool[Tool{server, tool}]; ok {
			most = own
		}
	}
	if most == KeepNothing {
		return KeepNothing
	}
	for i := range r.Rules {
		if one := &r.Rules[i]; one.Server == server {
			if one.Tool == tool && tool != "" {
				keep = one.Keep
				break
			}
			if one.Tool == "" {
				keep = one.Keep
			}
		}
	}
	if keep == KeepFull && most == KeepMeta {
		return KeepMeta
	}
	return keep
}

func change(at *atomic.Pointer[rules], f func(*rules)) {
	for {
		old := at.Load()
		next := *old
		f(&next)
		next.harmless = new(harmless)
		if at.CompareAndSwap(old, &next) {
			return
		}
	}
}

// SetEnabled turns recording on or off, as the configuration says.
func (r *Recorder) SetEnabled(on bool) { change(&r.rules, func(n *rules) { n.off = !on }) }

// SetMaxField changes how many bytes are kept of arguments, and of a reply.
func (r *Recorder) SetMaxField(bytes int) {
	change(&r.rules, func(n *rules) { n.maxField = max(bytes, 0) })
}

// Tool is a tool by the name that its server gave it.
type Tool struct{ Server, Name string }

// SetCeiling says what is kept of each server's calls at most, as the configuration says,
// and of single tools, where it says more of them.
func (r *Recorder) SetCeiling(byServer map[string]RecordLevel, byTool map[Tool]RecordLevel) {
	change(&r.rules, func(n *rules) {
		n.ceiling, n.ofTool = byServer, byTool
		for name := range n.renamed {
			if _, again := byServer[name]; again { // it is another server's now
				n.renamed = maps.Clone(n.renamed)
				delete(n.renamed, name)
			}
		}
	})
}

// SetSecrets says which values must never be kept, in whatever spelling they travel, and
// what else, by pattern. Values of less than six bytes are not looked for. It returns how
// many of the others are not, because there are too many.
func (r *Recorder) SetSecrets(values []string, patterns []*regexp.Regexp) (missed int) {
	k := newSecretValues(values)
	change(&r.rules, func(n *rules) { n.known, n.patterns = k, patterns })
	if k == nil {
		return 0
	}
	return k.missed
}

// Redact takes out of a text what is never kept of a call.
func (r *Recorder) Redact(text string) string { return r.rules.Load().text(text) }

// Recording returns what the user decided.
func (s *Store) Recording() Recording { return s.recorder.rules.Load().Recording }

// SaveRecording changes what is recorded from now on, and keeps it for the next run.
func (s *Store) SaveRecording(ctx context.Context, want Recording) error {
	if len(want.Rules) > maxRules {
		return invalid("rules", fmt.Sprintf("must be at most %d", maxRules))
	}
	for i, r := range want.Rules {
		switch {
		case r.Server == "":
			return invalid(fmt.Sprintf("rules[%d].server", i), "is needed")
		case r.Keep != KeepFull && r.Keep != KeepMeta && r.Keep != KeepNothing:
			return invalid(fmt.Sprintf("rules[%d].record", i), "must be full, meta or off")
		}
	}
	before := s.Recording()
	change(&s.recorder.rules, func(n *rules) { n.Recording = want }) // first, so that a pause works with a full disk as well
	document, err := json.Marshal(want)
	if err != nil {
		return err
	}
	if err := s.SaveMetadata(ctx, recordingFact, document); err != nil {
		if core.CodeOf(err) == core.CodeUnavailable {
			return nil // nothing is recorded anyway
		}
		change(&s.recorder.rules, func(n *rules) { n.Recording = before })
		return err
	}
	return nil
}

const recordingFact = "recording"

func (s *Store) loadRecording(ctx context.Context) error {
	document, ok, err := s.Metadata(ctx, recordingFact)
	if err != nil || !ok {
		return err
	}
	var want Recording
	if err := json.Unmarshal(document, &want); err != nil {
		return err
	}
	change(&s.recorder.rules, func(n *rules) { n.Recording = want })
	return nil
}
