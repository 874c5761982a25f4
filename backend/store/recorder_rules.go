package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"sync/atomic"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"
)

// RecordLevel is how much of a call is recorded.
type RecordLevel string

const (
	KeepFull    RecordLevel = "full"
	KeepMeta    RecordLevel = "meta" // everything except arguments, reply, error message and stack trace
	KeepNothing RecordLevel = "off"
)

// RecordingSettings is the user's settings for recording.
type RecordingSettings struct {
	Paused bool   `json:"paused"`
	Rules  []Rule `json:"rules,omitempty"`
	// Full lists what is recorded in full for a while.
	Full []FullRecording `json:"full,omitempty" doc:"What is recorded with payloads of up to 8 MiB for a while"`
}

// Rule sets the record level of the calls of a server, or of one of its tools. A rule for a tool
// has precedence over a rule for its server.
type Rule struct {
	Server string      `json:"server"`
	Tool   string      `json:"tool,omitempty"` // "": all tools
	Keep   RecordLevel `json:"record"`
}

// maxRecordingRules is the maximum length of Recording.Rules.
const maxRecordingRules = 1000

func updateRules(at *atomic.Pointer[rules], f func(*rules)) {
	for {
		old := at.Load()
		next := *old
		f(&next)
		if at.CompareAndSwap(old, &next) {
			return
		}
	}
}

// SetEnabled turns recording on or off. It is the setting of the configuration, independent of the
// user's Recording.
func (r *Recorder) SetEnabled(on bool) { updateRules(&r.rules, func(n *rules) { n.off = !on }) }

// SetMaxField sets the maximum number of bytes recorded of the arguments, and of the reply, of a
// call.
func (r *Recorder) SetMaxField(bytes int) {
	updateRules(&r.rules, func(n *rules) { n.maxField = max(bytes, 0) })
}

// Tool identifies a tool by the name that its server uses.
type Tool struct{ Server, Name string }

// SetCeiling sets the maximum record levels of the configuration, by server and by tool. A level
// for a tool has precedence over the level for its server. The Recorder keeps the maps, which must
// not be modified afterwards.
func (r *Recorder) SetCeiling(byServer map[string]RecordLevel, byTool map[Tool]RecordLevel) {
	updateRules(&r.rules, func(n *rules) {
		n.ceiling, n.toolCeiling = byServer, byTool
		for name := range n.renamed {
			if _, again := byServer[name]; again { // the name belongs to another server now
				n.renamed = maps.Clone(n.renamed)
				delete(n.renamed, name)
			}
		}
	})
}

// SetSecrets sets the secret values and patterns that are removed from recorded calls. Values are
// also found in their encoded spellings (JSON, URL, base64). Values of less than 6 bytes are
// ignored. It returns the number of other values that are not searched for, because there are too
// many.
func (r *Recorder) SetSecrets(values []string, patterns []*regexp.Regexp) (missed int) {
	known := redact.NewValues(values)
	updateRules(&r.rules, func(n *rules) { n.secrets = redact.Redactor{Values: known, Patterns: patterns} })
	return known.Missed()
}

// Redact returns text without the secrets that are removed from recorded calls.
func (r *Recorder) Redact(text string) string { return r.rules.Load().secrets.Text(text) }

// RedactJSON returns JSON text without the secrets that are removed from recorded calls.
func (s *Store) RedactJSON(text []byte) []byte {
	return s.recorder.rules.Load().secrets.AppendJSON(nil, text)
}

// Recording returns the user's settings for recording.
func (s *Store) Recording() RecordingSettings {
	return s.recorder.rules.Load().RecordingSettings.withoutEnded(s.opts.Now())
}

// SaveRecording validates, applies and stores the user's settings for recording. If the database
// cannot be written, they apply until the program ends.
func (s *Store) SaveRecording(ctx context.Context, want RecordingSettings) error {
	if len(want.Rules) > maxRecordingRules {
		return invalid("rules", fmt.Sprintf("must contain at most %d rules", maxRecordingRules))
	}
	for i, r := range want.Rules {
		switch {
		case r.Server == "":
			return invalid(fmt.Sprintf("rules[%d].server", i), "is required")
		case r.Keep != KeepFull && r.Keep != KeepMeta && r.Keep != KeepNothing:
			return invalid(fmt.Sprintf("rules[%d].record", i), "must be full, meta or off")
		}
	}
	if err := checkFull(want.Full, s.opts.Now()); err != nil {
		return err
	}
	want = want.withoutEnded(s.opts.Now())
	before := s.Recording()
	updateRules(&s.recorder.rules, func(n *rules) { n.RecordingSettings = want }) // before they are stored, so that pausing works while the disk is full
	document, err := json.Marshal(want)
	if err != nil {
		return err
	}
	if err := s.SaveMetadata(ctx, recordingKey, document); err != nil {
		if core.CodeOf(err) == core.CodeUnavailable {
			return nil // nothing can be recorded either
		}
		updateRules(&s.recorder.rules, func(n *rules) { n.RecordingSettings = before })
		return err
	}
	return nil
}

const recordingKey = "recording"

func (s *Store) loadRecording(ctx context.Context) error {
	document, ok, err := s.Metadata(ctx, recordingKey)
	if err != nil || !ok {
		return err
	}
	var want RecordingSettings
	if err := json.Unmarshal(document, &want); err != nil {
		return err
	}
	updateRules(&s.recorder.rules, func(n *rules) { n.RecordingSettings = want })
	return nil
}
