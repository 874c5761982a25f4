package history

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal/terminaltest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFilterLanguageOfThePageIsUnderstood(t *testing.T) {
	for text, want := range map[string]string{
		`server:files outcome:error took:>1s "text"`:         "minTookNs=1000000000&outcome=tool_error&q=%22text%22&server=files",
		`two words tool:read client:"Claude Code" took:<5ms`: "client=Claude+Code&maxTookNs=5000000&q=two+words&tool=read",
		`https://x.org/a:b outcome:protocol_error`:           "outcome=protocol_error&q=https%3A%2F%2Fx.org%2Fa%3Ab",
		``: "",
	} {
		var f callFilter
		assert.NoError(t, f.parse(text), text)
		if q, err := f.query(); err != nil || q.Encode() != want {
			t.Errorf("%s: %s, %v; want %s", text, q.Encode(), err, want)
		}
	}
	assert.Error(t, (&callFilter{}).parse("took:>soon"), "took:>soon is taken")
}

func TestTimesAreParsedInCommonForms(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	day := time.Date(2026, 1, 31, 0, 0, 0, 0, time.Local).UTC().Format(time.RFC3339Nano)
	for text, want := range map[string]string{
		"": "", "2h": "2026-03-01T10:00:00Z", "2026-01-31": day, "2026-01-31T10:00:00+02:00": "2026-01-31T08:00:00Z",
	} {
		got, err := parseTime(text, now)
		assert.Truef(t, err == nil && got == want, "%q is %q, %v", text, got, err)
	}
	for _, wrong := range []string{"yesterday", "-2h", "2026-13-01"} {
		got, err := parseTime(wrong, now)
		assert.Errorf(t, err, "%q is %q", wrong, got)
	}
	for _, f := range []callFilter{{outcome: "fine"}, {from: "soon"}, {least: -1}} {
		_, err := f.query()
		assert.Errorf(t, err, "%+v is taken", f)
	}
	q, err := (&callFilter{server: "files", text: "a b", least: time.Millisecond}).query()
	require.NoError(t, err)
	require.Equal(t, "minTookNs=1000000&q=a+b&server=files", q.Encode())
}

func TestInvalidFiltersExit2(t *testing.T) {
	f := terminaltest.New(t, Commands)
	for _, args := range [][]string{{"history", "--limit", "-1"}, {"history", "--limit", "0"}, {"history", "--limit", "501"}, {"history", "--outcome", "bogus"}} {
		got := f.Run(false, args...)
		assert.Truef(t, got.Code == 2 && got.Out == "", "%v: %+v", args, got)
	}
}

// TestHistoryFollowAppliesEveryFilter uses a stream of four calls, two of which match the text
// search. A call that has not finished is not printed.
func TestHistoryFollowAppliesEveryFilter(t *testing.T) {
	f := terminaltest.New(t, Commands)
	row := func(id int, outcome string) string {
		return fmt.Sprintf(`{"id":"%d","at":"2026-01-02T03:04:0%d.000001Z","server":"demo","client":"Cursor","token":"cursor","outcome":"%s","tookNs":%d}`, id, id, outcome, []int{5, 50, 500, 5000}[id])
	}
	var asked []string
	f.Mux.HandleFunc("GET /api/v1/events", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "event: snapshot\ndata: {\"calls\":[]}\n\n: heartbeat\n\nevent: call\ndata: "+row(0, "")+"\n\n")
		for id := range 4 {
			_, _ = io.WriteString(w, "event: call\ndata: "+row(id, "ok")+"\n\n")
		}
	})
	f.Mux.HandleFunc("GET /api/v1/calls", func(w http.ResponseWriter, r *http.Request) {
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
		want []int
	}{
		{nil, []int{0, 1, 2, 3}},
		{[]string{"--search", "invoice"}, []int{1, 3}},
		{[]string{"--search", "invoice", "--max-took", "1us"}, []int{1}},
		{[]string{"--min-took", "50ns", "--max-took", "500ns"}, []int{1, 2}},
		{[]string{"--from", "2026-01-02T03:04:02Z"}, []int{2, 3}},
		{[]string{"--to", "2026-01-02T03:04:01Z"}, []int{0}},
		{[]string{"--client", "cursor"}, []int{0, 1, 2, 3}},
		{[]string{"--client", "Cursor", "--server", "demo"}, []int{0, 1, 2, 3}},
		{[]string{"--client", "Zed"}, nil},
		{[]string{"--server", "other"}, nil},
		{[]string{"--tool", "x"}, nil},
	} {
		want := ""
		for _, id := range c.want {
			want += row(id, "ok") + "\n"
		}
		got := f.Run(false, append([]string{"history", "--follow", "--json"}, c.args...)...)
		assert.Truef(t, got.Out == want && got.Code == 1, "%q: %+v, want\n%s", c.args, got, want)
	}
	if len(asked) != 4 || asked[0] != "invoice 2026-01-02T03:04:00.000001Z 2026-01-02T03:04:03.000002Z " || !strings.HasSuffix(asked[1], " 3") {
		t.Errorf("the history was asked %q", asked)
	}
	got := f.Run(false, "history", "--follow", "--tag", "x")
	assert.Truef(t, got.Code == 2 && strings.Contains(got.Err, "--tag"), "%+v", got)
}

