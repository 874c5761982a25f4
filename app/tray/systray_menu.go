//go:build !darwin || cgo

package tray

import (
	"context"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"sync"
	"time"

	"fyne.io/systray"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/build/icons"
)

// updateDelay is how long to collect changes before the menu is updated.
const updateDelay = 150 * time.Millisecond

// recentInterval is how often the recent calls are read. They are not followed by events, because
// a menu that is closed most of the time must cost nothing when there are thousands of calls.
const recentInterval = 5 * time.Second

// MinShownBeforeAnswer is how long an entry shows a held call before a click can answer it. A click that was
// meant for the call that the entry showed before opens the window instead.
const MinShownBeforeAnswer = time.Second

// view holds the menu's entries. All entries are created once and then only changed, shown and
// hidden. After ready is closed, only the goroutine of follow uses them.
type view struct {
	o       Options
	ready   chan struct{}
	changed chan struct{} // a fact was changed by an entry

	summary, waiting, open, more, quit *systray.MenuItem
	pause, pauseHour, recording        *systray.MenuItem
	copy, connect, login, recent       *systray.MenuItem
	held                               [maxCalls]heldEntry
	calls                              [maxCalls]*systray.MenuItem
	notices                            [maxNotices]*systray.MenuItem
	places                             [maxLines]serverEntry
	profiles                           profileMenu
	icon                               Icon
	tooltip                            string
	drawn                              map[*systray.MenuItem]shownState

	mu      sync.Mutex
	ids     []string            // server ids by place; "" is free
	heldIDs []string            // ids of held calls by place; "" is free
	heldAt  [maxCalls]time.Time // since when the place shows its call
	callIDs [maxCalls]string    // ids of recent calls by place
}

type heldEntry struct{ line, arguments, effect, approve, deny, show *systray.MenuItem }

type serverEntry struct{ line, reason, start, stop, restart, edit, log *systray.MenuItem }

// shownState is the last displayed state of a menu item.
type shownState struct {
	title                   string
	hidden, greyed, checked bool
}

func newView(o Options) *view {
	return &view{
		o:       o,
		ready:   make(chan struct{}),
		changed: make(chan struct{}, 1),
		drawn:   make(map[*systray.MenuItem]shownState),
		ids:     make([]string, maxLines),
		heldIDs: make([]string, maxCalls),
	}
}

