package tray

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/desktop"
)

// Icon says how things are at a glance. Its value is part of the picture's file name.
type Icon string

const (
	IconOK        Icon = "ok"
	IconAttention Icon = "attention" // something works with less than was asked, or waits for the user
	IconError     Icon = "error"     // a server gave up
	IconPaused    Icon = "paused"    // nothing runs, and nothing is meant to
)

// Menu is everything the tray shows, computed from the servers' statuses alone.
type Menu struct {
	Icon    Icon
	Tooltip string
	Summary string   // "2 of 3 servers running"
	Notices []string // at most maxNotices sentences about Drawbridge itself, such as "recording paused: disk full"
	Lines   []Line   // one per server, at most maxLines
	More    string   // "4 more servers", or ""

	Waiting         string // "2 questions wait for you", or ""
	PauseText       string // what the entry does now
	RecordingText   string
	Paused          bool
	RecordingPaused bool
	StartAtLogin    bool
}

// Line is the entry of one server with its submenu.
type Line struct {
	ID     string
	Text   string // "● files: running, 14 tools"
	Reason string // one line; "" when there is nothing to say
	// What can be done now.
	Start, Stop, Restart bool
}

// maxLines keeps the menu on one screen; the window has the rest.
const maxLines = 20

// maxNotices is how many lines notices take; the last says how many there are besides.
const maxNotices = 3

// maxReason is the longest text of an entry, in characters.
const maxReason = 90

// menuOf computes the menu. Servers keep the order they are given in, but where there
// are more than maxLines those that need the user come first.
func menuOf(statuses []core.ServerStatus, notices []string, facts Facts) Menu {
	m := Menu{
		Icon: IconPaused, PauseText: "Pause all servers", RecordingText: "Pause recording",
		Paused: facts.Paused, RecordingPaused: facts.RecordingPaused, StartAtLogin: facts.StartAtLogin,
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
		m.Icon = worse(m.Icon, iconOf(s.State))
	}
	for i, text := range notices {
		if i == maxNotices-1 && len(notices) > maxNotices {
			m.Notices = append(m.Notices, fmt.Sprintf("⚠ %d more: open Drawbridge", len(notices)-i))
			break
		}
		m.Notices = append(m.Notices, "⚠ "+oneLine(text))
	}
	if len(notices) > 0 {
		m.Icon = worse(m.Icon, IconAttention)
	}
	if facts.RecordingPaused {
		m.RecordingText = "Resume recording"
	}
	switch facts.Waiting {
	case 0:
	case 1:
		m.Waiting = "1 question waits for you"
	default:
		m.Waiting = fmt.Sprintf("%d questions wait for you", facts.Waiting)
	}
	if facts.Waiting > 0 {
		m.Icon = worse(m.Icon, IconAttention)
	}
	switch {
	case facts.Paused:
		m.Icon, m.Summary, m.PauseText = IconPaused, "All servers are paused", "Resume all servers"
	case len(statuses) == 0:
		m.Summary = "No servers yet"
	case enabled == 0:
		m.Summary = "All servers are disabled"
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

func lineOf(s core.ServerStatus, visible map[string]int) Line {
	name := s.Label
	if name == "" {
		name = s.ID
	}
	l := Line{ID: s.ID, Text: desktop.LeftToRight(fmt.Sprintf("%s %s: %s", mark(s.State), oneLine(name), words(s, visible))), Reason: oneLine(s.Reason)}
	switch s.State {
	case core.StateRunning, core.StateDegraded:
		l.Stop, l.Restart = true, true
	case core.StateStarting, core.StateWaiting:
		l.Stop = true
	case core.StateBackoff:
		l.Start, l.Stop = true, true
	case core.StateStopped, core.StateCrashed, core.StateNeedsLogin:
		l.Start = true
	}
	return l
}

func words(s core.ServerStatus, visible map[string]int) string {
	switch s.State {
	case core.StateRunning:
		if n, some := visible[s.ID]; some {
			return fmt.Sprintf("running, %d of %d tools", n, s.Tools)
		}
		if s.Tools == 1 {
			return "running, 1 tool"
		}
		return fmt.Sprintf("running, %d tools", s.Tools)
	case core.StateBackoff:
		return "restarting soon"
	case core.StateNeedsLogin:
		return "needs a login"
	case core.StateNeedsApproval:
		return "needs your approval"
	}
	return string(s.State)
}

func mark(s core.State) string {
	switch s {
	case core.StateRunning:
		return "●"
	case core.StateDegraded, core.StateNeedsLogin, core.StateNeedsApproval:
		return "◐"
	case core.StateStarting, core.StateWaiting, core.StateBackoff:
		return "◌"
	case core.StateCrashed:
		return "✕"
	}
	return "○"
}

func iconOf(s core.State) Icon {
	switch s {
	case core.StateCrashed:
		return IconError
	case core.StateDegraded, core.StateWaiting, core.StateBackoff, core.StateNeedsLogin, core.StateNeedsApproval:
		return IconAttention
	case core.StateRunning, core.StateStarting:
		return IconOK
	}
	return IconPaused
}

var gravity = map[Icon]int{IconPaused: 0, IconOK: 1, IconAttention: 2, IconError: 3}

func worse(a, b Icon) Icon {
	if gravity[b] > gravity[a] {
		return b
	}
	return a
}

func troubledFirst(statuses []core.ServerStatus) []core.ServerStatus {
	var first, rest []core.ServerStatus
	for _, s := range statuses {
		if gravity[iconOf(s.State)] >= gravity[IconAttention] {
			first = append(first, s)
		} else {
			rest = append(rest, s)
		}
	}
	return append(first, rest...)
}

// oneLine makes a server's text fit for an entry.
func oneLine(text string) string { return desktop.Line(text, maxReason) }

// label doubles the character that menus of this system read as "underline the next one".
func label(text string) string {
	if runtime.GOOS == "windows" {
		return strings.ReplaceAll(text, "&", "&&")
	}
	if runtime.GOOS == "darwin" {
		return text
	}
	return strings.ReplaceAll(text, "_", "__")
}

// seat assigns servers to the menu's fixed places. A server keeps its place as long as
// it is there, so that no entry changes its meaning under the pointer; a new one takes
// the first free place.
func seat(places []string, ids []string) []string {
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
