package tray

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/desktop"
)

// Icon is the overall state that the icon shows. Its value is part of the image's file name.
type Icon string

const (
	IconOK        Icon = "ok"
	IconAttention Icon = "attention" // something is degraded or waits for the user
	IconError     Icon = "error"     // a server failed permanently
	IconPaused    Icon = "paused"    // all servers are paused
)

// Menu is the content of the tray menu.
type Menu struct {
	Icon    Icon
	Tooltip string
	Summary string       // "2 of 3 servers running"
	Notices []string     // at most maxNotices sentences about Drawbridge itself, such as "recording paused: disk full"
	Lines   []ServerLine // one per server, at most maxLines
	More    string       // "4 more servers", or ""

	Waiting         string       // "2 approvals pending", or ""
	Calls           []CallLine   // calls that wait for approval, at most maxCalls
	Recent          []CallLine   // finished calls, at most maxCalls
	Clients         []ClientLine // at most maxClients; none if there are no profiles
	Profiles        []string     // names, at most maxProfiles
	ProfilesTitle   string       // says if some are left out
	PauseText       string       // label of the entry that pauses or resumes
	RecordingText   string
	Paused          bool
	RecordingPaused bool
	StartAtLogin    bool
}

// ServerLine is the entry of one server with its submenu.
type ServerLine struct {
	ID     string
	Text   string // "● files: running, 14 tools"
	Reason string // one line; "" if there is none
	// The actions that are available now.
	Start, Stop, Restart bool
}

// CallLine is the entry of one call.
type CallLine struct {
	ID   string // of the approval, or of the call
	Text string // "Approve? files › write_file (Cursor)" or "✓ files › read_file, 12 ms"
	// Arguments of a held call in one line. If it is not Complete, the call cannot be approved
	// here, because the user does not see what it does.
	Arguments string
	Complete  bool
	Effect    string // of a held call, in one sentence; "" if unknown
}

// ClientLine is the entry of one client, with the profiles that it can be assigned to.
type ClientLine struct {
	Client  string // name of the token
	Text    string // "cursor: office"
	Profile string // "" if none is assigned
}

// maxClients and maxProfiles are the maximum numbers of clients and of profiles; the window shows
// all.
const maxClients, maxProfiles = 8, 8

// maxCalls is the maximum number of held and of recent calls; the window shows all.
const maxCalls = 5

// maxLines limits the menu to one screen; the window shows all servers.
const maxLines = 20

// maxNotices is the maximum number of notice lines; the last one says how many are hidden.
const maxNotices = 3

const allPaused = "All servers are paused"

// maxReason is the maximum length of an entry, in characters.
const maxReason = 90

// menuOf computes the menu. It retains the order of the servers, except that with more than
// maxLines servers those that need attention come first.
func menuOf(statuses []core.ServerStatus, notices []string, facts MenuState, recent []RecentCall) Menu {
	m := Menu{
		Icon: IconPaused, PauseText: "Pause all servers", RecordingText: "Pause recording",
		Paused: facts.Paused, RecordingPaused: facts.RecordingPaused, StartAtLogin: facts.StartAtLogin,
	}
	if facts.Paused { // the summary says so
		notices = slices.DeleteFunc(slices.Clone(notices), func(text string) bool { return strings.HasPrefix(text, allPaused) })
	}
	running, enabled := 0, 0
	for _, s := range statuses {
		if s.State == core.StateDisabled {
			continue
		}
		enabled++
		if s.State == core.StateRunning || s.State == core.StateDegraded {
			running++
		}
		m.Icon = moreSevere(m.Icon, iconOf(s.State))
	}
	for i, text := range notices {
		if i == maxNotices-1 && len(notices) > maxNotices {
			m.Notices = append(m.Notices, fmt.Sprintf("⚠ %d more: open Drawbridge", len(notices)-i))
			break
		}
		m.Notices = append(m.Notices, "⚠ "+oneLine(text))
	}
	if len(notices) > 0 {
		m.Icon = moreSevere(m.Icon, IconAttention)
	}
	if facts.RecordingPaused {
		m.RecordingText = "Resume recording"
	}
	switch facts.Waiting {
	case 0:
	case 1:
		m.Waiting = "1 approval pending"
	default:
		m.Waiting = fmt.Sprintf("%d approvals pending", facts.Waiting)
	}
	for _, c := range facts.Calls[:min(len(facts.Calls), maxCalls)] {
		text := c.Server + " › " + c.Tool
		if c.Client != "" {
			text += " (" + strconv.Quote(c.Client) + ")"
		}
		arguments := oneLine(c.Arguments)
		m.Calls = append(m.Calls, CallLine{ID: c.ID, Text: desktop.LeftToRight("Approve? " + oneLine(text)), Arguments: desktop.LeftToRight(arguments), Complete: arguments == c.Arguments && !c.Deceptive, Effect: desktop.LeftToRight(oneLine(c.Effect))})
	}
	for _, c := range recent[:min(len(recent), maxCalls)] {
		symbol := "✓"
		if c.Failed {
			symbol = "✕"
		}
		m.Recent = append(m.Recent, CallLine{ID: strconv.FormatInt(c.ID, 10), Text: desktop.LeftToRight(fmt.Sprintf("%s %s, %s", symbol, oneLine(c.Server+" › "+c.Tool), durationText(c.Took)))})
	}
	if len(facts.Profiles) > 0 {
		m.Profiles = facts.Profiles[:min(len(facts.Profiles), maxProfiles)]
		if m.ProfilesTitle = "Profiles"; len(facts.Profiles) > maxProfiles || len(facts.Clients) > maxClients {
			m.ProfilesTitle += " (the window shows all)"
		}
		for _, c := range facts.Clients[:min(len(facts.Clients), maxClients)] {
			text := c.Client + ": no profile"
			if c.Profile != "" {
				text = c.Client + ": " + c.Profile
			}
			m.Clients = append(m.Clients, ClientLine{c.Client, desktop.LeftToRight(oneLine(text)), c.Profile})
		}
	}
	if facts.Waiting > 0 {
		m.Icon = moreSevere(m.Icon, IconAttention)
	}
	switch {
	case facts.Paused:
		m.Icon, m.Summary, m.PauseText = IconPaused, allPaused, "Resume all servers"
		if !facts.PausedUntil.IsZero() {
			m.Summary += facts.PausedUntil.Format(" until 15:04")
		}
	case facts.Idle != "":
		m.Summary = facts.Idle
	case enabled == 1:
		m.Summary = fmt.Sprintf("%d of 1 server running", running)
	default:
		m.Summary = fmt.Sprintf("%d of %d servers running", running, enabled)
	}
	m.Tooltip = "Drawbridge: " + strings.ToLower(m.Summary[:1]) + m.Summary[1:]

	shown := statuses
	if len(shown) > maxLines {
		shown = troubledFirst(statuses)[:maxLines]
		m.More = fmt.Sprintf("%d more servers", len(statuses)-maxLines)
		if len(statuses)-maxLines == 1 {
			m.More = "1 more server"
		}
	}
	for _, s := range shown {
		m.Lines = append(m.Lines, lineOf(s, facts.Visible))
	}
	return m
}