// build creates all entries. systray calls it once.
func (v *view) build() {
	defer close(v.ready)
	systray.SetTitle("Drawbridge")
	v.summary = v.add(systray.AddMenuItem("Drawbridge", ""), shownState{title: "Drawbridge", greyed: true})
	for i := range v.notices {
		v.notices[i] = v.add(systray.AddMenuItem("", ""), shownState{hidden: true, greyed: true})
	}
	v.waiting = v.add(systray.AddMenuItem("", ""), shownState{hidden: true})
	for i := range v.held {
		h := &v.held[i]
		h.line = v.add(systray.AddMenuItem("", ""), shownState{hidden: true})
		h.arguments = v.add(h.line.AddSubMenuItem("", ""), shownState{hidden: true, greyed: true})
		h.effect = v.add(h.line.AddSubMenuItem("", ""), shownState{hidden: true, greyed: true})
		h.approve = v.add(h.line.AddSubMenuItem("Allow once", ""), shownState{title: "Allow once"})
		h.deny = h.line.AddSubMenuItem("Deny", "")
		h.show = h.line.AddSubMenuItem("Show in Drawbridge", "")
	}
	v.open = systray.AddMenuItem("Open Drawbridge", "")
	systray.AddSeparator()
	for i := range v.places {
		p := &v.places[i]
		p.line = v.add(systray.AddMenuItem("", ""), shownState{hidden: true})
		p.reason = v.add(p.line.AddSubMenuItem("", ""), shownState{hidden: true, greyed: true})
		p.start = v.add(p.line.AddSubMenuItem("Start", ""), shownState{title: "Start"})
		p.stop = v.add(p.line.AddSubMenuItem("Stop", ""), shownState{title: "Stop"})
		p.restart = v.add(p.line.AddSubMenuItem("Restart", ""), shownState{title: "Restart"})
		p.edit = p.line.AddSubMenuItem("Edit configuration", "")
		p.log = p.line.AddSubMenuItem("Show log", "")
	}
	v.more = v.add(systray.AddMenuItem("", ""), shownState{hidden: true})
	systray.AddSeparator()
	v.recent = v.add(systray.AddMenuItem("Recent calls", ""), shownState{title: "Recent calls", hidden: true})
	for i := range v.calls {
		v.calls[i] = v.add(v.recent.AddSubMenuItem("", ""), shownState{hidden: true})
	}
	v.buildProfiles()
	v.pause = v.add(systray.AddMenuItem("Pause all servers", ""), shownState{title: "Pause all servers"})
	v.pauseHour = v.add(systray.AddMenuItem("Pause for an hour", ""), shownState{title: "Pause for an hour"})
	v.recording = v.add(systray.AddMenuItem("Pause recording", ""), shownState{title: "Pause recording"})
	v.copy = systray.AddMenuItem("Copy bridge URL", "")
	v.connect = systray.AddMenuItem("Connect a client…", "")
	v.login = v.add(systray.AddMenuItemCheckbox("Start at login", "", false), shownState{title: "Start at login"})
	systray.AddSeparator()
	v.quit = systray.AddMenuItem("Quit Drawbridge", "")
	for item, e := range v.drawn { // now that all have their submenus, which a hidden entry cannot get on Windows
		if e.hidden {
			item.Hide()
		}
	}
	v.update(menuOf(v.o.Statuses(), nil, v.o.MenuState(), nil))
}

// add records the state of a new entry. build hides it.
func (v *view) add(item *systray.MenuItem, e shownState) *systray.MenuItem {
	if e.greyed {
		item.Disable()
	}
	v.drawn[item] = e
	return item
}

// set changes only what differs from the displayed state. A hidden entry is not changed, because on Windows
// each change shows it.
func (v *view) set(item *systray.MenuItem, e shownState) {
	e.title = escapeLabel(e.title)
	was := v.drawn[item]
	if e.hidden {
		if !was.hidden {
			item.Hide()
			was.hidden = true
			v.drawn[item] = was
		}
		return
	}
	if e == was {
		return
	}
	if e.title != was.title {
		item.SetTitle(e.title)
	}
	if e.greyed && !was.greyed {
		item.Disable()
	}
	if !e.greyed && was.greyed {
		item.Enable()
	}
	if e.checked && !was.checked {
		item.Check()
	}
	if !e.checked && was.checked {
		item.Uncheck()
	}
	if was.hidden {
		item.Show()
	}
	v.drawn[item] = e
}

func (v *view) update(m Menu) {
	if m.Icon != v.icon {
		v.icon = m.Icon
		systray.SetTemplateIcon(icons.TrayTemplate, iconImage(m.Icon))
	}
	if m.Tooltip != v.tooltip {
		v.tooltip = m.Tooltip
		systray.SetTooltip(m.Tooltip)
	}
	v.set(v.summary, shownState{title: m.Summary, greyed: true})
	for i, item := range v.notices {
		if i < len(m.Notices) {
			v.set(item, shownState{title: m.Notices[i], greyed: true})
		} else {
			v.set(item, shownState{hidden: true, greyed: true})
		}
	}
	lines := make(map[string]ServerLine, len(m.Lines))
	order := make([]string, len(m.Lines))
	for i, l := range m.Lines {
		lines[l.ID], order[i] = l, l.ID
	}
	v.mu.Lock()
	v.ids = assignEntries(v.ids, order)
	ids := v.ids
	v.mu.Unlock()
	for i, p := range v.places {
		l, used := lines[ids[i]]
		if !used {
			v.set(p.line, shownState{hidden: true})
			continue
		}
		v.set(p.reason, shownState{title: l.Reason, hidden: l.Reason == "", greyed: true})
		v.set(p.start, shownState{title: "Start", greyed: !l.Start})
		v.set(p.stop, shownState{title: "Stop", greyed: !l.Stop})
		v.set(p.restart, shownState{title: "Restart", greyed: !l.Restart})
		v.set(p.line, shownState{title: l.Text})
	}
	v.updateCalls(m)
	v.updateProfiles(m)
	v.set(v.more, shownState{title: m.More, hidden: m.More == ""})
	v.set(v.waiting, shownState{title: m.Waiting, hidden: m.Waiting == ""})
	v.set(v.pause, shownState{title: m.PauseText})
	v.set(v.pauseHour, shownState{title: "Pause for an hour", hidden: m.Paused})
	v.set(v.recording, shownState{title: m.RecordingText})
	v.set(v.login, shownState{title: "Start at login", checked: m.StartAtLogin})
}

