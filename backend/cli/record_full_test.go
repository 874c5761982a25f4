package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// The command changes only what it names, and keeps the other settings of recording.
func TestRecordFullIsStartedAndStopped(t *testing.T) {
	f := newFakeDaemon(t)
	for _, name := range []string{"my-files", "My%20Files"} {
		f.answer("GET /api/v1/servers/"+name, `{"id":"my-files","label":"My Files"}`)
	}
	stored := store.RecordingSettings{Rules: []store.Rule{{Server: "a", Keep: store.KeepMeta}}, Full: []store.FullRecording{{Client: "Cursor", Until: time.Now().Add(time.Hour)}}}
	answer := func(w http.ResponseWriter) {
		body, _ := json.Marshal(stored)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"recording":%s}`, body)
	}
	f.mux.HandleFunc("GET /api/v1/history", func(w http.ResponseWriter, _ *http.Request) { answer(w) })
	f.mux.HandleFunc("PUT /api/v1/history/recording", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		stored = store.RecordingSettings{}
		if err := json.Unmarshal(body, &stored); err != nil {
			t.Error(err)
		}
		answer(w)
	})
	for _, c := range []struct {
		args []string
		want string // what is recorded in full afterwards
	}{
		{[]string{"--session", "s1", "--for", "30m"}, "Cursor s1"},
		{[]string{"--session", "s1"}, "Cursor s1"},
		{[]string{"--server", "My Files"}, "Cursor s1 my-files"},
		{nil, "Cursor s1 my-files"},
		{[]string{"--client", "Cursor", "--stop"}, "s1 my-files"},
		{[]string{"--server", "my-files", "--stop"}, "s1"},
	} {
		got := f.run(false, append([]string{"history", "record-full"}, c.args...)...)
		var names []string
		for _, one := range stored.Full {
			names = append(names, one.Session+one.Client+one.Server)
			if !strings.Contains(got.out, one.Session+one.Client+one.Server) || one.Until.IsZero() {
				t.Errorf("%v: %s is not shown, or has no end:\n%s", c.args, names[len(names)-1], got.out)
			}
		}
		if got.code != 0 || strings.Join(names, " ") != c.want || len(stored.Rules) != 1 {
			t.Errorf("%v: %+v, want %s: %s", c.args, stored, c.want, got.errOut)
		}
	}
	for _, args := range [][]string{{"--for", "25h", "--session", "s"}, {"--for", "0s", "--session", "s"}, {"--stop"}, {"--for", "1h"}} {
		if got := f.run(false, append([]string{"history", "record-full"}, args...)...); got.code != 2 {
			t.Errorf("%v: exit code %d, %s", args, got.code, got.errOut)
		}
	}
	if got := f.run(false, "history", "record-full", "--server", "gone"); got.code != 1 || len(stored.Full) != 1 {
		t.Errorf("an unknown server: exit code %d, %+v", got.code, stored.Full)
	}
}
