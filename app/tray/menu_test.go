package tray

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/build/icons"

	"github.com/google/go-cmp/cmp"
)

func status(id string, state core.State) core.ServerStatus {
	return core.ServerStatus{ID: id, Label: id, State: state}
}

func TestMenuShowsOverallState(t *testing.T) {
	for _, c := range []struct {
		name    string
		states  []core.State
		notices []string
		icon    Icon
		summary string
		idle    string
	}{
		{"nothing configured", nil, nil, IconPaused, "No servers are configured", "No servers are configured"},
		{"all disabled", []core.State{core.StateDisabled}, nil, IconPaused, "The only server is disabled", "The only server is disabled"},
		{"one runs", []core.State{core.StateRunning}, nil, IconOK, "1 of 1 server running", ""},
		{"one starts", []core.State{core.StateStarting, core.StateRunning}, nil, IconOK, "1 of 2 servers running", ""},
		{"disabled ones do not count", []core.State{core.StateRunning, core.StateDisabled}, nil, IconOK, "1 of 1 server running", ""},
		{"stopped on purpose", []core.State{core.StateStopped, core.StateStopped}, nil, IconPaused, "0 of 2 servers running", ""},
		{"degraded counts as running", []core.State{core.StateDegraded}, nil, IconAttention, "1 of 1 server running", ""},
		{"waiting", []core.State{core.StateRunning, core.StateWaiting}, nil, IconAttention, "1 of 2 servers running", ""},
		{"restarting", []core.State{core.StateRestarting, core.StateRunning}, nil, IconAttention, "1 of 2 servers running", ""},
		{"the user is needed", []core.State{core.StateNeedsSignIn, core.StateNeedsApproval}, nil, IconAttention, "0 of 2 servers running", ""},
		{"the worst one decides", []core.State{core.StateFailed, core.StateDegraded, core.StateRunning}, nil, IconError, "2 of 3 servers running", ""},
		{"a notice needs attention", []core.State{core.StateRunning}, []string{"recording paused"}, IconAttention, "1 of 1 server running", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var statuses []core.ServerStatus
			for i, s := range c.states {
				statuses = append(statuses, status(fmt.Sprint("s", i), s))
			}
			m := menuOf(statuses, c.notices, MenuState{Idle: c.idle}, nil)
			if m.Icon != c.icon || m.Summary != c.summary {
				t.Fatalf("icon %q, %q; want %q, %q", m.Icon, m.Summary, c.icon, c.summary)
			}
			if want := "Drawbridge: " + strings.ToLower(c.summary[:1]) + c.summary[1:]; m.Tooltip != want {
				t.Fatalf("tooltip %q", m.Tooltip)
			}
		})
	}
}

func TestMenuListsEachServer(t *testing.T) {
	running := status("files", core.StateRunning)
	running.Tools = 14
	one := status("one", core.StateRunning)
	one.Tools = 1
	crashed := status("broken", core.StateFailed)
	crashed.Label, crashed.Reason = "Broken One", "exited with 1:\n\tno such\u202efile"
	want := []ServerLine{
		{ID: "files", Text: "● files: running, 14 tools", Stop: true, Restart: true},
		{ID: "one", Text: "● one: running, 1 tool", Stop: true, Restart: true},
		{ID: "broken", Text: "✕ Broken One: failed", Reason: "exited with 1: no suchfile", Start: true},
		{ID: "slow", Text: "◌ slow: starting", Stop: true},
		{ID: "docker", Text: "◌ docker: waiting", Stop: true},
		{ID: "again", Text: "◌ again: restarting", Start: true, Stop: true},
		{ID: "half", Text: "◐ half: degraded", Stop: true, Restart: true},
		{ID: "login", Text: "◐ login: needs sign-in", Start: true},
		{ID: "ask", Text: "◐ ask: needs approval"},
		{ID: "off", Text: "○ off: disabled"},
		{ID: "idle", Text: "○ idle: stopped", Start: true},
	}
	got := menuOf([]core.ServerStatus{
		running, one, crashed, status("slow", core.StateStarting), status("docker", core.StateWaiting), status("again", core.StateRestarting),
		status("half", core.StateDegraded), status("login", core.StateNeedsSignIn), status("ask", core.StateNeedsApproval),
		status("off", core.StateDisabled), status("idle", core.StateStopped),
	}, nil, MenuState{}, nil)
	if d := cmp.Diff(want, got.Lines); d != "" {
		t.Fatal(d)
	}
}