// updateCalls shows the held and the recent calls. A held call retains its entry, so that no click
// answers another call than the one that was read.
func (v *view) updateCalls(m Menu) {
	held := make(map[string]CallLine, len(m.Calls))
	order := make([]string, len(m.Calls))
	for i, c := range m.Calls {
		held[c.ID], order[i] = c, c.ID
	}
	v.mu.Lock()
	was := v.heldIDs
	v.heldIDs = assignEntries(was, order)
	ids := v.heldIDs
	for i, id := range ids {
		if id != was[i] {
			v.heldAt[i] = time.Now()
		}
	}
	for i := range v.callIDs {
		v.callIDs[i] = ""
		if i < len(m.Recent) {
			v.callIDs[i] = m.Recent[i].ID
		}
	}
	v.mu.Unlock()
	for i, h := range v.held {
		c, used := held[ids[i]]
		if used {
			v.set(h.arguments, shownState{title: c.Arguments, hidden: c.Arguments == "", greyed: true})
			v.set(h.effect, shownState{title: c.Effect, hidden: c.Effect == "", greyed: true})
			v.set(h.approve, shownState{title: "Allow once", greyed: !c.Complete})
		}
		v.set(h.line, shownState{title: c.Text, hidden: !used})
	}
	for i, item := range v.calls {
		if i < len(m.Recent) {
			v.set(item, shownState{title: m.Recent[i].Text})
		} else {
			v.set(item, shownState{hidden: true})
		}
	}
	v.set(v.recent, shownState{title: "Recent calls", hidden: len(m.Recent) == 0})
}

// follow updates the menu and handles its clicks until ctx is done.
func (v *view) follow(ctx context.Context) {
	select {
	case <-v.ready:
	case <-ctx.Done():
		return
	}
	var clicks sync.WaitGroup
	clicks.Go(func() { v.handleClicks(ctx) })
	defer clicks.Wait()

	notices := map[string]string{}
	forget := time.NewTimer(withdrawnShown)
	defer forget.Stop()
	sub := v.subscribe()
	defer func() { sub.Close() }()
	redraw := time.NewTimer(0) // show what changed since build
	defer redraw.Stop()
	pending := true
	request := func() { // a pending update is not put off, or steady events would delay it forever
		if !pending {
			redraw.Reset(updateDelay)
		}
		pending = true
	}
	var recent []RecentCall
	readRecent := time.NewTicker(recentInterval)
	defer readRecent.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-redraw.C:
			pending = false
			sorted := slices.Sorted(maps.Keys(notices))
			for i, subject := range sorted {
				sorted[i] = notices[subject]
			}
			v.update(menuOf(v.o.Statuses(), sorted, v.o.MenuState(), recent))
		case <-v.changed:
			request()
		case <-forget.C:
			delete(notices, withdrawnSubject)
			request()
		case <-readRecent.C:
			if now := v.readRecent(ctx); !slices.Equal(now, recent) {
				recent = now
				request()
			}
		case e, open := <-sub.Events():
			switch {
			case !open: // we fell behind: the next update reads the full state
				sub = v.subscribe()
			case applyEvent(notices, e):
				forget.Reset(withdrawnShown)
			}
			request()
		}
	}
}