// withdrawnSubject is the subject of the notice about the last withdrawn approval, and withdrawnShown
// is how long it is shown: the entry of the approval has disappeared while the user may be reading it.
const (
	withdrawnSubject = "withdrawn"
	withdrawnShown   = time.Minute
)

// applyEvent applies an event to the notices, by subject. It reports whether an approval was
// withdrawn for a reason.
func applyEvent(notices map[string]string, e core.Event) (withdrawn bool) {
	switch data := e.Data.(type) {
	case core.Notice:
		if notices[data.Subject] = data.Message; data.Message == "" {
			delete(notices, data.Subject)
		}
	case approvals.Item:
		if withdrawn = data.State == approvals.Withdrawn && data.Reason != ""; withdrawn {
			tool := data.Tool
			if data.Held != nil {
				tool = data.Held.Tool
			}
			notices[withdrawnSubject] = "Approval of " + strings.TrimSuffix(data.Server+" › "+tool, " › ") + " withdrawn: " + data.Reason
		}
	}
	return withdrawn
}

// durationText returns a duration in the unit that fits, as the page shows it: "12 ms", "3.4 s",
// "2m 04s", "1h 05m".
func durationText(d time.Duration) string {
	seconds := int(d.Round(time.Second).Seconds())
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute-50*time.Millisecond:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case seconds < 3600:
		return fmt.Sprintf("%dm %02ds", seconds/60, seconds%60)
	}
	return fmt.Sprintf("%dh %02dm", seconds/3600, seconds%3600/60)
}

func lineOf(s core.ServerStatus, visible map[string]int) ServerLine {
	name := s.Label
	if name == "" {
		name = s.ID
	}
	l := ServerLine{ID: s.ID, Text: desktop.LeftToRight(fmt.Sprintf("%s %s: %s", stateSymbol(s.State), oneLine(name), statusText(s, visible))), Reason: oneLine(s.Reason)}
	switch s.State {
	case core.StateRunning, core.StateDegraded:
		l.Stop, l.Restart = true, true
	case core.StateStarting, core.StateWaiting:
		l.Stop = true
	case core.StateRestarting:
		l.Start, l.Stop = true, true
	case core.StateStopped, core.StateFailed, core.StateNeedsSignIn:
		l.Start = true
	}
	return l
}

func statusText(s core.ServerStatus, visible map[string]int) string {
	switch s.State {
	case core.StateRunning:
		if n, some := visible[s.ID]; some {
			return fmt.Sprintf("running, %d of %d tools", n, s.Tools)
		}
		if s.Tools == 1 {
			return "running, 1 tool"
		}
		return fmt.Sprintf("running, %d tools", s.Tools)
	}
	return strings.ToLower(s.State.Word())
}

