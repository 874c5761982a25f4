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
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
			require.Equal(t, c.icon, m.Icon)
			require.Equal(t, c.summary, m.Summary)
			want := "Drawbridge: " + strings.ToLower(c.summary[:1]) + c.summary[1:]
			require.Equal(t, want, m.Tooltip)
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
	require.Empty(t, cmp.Diff(want, got.Lines))
}

// The supervisor's test records each state with its word.
func TestMenuNamesEachStateAsOtherViews(t *testing.T) {
	src, err := os.ReadFile("../../frontend/src/testdata/server-states.json")
	require.NoError(t, err)
	var states []struct {
		Title, Word string
		Status      core.ServerStatus
	}
	err = json.Unmarshal(src, &states)
	require.Truef(t, err == nil && len(states) >= 10, "%v %v", len(states), err)
	for _, one := range states {
		l := menuOf([]core.ServerStatus{one.Status}, nil, MenuState{}, nil).Lines[0]
		text, _, _ := strings.Cut(l.Text, ",")
		assert.Truef(t, strings.HasSuffix(text, " files: "+strings.ToLower(one.Word)) && l.Reason == oneLine(one.Status.Reason), "%s: %+v", one.Title, l)
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
		got := menuOf(nil, slices.Sorted(maps.Values(notices)), MenuState{}, nil).Notices
		assert.Truef(t, withdrawn == (c.want != nil) && slices.Equal(got, c.want), "%q: %v %q", c.state, withdrawn, got)
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
	require.Equal(t, "1 more server", menuOf(statuses[:maxLines+1], nil, MenuState{}, nil).More)
	if m := menuOf(statuses[:maxLines], nil, MenuState{}, nil); m.More != "" || m.Lines[5].ID != "s5" {
		t.Fatalf("more %q", m.More)
	}
}

func TestMenuCountsVisibleTools(t *testing.T) {
	some, all := status("some", core.StateRunning), status("all", core.StateRunning)
	some.Tools, all.Tools = 13, 2
	m := menuOf([]core.ServerStatus{some, all}, nil, MenuState{Visible: map[string]int{"some": 3}}, nil)
	got := m.Lines[0].Text + "; " + m.Lines[1].Text
	assert.Equal(t, "● some: running, 3 of 13 tools; ● all: running, 2 tools", got)
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
		assert.Equal(t, want, durationText(d), d)
	}
}

func TestServerTextCannotBreakMenu(t *testing.T) {
	for text, want := range map[string]string{
		"a\nb\r\n\tc":            "a b c",
		"x\x00\x1b[31my\u202ez":  "x[31myz",
		"👨\u200d👩 می\u200cخواهم": "👨\u200d👩 می\u200cخواهم",
		strings.Repeat("é", 200): strings.Repeat("é", maxReason-1) + "…",
	} {
		assert.Equalf(t, want, oneLine(text), "oneLine(%q)", text)
	}
}

func TestRightToLeftNameKeepsLineOrder(t *testing.T) {
	crashed := status("a", core.StateFailed)
	crashed.Label = "שלום"
	assert.Equal(t, "\u200e✕ שלום: failed", lineOf(crashed, nil).Text)
}

func TestMenuCountsHiddenNotices(t *testing.T) {
	for n, want := range [][]string{
		nil, {"⚠ 0"}, {"⚠ 0", "⚠ 1"}, {"⚠ 0", "⚠ 1", "⚠ 2"},
		{"⚠ 0", "⚠ 1", "⚠ 2 more: open Drawbridge"}, {"⚠ 0", "⚠ 1", "⚠ 3 more: open Drawbridge"},
	} {
		var notices []string
		for i := range n {
			notices = append(notices, fmt.Sprint(i))
		}
		assert.Equalf(t, want, menuOf(nil, notices, MenuState{}, nil).Notices, "%d", n)
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
		assert.Equalf(t, c.want, assignEntries(c.places, c.ids), "seat(%v, %v)", c.places, c.ids)
	}
}

func TestEveryStateHasIcon(t *testing.T) {
	for icon := range severity {
		assert.Truef(t, strings.HasPrefix(string(icons.TrayPNG(string(icon))), "\x89PNG"), "%s is not a PNG", icon)
		assert.Truef(t, strings.HasPrefix(string(icons.TrayICO(string(icon))), "\x00\x00\x01\x00"), "%s is not an ICO", icon)
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
	require.Len(t, m.Calls, maxCalls)
	assert.Equal(t, (CallLine{ID: "q0", Text: "Approve? files › write (\"Cursor\")", Arguments: `{"path":"/a"}`, Complete: true}), m.Calls[0])
	assert.False(t, m.Calls[1].Complete, "a call whose arguments are not shown in full can be approved")
	assert.NotContains(t, m.Calls[2].Text, "\u202e")
	want := []CallLine{{ID: "9", Text: "✓ files › read, 12 ms"}, {ID: "8", Text: "✕ web › fetch, 3.4 s"}}
	assert.Empty(t, cmp.Diff(want, m.Recent))
}

func TestMenuSaysWhenPauseEnds(t *testing.T) {
	at := time.Date(2026, 11, 26, 14, 5, 0, 0, time.Local)
	assert.Len(t, menuOf(nil, []string{"All servers are paused: calls are refused", "another"}, MenuState{Paused: true}, nil).Notices, 1)
	m := menuOf(nil, nil, MenuState{Paused: true, PausedUntil: at}, nil)
	assert.Truef(t, m.Summary == "All servers are paused until 14:05" && m.PauseText == "Resume all servers", "%+v", m)
}

func TestMenuShowsProfileOfEachClient(t *testing.T) {
	facts := MenuState{Clients: []ClientProfile{{"cursor", "office"}, {"claude", ""}}}
	assert.Empty(t, menuOf(nil, nil, facts, nil).Clients, "without profiles there is nothing to choose, but the menu lists")
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
	assert.Len(t, menuOf(nil, nil, facts, nil).Clients, maxClients)
}