// The supervisor's test records each state with its word.
func TestMenuNamesEachStateAsOtherViews(t *testing.T) {
	src, err := os.ReadFile("../../frontend/src/testdata/server-states.json")
	if err != nil {
		t.Fatal(err)
	}
	var states []struct {
		Title, Word string
		Status      core.ServerStatus
	}
	if err := json.Unmarshal(src, &states); err != nil || len(states) < 10 {
		t.Fatal(len(states), err)
	}
	for _, one := range states {
		l := menuOf([]core.ServerStatus{one.Status}, nil, MenuState{}, nil).Lines[0]
		text, _, _ := strings.Cut(l.Text, ",")
		if !strings.HasSuffix(text, " files: "+strings.ToLower(one.Word)) || l.Reason != oneLine(one.Status.Reason) {
			t.Errorf("%s: %+v", one.Title, l)
		}
	}
}

func TestMenuSaysWhyApprovalWasWithdrawn(t *testing.T) {
	notices := map[string]string{}
	item := approvals.Item{Server: "files", Held: &approvals.Held{Tool: "write"}}
	for _, c := range []struct {
		state, reason string
		want          []string
	}{
		{"", "", nil},
		{approvals.Accept, "", nil},
		{approvals.Withdrawn, "the tool was changed", []string{"⚠ Approval of files › write withdrawn: the tool was changed"}},
	} {
		item.State, item.Reason = c.state, c.reason
		withdrawn := applyEvent(notices, core.Event{Kind: core.ApprovalEvent, Data: item})
		if got := menuOf(nil, slices.Sorted(maps.Values(notices)), MenuState{}, nil).Notices; withdrawn != (c.want != nil) || !slices.Equal(got, c.want) {
			t.Errorf("%q: %v %q", c.state, withdrawn, got)
		}
	}
}

func TestMenuPrefersServersWithProblems(t *testing.T) {
	var statuses []core.ServerStatus
	for i := range maxLines + 4 {
		statuses = append(statuses, status(fmt.Sprint("s", i), core.StateRunning))
	}
	statuses = append(statuses, status("last", core.StateFailed))
	m := menuOf(statuses, nil, MenuState{}, nil)
	if len(m.Lines) != maxLines || m.More != "5 more servers" || m.Lines[0].ID != "last" || m.Lines[1].ID != "s0" {
		t.Fatalf("%d lines, first %q, more %q", len(m.Lines), m.Lines[0].ID, m.More)
	}
	if m := menuOf(statuses[:maxLines+1], nil, MenuState{}, nil); m.More != "1 more server" {
		t.Fatalf("more %q", m.More)
	}
	if m := menuOf(statuses[:maxLines], nil, MenuState{}, nil); m.More != "" || m.Lines[5].ID != "s5" {
		t.Fatalf("more %q", m.More)
	}
}

func TestMenuCountsVisibleTools(t *testing.T) {
	some, all := status("some", core.StateRunning), status("all", core.StateRunning)
	some.Tools, all.Tools = 13, 2
	m := menuOf([]core.ServerStatus{some, all}, nil, MenuState{Visible: map[string]int{"some": 3}}, nil)
	if got := m.Lines[0].Text + "; " + m.Lines[1].Text; got != "● some: running, 3 of 13 tools; ● all: running, 2 tools" {
		t.Error(got)
	}
}

