package history

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal/terminaltest"

	"github.com/stretchr/testify/assert"
)

// TestPruneAsksOnTerminal uses a daemon that would delete three calls, and records the requests
// to it.
func TestPruneAsksOnTerminal(t *testing.T) {
	for _, c := range []struct {
		name     string
		attended bool
		answer   string
		args     []string
		gone     int
		code     int
		bounds   string // limits of the preview request; "": none sent
		pruned   string // limits of the delete request; "": none sent
	}{
		{"no", true, "n\n", []string{"--days", "7"}, 3, 1, `{"keepDays":7,"maxBytes":0}`, ""},
		{"an empty line", true, "\n", []string{"--calls", "7"}, 3, 1, `{"keepDays":0,"maxBytes":0,"maxCalls":7}`, ""},
		{"the end of what is typed", true, "", nil, 3, 1, `{"keepDays":30,"maxBytes":1000}`, ""},
		{"yes", true, "y\n", []string{"--days", "7"}, 3, 0, `{"keepDays":7,"maxBytes":0}`, `{"keepDays":7}`},
		{"yes to the configuration's bounds", true, "yes\n", nil, 3, 0, `{"keepDays":30,"maxBytes":1000}`, `{}`},
		{"nothing would go", true, "", []string{"--bytes", "5"}, 0, 0, `{"keepDays":0,"maxBytes":5}`, `{"maxBytes":5}`},
		{"--yes", true, "", []string{"--yes"}, 3, 0, "", `{}`},
		{"--json", true, "", []string{"--json"}, 3, 2, "", ""},
		{"a script", false, "", []string{"--days", "7"}, 3, 2, "", ""},
		{"a script with --yes", false, "", []string{"--days", "7", "--yes"}, 3, 0, "", `{"keepDays":7}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := terminaltest.New(t, Commands)
			var counted, pruned string
			f.Answer("GET /api/v1/history", `{"calls":9,"keepDays":30,"maxBytes":1000}`)
			f.Mux.HandleFunc("POST /api/v1/history/retention-preview", func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				counted = strings.TrimSpace(string(body))
				fmt.Fprintf(w, `{"calls":%d,"total":9,"estimated":false,"from":"2026-01-02T03:04:05Z","to":"2026-01-03T03:04:05Z"}`, c.gone)
			})
			f.Mux.HandleFunc("POST /api/v1/history/prune", func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				pruned = strings.TrimSpace(string(body))
				fmt.Fprintf(w, `{"deleted":%d}`, c.gone)
			})
			got := f.RunWith(t.Context(), terminaltest.Answering(c.answer, c.attended), append([]string{"history", "prune"}, c.args...)...)
			if got.Code != c.code || counted != c.bounds || pruned != c.pruned {
				t.Errorf("exit %d, counted %q, pruned %q; want %d, %q, %q\n%s%s", got.Code, counted, pruned, c.code, c.bounds, c.pruned, got.Out, got.Err)
			}
			asked := strings.Contains(got.Out, "3 of 9 calls, made between 2026-01-0")
			want := c.bounds != "" && c.gone > 0
			assert.Equal(t, want, asked, got.Out)
			assert.Falsef(t, c.code == 1 && !strings.Contains(got.Err, "nothing was deleted"), "not told: %s", got.Err)
			if c.code == 0 && !strings.Contains(got.Out, map[bool]string{true: `{"deleted":3}`, false: fmt.Sprintf("%d calls deleted\n", c.gone)}[c.name == "--json"]) {
				t.Errorf("not told: %s", got.Out)
			}
		})
	}
}

// The command changes only what it names, and keeps the other settings of recording.
func TestRecordFullIsStartedAndStopped(t *testing.T) {
	f := terminaltest.New(t, Commands)
	for _, name := range []string{"my-files", "My%20Files"} {
		f.Answer("GET /api/v1/servers/"+name, `{"id":"my-files","label":"My Files"}`)
	}
	stored := store.RecordingSettings{Rules: []store.Rule{{Server: "a", Keep: store.KeepMeta}}, Full: []store.FullRecording{{Client: "Cursor", Until: time.Now().Add(time.Hour)}}}
	answer := func(w http.ResponseWriter) {
		body, _ := json.Marshal(stored)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"recording":%s}`, body)
	}
	f.Mux.HandleFunc("GET /api/v1/history", func(w http.ResponseWriter, _ *http.Request) { answer(w) })
	f.Mux.HandleFunc("PUT /api/v1/history/recording", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		stored = store.RecordingSettings{}
		assert.NoError(t, json.Unmarshal(body, &stored))
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
		got := f.Run(false, append([]string{"history", "record-full"}, c.args...)...)
		var names []string
		for _, one := range stored.Full {
			names = append(names, one.Session+one.Client+one.Server)
			if !strings.Contains(got.Out, one.Session+one.Client+one.Server) || one.Until.IsZero() {
				t.Errorf("%v: %s is not shown, or has no end:\n%s", c.args, names[len(names)-1], got.Out)
			}
		}
		assert.Truef(t, got.Code == 0 && strings.Join(names, " ") == c.want && len(stored.Rules) == 1, "%v: %+v, want %s: %s", c.args, stored, c.want, got.Err)
	}
	for _, args := range [][]string{{"--for", "25h", "--session", "s"}, {"--for", "0s", "--session", "s"}, {"--stop"}, {"--for", "1h"}} {
		assert.Equal(t, 2, f.Run(false, append([]string{"history", "record-full"}, args...)...).Code, args)
	}
	got := f.Run(false, "history", "record-full", "--server", "gone")
	assert.Truef(t, got.Code == 1 && len(stored.Full) == 1, "an unknown server: exit code %d, %+v", got.Code, stored.Full)
}
