package store

import (
	"fmt"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// MaxFullField is the maximum number of bytes of arguments, result or error that are recorded while
// a FullRecording applies, unless SetMaxField permits more.
const MaxFullField = 8 << 20

const (
	maxFullRecordings = 20
	maxFullDuration   = 24 * time.Hour
)

// FullRecording records payloads up to MaxFullField, for the calls of one session, client or
// server, until a time. It does not change which calls are recorded, nor what is redacted.
type FullRecording struct {
	Session string    `json:"session,omitempty" maxLength:"200"`
	Client  string    `json:"client,omitempty" maxLength:"1000" doc:"Name of the application, or of its token"`
	Server  string    `json:"server,omitempty" maxLength:"256"`
	Until   time.Time `json:"until" doc:"At most 24 hours from now"`
}

func (f *FullRecording) matches(call *core.Call, server string) bool {
	switch {
	case f.Session != "":
		return f.Session == call.Session
	case f.Client != "":
		return f.Client == call.Client.Name || f.Client == call.Client.Token
	}
	return f.Server == server
}

// SetFullSession sets the session of the configuration whose payloads are recorded in full, or "".
func (r *Recorder) SetFullSession(session string) {
	updateRules(&r.rules, func(n *rules) { n.fullSession = session })
}

func checkFull(list []FullRecording, now time.Time) error {
	if len(list) > maxFullRecordings {
		return invalid("full", fmt.Sprintf("must contain at most %d entries", maxFullRecordings))
	}
	for i, f := range list {
		set := 0
		for _, name := range []string{f.Session, f.Client, f.Server} {
			if name != "" {
				set++
			}
		}
		if set != 1 {
			return invalid(fmt.Sprintf("full[%d]", i), "must have exactly one of session, client or server")
		}
		if f.Until.After(now.Add(maxFullDuration)) {
			return invalid(fmt.Sprintf("full[%d].until", i), "must be at most 24 hours from now")
		}
	}
	return nil
}

// withoutEnded returns the settings without the full recordings that have ended.
func (r RecordingSettings) withoutEnded(now time.Time) RecordingSettings {
	if slices.ContainsFunc(r.Full, func(f FullRecording) bool { return !now.Before(f.Until) }) {
		r.Full = slices.DeleteFunc(slices.Clone(r.Full), func(f FullRecording) bool { return !now.Before(f.Until) })
	}
	return r
}