func TestMenuLabelsMatchActions(t *testing.T) {
	running := []core.ServerStatus{status("a", core.StateRunning)}
	for _, c := range []struct {
		facts                              MenuState
		icon                               Icon
		summary, waiting, pause, recording string
	}{
		{MenuState{}, IconOK, "1 of 1 server running", "", "Pause all servers", "Pause recording"},
		{MenuState{Waiting: 1}, IconAttention, "1 of 1 server running", "1 approval pending", "Pause all servers", "Pause recording"},
		{MenuState{Waiting: 7}, IconAttention, "1 of 1 server running", "7 approvals pending", "Pause all servers", "Pause recording"},
		{MenuState{Paused: true}, IconPaused, "All servers are paused", "", "Resume all servers", "Pause recording"},
		{MenuState{RecordingPaused: true}, IconOK, "1 of 1 server running", "", "Pause all servers", "Resume recording"},
	} {
		m := menuOf(running, nil, c.facts, nil)
		if m.Icon != c.icon || m.Summary != c.summary || m.Waiting != c.waiting || m.PauseText != c.pause || m.RecordingText != c.recording {
			t.Errorf("%+v: %+v", c.facts, m)
		}
	}
}

func TestDurationsOfMenuAreThoseOfPage(t *testing.T) {
	for d, want := range map[time.Duration]string{
		12 * time.Millisecond: "12 ms", 3400 * time.Millisecond: "3.4 s", 59_960 * time.Millisecond: "1m 00s",
		124 * time.Second: "2m 04s", 59*time.Minute + 59*time.Second + 800*time.Millisecond: "1h 00m", 65 * time.Minute: "1h 05m",
	} {
		if got := durationText(d); got != want {
			t.Errorf("%s is shown as %q, want %q", d, got, want)
		}
	}
}

func TestServerTextCannotBreakMenu(t *testing.T) {
	for text, want := range map[string]string{
		"a\nb\r\n\tc":            "a b c",
		"x\x00\x1b[31my\u202ez":  "x[31myz",
		"👨\u200d👩 می\u200cخواهم": "👨\u200d👩 می\u200cخواهم",
		strings.Repeat("é", 200): strings.Repeat("é", maxReason-1) + "…",
	} {
		if got := oneLine(text); got != want {
			t.Errorf("oneLine(%q) = %q", text, got)
		}
	}
}

func TestRightToLeftNameKeepsLineOrder(t *testing.T) {
	crashed := status("a", core.StateFailed)
	crashed.Label = "שלום"
	if l := lineOf(crashed, nil); l.Text != "\u200e✕ שלום: failed" {
		t.Errorf("%q", l.Text)
	}
}

func TestMenuCountsHiddenNotices(t *testing.T) {
	for n, want := range [][]string{
		{}, {"⚠ 0"}, {"⚠ 0", "⚠ 1"}, {"⚠ 0", "⚠ 1", "⚠ 2"},
		{"⚠ 0", "⚠ 1", "⚠ 2 more: open Drawbridge"}, {"⚠ 0", "⚠ 1", "⚠ 3 more: open Drawbridge"},
	} {
		var notices []string
		for i := range n {
			notices = append(notices, fmt.Sprint(i))
		}
		if got := menuOf(nil, notices, MenuState{}, nil).Notices; !slices.Equal(got, want) {
			t.Errorf("%d notices are shown as %q", n, got)
		}
	}
}

func TestServersKeepMenuPosition(t *testing.T) {
	for _, c := range []struct{ places, ids, want []string }{
		{[]string{"", "", ""}, []string{"a", "b"}, []string{"a", "b", ""}},
		{[]string{"a", "b", ""}, []string{"b"}, []string{"", "b", ""}},
		{[]string{"", "b", ""}, []string{"c", "b", "d"}, []string{"c", "b", "d"}},
		{[]string{"a", "b", "c"}, []string{"c", "a", "b"}, []string{"a", "b", "c"}},
		{[]string{"a", "b"}, []string{"x", "y", "z"}, []string{"x", "y"}},
		{[]string{"a", "b"}, nil, []string{"", ""}},
	} {
		if got := assignEntries(c.places, c.ids); !slices.Equal(got, c.want) {
			t.Errorf("seat(%v, %v) = %v, want %v", c.places, c.ids, got, c.want)
		}
	}
}