func stateSymbol(s core.State) string {
	switch s {
	case core.StateRunning:
		return "●"
	case core.StateDegraded, core.StateNeedsSignIn, core.StateNeedsApproval:
		return "◐"
	case core.StateStarting, core.StateWaiting, core.StateRestarting:
		return "◌"
	case core.StateFailed:
		return "✕"
	}
	return "○"
}

func iconOf(s core.State) Icon {
	switch s {
	case core.StateFailed:
		return IconError
	case core.StateDegraded, core.StateWaiting, core.StateRestarting, core.StateNeedsSignIn, core.StateNeedsApproval:
		return IconAttention
	case core.StateRunning, core.StateStarting:
		return IconOK
	}
	return IconPaused
}

var severity = map[Icon]int{IconPaused: 0, IconOK: 1, IconAttention: 2, IconError: 3}

func moreSevere(a, b Icon) Icon {
	if severity[b] > severity[a] {
		return b
	}
	return a
}

func troubledFirst(statuses []core.ServerStatus) []core.ServerStatus {
	var first, rest []core.ServerStatus
	for _, s := range statuses {
		if severity[iconOf(s.State)] >= severity[IconAttention] {
			first = append(first, s)
		} else {
			rest = append(rest, s)
		}
	}
	return append(first, rest...)
}

func oneLine(text string) string { return desktop.SingleLine(text, maxReason) }

// escapeLabel doubles the character that menus of this system use to mark the access key.
func escapeLabel(text string) string {
	if runtime.GOOS == "windows" {
		return strings.ReplaceAll(text, "&", "&&")
	}
	if runtime.GOOS == "darwin" {
		return text
	}
	return strings.ReplaceAll(text, "_", "__")
}

// assignEntries assigns servers to the fixed entries of the menu. A server retains its entry while
// it exists, so that no entry changes its meaning under the pointer. A new server gets the first
// free entry.
func assignEntries(places []string, ids []string) []string {
	wanted := make(map[string]bool, len(ids))
	for _, id := range ids {
		wanted[id] = true
	}
	next := make([]string, len(places))
	for i, id := range places {
		if wanted[id] {
			next[i] = id
			delete(wanted, id)
		}
	}
	free := 0
	for _, id := range ids {
		if !wanted[id] {
			continue
		}
		for free < len(next) && next[free] != "" {
			free++
		}
		if free == len(next) {
			break
		}
		next[free] = id
		delete(wanted, id)
	}
	return next
}

// MenuState is the state that the menu shows besides the servers.
type MenuState struct {
	Waiting         int        // pending approvals
	Calls           []HeldCall // calls that wait for approval, oldest first
	Paused          bool       // all servers are paused
	PausedUntil     time.Time  // when they are resumed; zero if they are not, or only by the user
	Idle            string     // why no server can run, such as "All 3 servers are disabled"; "" if one can
	RecordingPaused bool
	StartAtLogin    bool
	Profiles        []string        // names of the profiles
	Clients         []ClientProfile // the clients that can be assigned to a profile
	// Visible is the number of tools that clients see, by server id, for servers with hidden tools.
	Visible map[string]int
}

// HeldCall is a call that waits for approval.
type HeldCall struct {
	ID                   string // of the approval, as it is shown
	Server, Tool, Client string
	Arguments            string // JSON text
	Effect               string // one sentence; "" if unknown
	Deceptive            bool   // the page shows a warning about it
}

// ClientProfile is a client with the profile that it is assigned to.
type ClientProfile struct{ Client, Profile string } // Profile is "" if none is assigned

// RecentCall is a finished call.
type RecentCall struct {
	ID           int64
	Server, Tool string
	Failed       bool
	Took         time.Duration
}

// Options configures the tray. All fields are required. The functions are called on separate
// goroutines and may block, except where noted. After a function that changes a fact the menu is
// updated.
type Options struct {
	Statuses  func() []core.ServerStatus
	MenuState func() MenuState // called for each update of the menu: it must not block
	// Recent returns the newest finished calls, newest first. It is called every recentInterval and
	// may block until its context ends.
	Recent  func(context.Context) []RecentCall
	Bus     *core.Bus
	Open    func(to string) // show the window at a route; "" means the current one
	Quit    func()          // stop the program
	Start   func(id string)
	Stop    func(id string)
	Restart func(id string)

	Answer         func(id string, approve bool) // approve a held call once, or deny it
	SetProfile     func(client, profile string)  // assign a client to a profile, or with "" to none
	Pause          func(on bool)                 // pause or resume all servers
	PauseFor       func(limit time.Duration)     // pause all servers and resume them after limit
	PauseRecording func(on bool)
	StartAtLogin   func(on bool)
	CopyAddress    func() // copy the bridge's address to the clipboard

	// Shown is called when the icon appears, and with the reason when it cannot be shown.
	Shown func(shown bool, why string)
	Log   *slog.Logger
}

// waitWithoutIcon reports why there is no icon, and waits until ctx is done.
func waitWithoutIcon(ctx context.Context, o Options, why string) error {
	if ctx.Err() == nil {
		o.Shown(false, why)
		o.Log.Info("No tray icon", "reason", why)
		<-ctx.Done()
	}
	return nil
}