func (v *view) readRecent(ctx context.Context) []RecentCall {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return v.o.Recent(ctx)
}

// subscribe subscribes to all events except calls, which are frequent and not shown in the menu.
func (v *view) subscribe() *core.Subscription {
	return v.o.Bus.Subscribe(256, core.ServerEvent, core.RemovedEvent, core.CatalogEvent, core.ConfigEvent, core.NoticeEvent, core.ApprovalEvent)
}

// changing returns a function that changes a fact and requests an update of the menu.
func (v *view) changing(change func(MenuState)) func() {
	return func() {
		change(v.o.MenuState())
		select {
		case v.changed <- struct{}{}:
		default: // an update is already requested
		}
	}
}

// handleClicks waits for clicks on all entries in one goroutine, and runs the actions on others.
// systray drops a click if nobody waits for it, so each entry keeps one until this goroutine has
// handled the clicks before it.
func (v *view) handleClicks(ctx context.Context) {
	var cases []reflect.SelectCase
	var actions []func()
	on := func(item *systray.MenuItem, do func()) {
		item.ClickedCh = make(chan struct{}, 1)
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(item.ClickedCh)})
		actions = append(actions, do)
	}
	server := func(i int, do func(string)) func() {
		return func() {
			v.mu.Lock()
			id := v.ids[i]
			v.mu.Unlock()
			if id != "" {
				do(id)
			}
		}
	}
	answer := func(i int, approve bool) func() {
		return func() {
			v.mu.Lock()
			id, at := v.heldIDs[i], v.heldAt[i]
			v.mu.Unlock()
			if id == "" || time.Since(at) < MinShownBeforeAnswer {
				v.o.Open("/approvals")
				return
			}
			v.o.Answer(id, approve)
		}
	}
	open := func(to string) func() { return func() { v.o.Open(to) } }
	on(v.open, open(""))
	on(v.more, open("/servers"))
	on(v.waiting, open("/approvals"))
	on(v.connect, open("/clients"))
	on(v.profiles.edit, open("/profiles"))
	on(v.copy, v.o.CopyAddress)
	on(v.quit, v.o.Quit)
	// Each entry does the opposite of the current state.
	on(v.pauseHour, v.changing(func(MenuState) { v.o.PauseFor(time.Hour) }))
	on(v.pause, v.changing(func(f MenuState) { v.o.Pause(!f.Paused) }))
	on(v.recording, v.changing(func(f MenuState) { v.o.PauseRecording(!f.RecordingPaused) }))
	on(v.login, v.changing(func(f MenuState) { v.o.StartAtLogin(!f.StartAtLogin) }))
	for i, p := range v.places {
		on(p.start, server(i, v.o.Start))
		on(p.stop, server(i, v.o.Stop))
		on(p.restart, server(i, v.o.Restart))
		on(p.edit, server(i, func(id string) { v.o.Open("/servers/" + url.PathEscape(id) + "?view=config") }))
		on(p.log, server(i, func(id string) { v.o.Open("/servers/" + url.PathEscape(id) + "?view=log") }))
	}
	for i, h := range v.held {
		on(h.approve, answer(i, true))
		on(h.deny, answer(i, false))
		on(h.show, open("/approvals"))
	}
	for i, e := range v.profiles.entries {
		on(e.none, v.assignProfile(i, -1))
		for j, item := range e.profiles {
			on(item, v.assignProfile(i, j))
		}
	}
	for i, item := range v.calls {
		on(item, func() {
			v.mu.Lock()
			id := v.callIDs[i]
			v.mu.Unlock()
			v.o.Open("/calls/" + id)
		})
	}
	cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ctx.Done())})
	for {
		i, _, ok := reflect.Select(cases)
		if !ok || i == len(actions) {
			return
		}
		go actions[i]()
	}
}