// A call with a task shows the state of the task until the task has ended. A request about a task
// is shown by its own outcome.
func TestHistoryShowsTheStateOfTasks(t *testing.T) {
	f := terminaltest.New(t, Commands)
	row := func(id, outcome, task string) string {
		return `{"id":"` + id + `","at":"2026-01-02T03:04:05Z","server":"demo","tool":"slow","outcome":"` + outcome + `","tookNs":5000000,"task":` + task + `}`
	}
	rows := map[string]string{
		"1": row("1", "ok", `{"call":"1","status":"input_required","ended":false}`),
		"2": row("2", "ok", `{"call":"2","status":"completed","ended":true}`),
		"3": row("3", "cancelled", `{"call":"3","status":"working","ended":false}`),
		"4": row("4", "ok", `{"call":"1","status":"","ended":false}`),
	}
	f.Mux.HandleFunc("GET /api/v1/calls", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"items":[`+strings.Join([]string{rows["1"], rows["2"], rows["3"], rows["4"]}, ",")+`]}`)
	})
	f.Mux.HandleFunc("GET /api/v1/calls/{id}", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, rows[r.PathValue("id")]) })
	lines := strings.Split(strings.TrimSpace(f.Run(false, "history").Out), "\n")
	require.True(t, len(lines) >= 4, lines)
	for i, want := range []string{"input_required - 1", "ok 5ms 2", "cancelled 5ms 3", "ok 5ms 4"} {
		id := want[len(want)-1:]
		for _, got := range []string{lines[len(lines)-4+i], f.Run(false, "history", id).Out} {
			assert.Truef(t, strings.HasSuffix(strings.Join(strings.Fields(got), " "), want), "%q, want %q", got, want)
		}
	}
}

func TestClientNameIsCaseInsensitive(t *testing.T) {
	f := terminaltest.New(t, Commands)
	f.Answer("GET /api/v1/clients", `{"items":[{"token":"codex","name":"codex-mcp-client"},{"token":"","name":"Cursor"}]}`)
	var asked string
	f.Mux.HandleFunc("GET /api/v1/calls", func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Query().Get("client")
		io.WriteString(w, `{"items":[]}`)
	})
	for text, want := range map[string]string{"Codex": "codex", "cursor": "Cursor", "codex": "codex", "gone": "gone"} {
		got := f.Run(true, "history", "--client", text)
		assert.Truef(t, got.Code == 0 && asked == want && got.Out == "No calls match.\n", "%s: %+v, asked for %q", text, got, asked)
	}
	got := f.Run(false, "history")
	assert.Truef(t, got.Code == 0 && got.Err == "No calls match.\n" && strings.HasPrefix(got.Out, "At "), "not on a terminal: %+v", got)
}

// What the table prints in 80 columns opens the call; so does its position.
// A page of the API has at most maxCalls calls.
func TestHistoryCountsBeyondFirstPage(t *testing.T) {
	f := terminaltest.New(t, Commands)
	f.Mux.HandleFunc("GET /api/v1/calls", func(w http.ResponseWriter, r *http.Request) {
		next := map[string]string{"": "b"}[r.URL.Query().Get("before")]
		_, _ = io.WriteString(w, `{"items":[`+strings.Repeat(`{"id":"1"},`, maxCalls-1)+`{"id":"2"}],"next":"`+next+`"}`)
	})
	f.Answer("GET /api/v1/calls/1", `{"id":"1"}`)
	assert.Equal(t, 0, f.Run(false, "history", "999").Code)
}

func TestHistoryPrintsIDsThatCanBeTyped(t *testing.T) {
	f := terminaltest.New(t, Commands)
	row := func(id string) string {
		return `{"id":"` + id + `","at":"` + time.Now().Format(time.RFC3339) + `","client":"claude-code-in-a-terminal","server":"filesystem-of-notes","tool":"list_directory_with_sizes","outcome":"protocol_error","tookNs":4586800000}`
	}
	f.Answer("GET /api/v1/calls", `{"items":[`+row("1795907966123456")+","+row("1795907966000001")+`]}`)
	asked := ""
	f.Mux.HandleFunc("GET /api/v1/calls/{id}", func(w http.ResponseWriter, r *http.Request) {
		asked = r.PathValue("id")
		_, _ = io.WriteString(w, row(asked))
	})
	run := func(args ...string) terminaltest.Result {
		return f.RunWith(t.Context(), func(e *terminal.Env) {
			e.Terminal, e.Getenv = func() bool { return true }, func(string) string { return "80" }
		}, append([]string{"history"}, args...)...)
	}
	lines := strings.Split(run().Out, "\n")
	if fields := strings.Fields(lines[2]); len([]rune(lines[2])) > 80 || len(fields[0]) != len("15:04:05") || fields[4] != "protocol_error" || fields[6] != "66123456" {
		t.Error(strings.Join(lines, "\n"))
	}
	for typed, want := range map[string]string{"66123456": "66123456", "1": "1795907966123456", "2": "1795907966000001"} {
		got := run(typed)
		assert.Truef(t, got.Code == 0 && asked == want, "history %s asked for %s: %+v", typed, asked, got)
	}
	got := run("3")
	assert.Truef(t, got.Code == 1 && strings.Contains(got.Err, "no call 3 among the newest 2"), "%+v", got)
}

func TestPreviewIsNotShownAsACall(t *testing.T) {
	var c callRow
	c.Tool, c.Method = "purge", core.PreviewMethod
	assert.Equal(t, "purge (preview)", c.description())
}
