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
	if err := b.SaveRecording(t.Context(), Recording{Full: []FullRecording{{Session: "chosen", Until: until}, {Client: "agent", Until: until}, {Server: "web", Until: until}}}); err != nil {
		t.Fatal(err)
	}
	long := json.RawMessage(`{"secret":"` + canary + `","content":"` + strings.Repeat("é", 1<<20) + `"}`)
	full := func(n int, change func(*core.Call)) bool {
		t.Helper()
		c := aCall(n)
		c.Session, c.Client, c.Server = "other", core.Client{Name: "other"}, "files"
		change(c)
		b.Recorder().Record(c, core.Reply{Result: long})
		r, err := b.Call(t.Context(), c.ID)
		if err != nil {
			t.Fatal(err)
		}
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
	if err := b.SaveRecording(t.Context(), Recording{Full: []FullRecording{{Session: "chosen", Until: until}}}); err != nil {
		t.Fatal(err)
	}
	long = json.RawMessage(`"` + strings.Repeat("x", MaxFullField) + `"`)
	if full(11, func(c *core.Call) { c.Session = "chosen" }) {
		t.Error("recording in full has no limit")
	}
	for _, wrong := range []FullRecording{{Until: until}, {Session: "a", Client: "b", Until: until}, {Session: "a", Until: now.Add(25 * time.Hour)}} {
		if err := b.SaveRecording(t.Context(), Recording{Full: []FullRecording{wrong}}); core.CodeOf(err) != core.CodeValidation {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}
