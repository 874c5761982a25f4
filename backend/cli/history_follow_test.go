package cli

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestHistoryFollowAppliesEveryFilter uses a stream of four calls, two of which match the text
// search.
func TestHistoryFollowAppliesEveryFilter(t *testing.T) {
	f := newFakeDaemon(t)
	var asked []string
	f.mux.HandleFunc("GET /api/v1/events", func(w http.ResponseWriter, _ *http.Request) {
		for id, took := range []int{5, 50, 500, 5000} {
			fmt.Fprintf(w, "event: call\ndata: {\"id\":\"%d\",\"at\":\"2026-01-02T03:04:0%d.000001Z\",\"server\":\"demo\",\"client\":\"Cursor\",\"token\":\"cursor\",\"outcome\":\"ok\",\"tookNs\":%d}\n\n", id, id, took)
		}
	})
	f.mux.HandleFunc("GET /api/v1/calls", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		asked = append(asked, strings.Join([]string{q.Get("q"), q.Get("from"), q.Get("to"), q.Get("before")}, " "))
		if q.Get("before") == "" {
			_, _ = io.WriteString(w, `{"items":[{"id":"3"},{"id":"9"}],"next":"3"}`)
			return
		}
		_, _ = io.WriteString(w, `{"items":[{"id":"1"}]}`)
	})
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "0 1 2 3"},
		{[]string{"--search", "invoice"}, "1 3"},
		{[]string{"--search", "invoice", "--max-took", "1us"}, "1"},
		{[]string{"--min-took", "50ns", "--max-took", "500ns"}, "1 2"},
		{[]string{"--from", "2026-01-02T03:04:02Z"}, "2 3"},
		{[]string{"--to", "2026-01-02T03:04:01Z"}, "0"},
		{[]string{"--client", "cursor"}, "0 1 2 3"},
		{[]string{"--client", "Cursor", "--server", "demo"}, "0 1 2 3"},
		{[]string{"--client", "Zed"}, ""},
		{[]string{"--tool", "x"}, ""},
	} {
		got := f.run(false, append([]string{"history", "--follow", "--json"}, c.args...)...)
		var ids []string
		for _, l := range strings.Split(strings.TrimSpace(got.out), "\n") {
			if _, rest, ok := strings.Cut(l, `{"id":"`); ok {
				ids = append(ids, rest[:1])
			}
		}
		if strings.Join(ids, " ") != c.want || got.code != 1 {
			t.Errorf("%q prints %q, want %q: %+v", c.args, ids, c.want, got)
		}
	}
	if len(asked) != 4 || asked[0] != "invoice 2026-01-02T03:04:00.000001Z 2026-01-02T03:04:03.000002Z " || !strings.HasSuffix(asked[1], " 3") {
		t.Errorf("the history was asked %q", asked)
	}
	if got := f.run(false, "history", "--follow", "--tag", "x"); got.code != 2 || !strings.Contains(got.errOut, "--tag") {
		t.Errorf("%+v", got)
	}
}

// A call with a task shows the state of the task until the task has ended. A request about a task
// is shown by its own outcome.
func TestHistoryShowsTheStateOfTasks(t *testing.T) {
	f := newFakeDaemon(t)
	row := func(id, outcome, task string) string {
		return `{"id":"` + id + `","at":"2026-01-02T03:04:05Z","server":"demo","tool":"slow","outcome":"` + outcome + `","tookNs":5000000,"task":` + task + `}`
	}
	rows := map[string]string{
		"1": row("1", "ok", `{"call":"1","status":"input_required","ended":false}`),
		"2": row("2", "ok", `{"call":"2","status":"completed","ended":true}`),
		"3": row("3", "cancelled", `{"call":"3","status":"working","ended":false}`),
		"4": row("4", "ok", `{"call":"1","status":"","ended":false}`),
	}
	f.mux.HandleFunc("GET /api/v1/calls", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"items":[`+strings.Join([]string{rows["1"], rows["2"], rows["3"], rows["4"]}, ",")+`]}`)
	})
	f.mux.HandleFunc("GET /api/v1/calls/{id}", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, rows[r.PathValue("id")]) })
	lines := strings.Split(strings.TrimSpace(f.run(false, "history").out), "\n")
	if len(lines) < 4 {
		t.Fatal(lines)
	}
	for i, want := range []string{"input_required - 1", "ok 5ms 2", "cancelled 5ms 3", "ok 5ms 4"} {
		id := want[len(want)-1:]
		for _, got := range []string{lines[len(lines)-4+i], f.run(false, "history", id).out} {
			if !strings.HasSuffix(strings.Join(strings.Fields(got), " "), want) {
				t.Errorf("%q, want %q", got, want)
			}
		}
	}
}
