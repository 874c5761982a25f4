package store

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

func TestPayloadsAreRecordedInFullOnlyWhereAndWhileAsked(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var past atomic.Int64
	b := openAt(t, filepath.Join(t.TempDir(), "history.db"), func() time.Time { return now.Add(time.Duration(past.Load())) })
	b.Recorder().SetSecrets([]string{canary}, nil)
	until := now.Add(time.Hour)
	b.Recorder().SetFullSession("configured")
	must(t, b.SaveRecording(t.Context(), RecordingSettings{Full: []FullRecording{{Session: "chosen", Until: until}, {Client: "agent", Until: until}, {Server: "web", Until: until}}}))
	long := json.RawMessage(`{"secret":"` + canary + `","content":"` + strings.Repeat("é", 1<<20) + `"}`)
	full := func(n int, change func(*core.Call)) bool {
		t.Helper()
		c := aCall(n)
		c.Session, c.Client, c.Server = "other", core.Client{Name: "other"}, "files"
		change(c)
		b.Recorder().Record(c, core.Reply{Result: long})
		r, err := b.Call(t.Context(), c.ID)
		must(t, err)
		if bytes.Contains(r.Result, []byte(canary)) {
			t.Error("a secret is recorded")
		}
		return r.ReplyCut == nil
	}
	for n, c := range []struct {
		what   string
		want   bool
		change func(*core.Call)
	}{
		{"another call", false, func(*core.Call) {}},
		{"the session", true, func(c *core.Call) { c.Session = "chosen" }},
		{"the session of the configuration", true, func(c *core.Call) { c.Session = "configured" }},
		{"the client", true, func(c *core.Call) { c.Client.Name = "agent" }},
		{"the token", true, func(c *core.Call) { c.Client.Token = "agent" }},
		{"the server", true, func(c *core.Call) { c.Server = "web" }},
	} {
		if got := full(n, c.change); got != c.want {
			t.Errorf("%s is recorded in full: %v", c.what, got)
		}
	}
	past.Store(int64(time.Hour))
	if full(10, func(c *core.Call) { c.Session = "chosen" }) || len(b.Recording().Full) != 0 {
		t.Error("recording in full does not end by itself")
	}
	past.Store(0)
	must(t, b.SaveRecording(t.Context(), RecordingSettings{Full: []FullRecording{{Session: "chosen", Until: until}}}))
	long = json.RawMessage(`"` + strings.Repeat("x", MaxFullField) + `"`)
	if full(11, func(c *core.Call) { c.Session = "chosen" }) {
		t.Error("recording in full has no limit")
	}
	for _, wrong := range []FullRecording{{Until: until}, {Session: "a", Client: "b", Until: until}, {Session: "a", Until: now.Add(25 * time.Hour)}} {
		if err := b.SaveRecording(t.Context(), RecordingSettings{Full: []FullRecording{wrong}}); core.CodeOf(err) != core.CodeValidation {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}

// A result that is truncated for its client must be in the history unchanged.
func TestRecorderStatesWhichResultsItKeepsUnchanged(t *testing.T) {
	t.Parallel()
	b := open(t, filepath.Join(t.TempDir(), "history.db"))
	b.Recorder().SetSecrets([]string{canary}, nil)
	must(t, b.SaveRecording(t.Context(), RecordingSettings{Rules: []Rule{{Server: "meta", Keep: KeepMeta}, {Server: "off", Keep: KeepNothing}}}))
	text := func(n int) json.RawMessage {
		return json.RawMessage(`{"content":[{"type":"text","text":"` + strings.Repeat("x", n) + `"}]}`)
	}
	for n, q := range []struct {
		what, server string
		result       json.RawMessage
		kept         bool
	}{
		{"short", "files", text(10), true},
		{"longer than others are recorded", "files", text(MaxField * 3), true},
		{"longer than any is recorded", "files", text(MaxFullField + 1), false},
		{"with a secret", "files", json.RawMessage(`{"content":[{"type":"text","text":"` + canary + `"}]}`), false},
		{"without payloads", "meta", text(10), false},
		{"not recorded", "off", text(10), false},
	} {
		c := aCall(n)
		c.Server, c.RecordedUnchangedAs = q.server, new(int64)
		b.Recorder().Record(c, core.Reply{Result: q.result})
		if (*c.RecordedUnchangedAs == c.ID) != q.kept || !q.kept && *c.RecordedUnchangedAs != 0 {
			t.Errorf("%s: kept as %d", q.what, *c.RecordedUnchangedAs)
		}
		if r, err := b.Call(t.Context(), c.ID); q.kept && (err != nil || r.ReplyCut != nil || !bytes.Equal(r.Result, q.result)) {
			t.Errorf("%s: the history holds another result: %v", q.what, err)
		}
	}
	b.Recorder().mu.Lock()
	b.Recorder().fault = faultNewer
	b.Recorder().mu.Unlock()
	c := aCall(100)
	c.RecordedUnchangedAs = new(int64)
	if b.Recorder().Record(c, core.Reply{Result: text(10)}); *c.RecordedUnchangedAs != 0 {
		t.Error("a recorder that cannot write states that it keeps a result")
	}
}