func TestEveryStateHasIcon(t *testing.T) {
	for icon := range severity {
		if png := icons.TrayPNG(string(icon)); !strings.HasPrefix(string(png), "\x89PNG") {
			t.Errorf("%s is not a PNG", icon)
		}
		if ico := icons.TrayICO(string(icon)); !strings.HasPrefix(string(ico), "\x00\x00\x01\x00") {
			t.Errorf("%s is not an ICO", icon)
		}
	}
}

func TestMenuShowsHeldAndRecentCalls(t *testing.T) {
	facts := MenuState{Waiting: 7}
	for i := range 7 {
		facts.Calls = append(facts.Calls, HeldCall{ID: fmt.Sprint("q", i), Server: "files", Tool: "write", Client: "Cursor", Arguments: `{"path":"/a"}`})
	}
	facts.Calls[1].Arguments = strings.Repeat("x", 500)
	facts.Calls[2].Client = "\u202eevil"
	m := menuOf(nil, nil, facts, []RecentCall{
		{ID: 9, Server: "files", Tool: "read", Took: 12 * time.Millisecond},
		{ID: 8, Server: "web", Tool: "fetch", Failed: true, Took: 3400 * time.Millisecond},
	})
	if len(m.Calls) != maxCalls {
		t.Fatalf("%d held calls", len(m.Calls))
	}
	if want := (CallLine{ID: "q0", Text: "Approve? files › write (\"Cursor\")", Arguments: `{"path":"/a"}`, Complete: true}); m.Calls[0] != want {
		t.Errorf("%+v", m.Calls[0])
	}
	if m.Calls[1].Complete {
		t.Error("a call whose arguments are not shown in full can be approved")
	}
	if strings.Contains(m.Calls[2].Text, "\u202e") {
		t.Errorf("%q can be misread", m.Calls[2].Text)
	}
	want := []CallLine{{ID: "9", Text: "✓ files › read, 12 ms"}, {ID: "8", Text: "✕ web › fetch, 3.4 s"}}
	if d := cmp.Diff(want, m.Recent); d != "" {
		t.Error(d)
	}
}

func TestMenuSaysWhenPauseEnds(t *testing.T) {
	at := time.Date(2026, 11, 26, 14, 5, 0, 0, time.Local)
	if m := menuOf(nil, []string{"All servers are paused: calls are refused", "another"}, MenuState{Paused: true}, nil); len(m.Notices) != 1 {
		t.Errorf("the pause is said twice: %q", m.Notices)
	}
	if m := menuOf(nil, nil, MenuState{Paused: true, PausedUntil: at}, nil); m.Summary != "All servers are paused until 14:05" || m.PauseText != "Resume all servers" {
		t.Errorf("%+v", m)
	}
}

func TestMenuShowsProfileOfEachClient(t *testing.T) {
	facts := MenuState{Clients: []ClientProfile{{"cursor", "office"}, {"claude", ""}}}
	if m := menuOf(nil, nil, facts, nil); len(m.Clients) != 0 {
		t.Errorf("without profiles there is nothing to choose, but the menu lists %+v", m.Clients)
	}
	for i := range maxProfiles + 1 {
		facts.Profiles = append(facts.Profiles, fmt.Sprint("p", i))
	}
	m := menuOf(nil, nil, facts, nil)
	if want := []ClientLine{{"cursor", "cursor: office", "office"}, {"claude", "claude: no profile", ""}}; !slices.Equal(m.Clients, want) || len(m.Profiles) != maxProfiles || m.ProfilesTitle != "Profiles (the window shows all)" {
		t.Errorf("%+v, %d profiles", m.Clients, len(m.Profiles))
	}
	for i := range maxClients {
		facts.Clients = append(facts.Clients, ClientProfile{Client: fmt.Sprint("c", i)})
	}
	if m := menuOf(nil, nil, facts, nil); len(m.Clients) != maxClients {
		t.Errorf("%d clients", len(m.Clients))
	}
}
