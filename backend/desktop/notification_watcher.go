package desktop

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// minInterval is the minimum interval between two notifications with the same subject. A
// notification that becomes due earlier is delayed until the interval ends, unless it is
// withdrawn before.
const minInterval = time.Minute

// maxText is the maximum length of a notification's text, in characters.
const maxText = 300

// maxSubjects is the maximum number of subjects that are tracked. Beyond it, new ones are not
// shown.
const maxSubjects = 256

const eventQueueSize = 512

// Watcher turns events into notifications: a server that crashed or needs the user, a pending
// approval, a lost client entry, a changed command.
type Watcher struct {
	Bus *core.Bus
	Log *slog.Logger
	// Connect returns the system's notifier. It is retried at most once a minute while it
	// fails, because the desktop may start later.
	Connect func(context.Context) (Notifier, error)
	// Enabled reports whether the user wants notifications. It is called for each
	// notification.
	Enabled func() bool
	// Open opens a page of the UI. It may block.
	Open func(to string)
	// Answer approves a held call once, or denies it. It may block. If it is nil, notifications
	// have no buttons.
	Answer func(id string, approve bool)
	// Snapshot returns a snapshot of the current state. It is called after events were lost.
	Snapshot func() NotificationState

	reachable atomic.Bool
}

// CanNotify reports whether a notification would be shown now. It is false until Run has
// connected to the notifier. It may be called from any goroutine.
func (w *Watcher) CanNotify() bool { return w.reachable.Load() && w.Enabled() }

type subjectState struct {
	shownAt time.Time     // when it was last shown; zero if never
	visible bool          // it is visible, as far as known
	pending *Notification // shown when the interval ends or a notifier is available
}

// watchRun is the state of one Run. It is used by one goroutine only.
type watchRun struct {
	*Watcher
	notifier    Notifier
	lastFailure time.Time // when Connect last failed
	subjects    map[string]*subjectState
	states      map[string]core.State
	waiting     map[string]approvals.Item
	commands    map[string]string       // messages about changed commands, by server
	troubled    map[string]Notification // about servers that need the user, by server
}

// Run shows notifications until ctx is done, and then returns nil.
func (w *Watcher) Run(ctx context.Context) error {
	r := &watchRun{Watcher: w, subjects: map[string]*subjectState{}, states: map[string]core.State{}, waiting: map[string]approvals.Item{}, commands: map[string]string{}, troubled: map[string]Notification{}}
	sub := w.subscribe()
	if w.Enabled() { // approvals depend on CanNotify
		r.ensureNotifier(ctx)
	}
	defer func() { sub.Close() }()
	defer func() { r.withdrawAll(context.WithoutCancel(ctx)) }()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		var clicked <-chan Click
		if r.notifier != nil {
			clicked = r.notifier.Clicked()
		}
		select {
		case <-ctx.Done():
			return nil
		case c := <-clicked:
			go w.handleClick(c)
		case <-timer.C:
			r.showDue(ctx)
		case e, open := <-sub.Events():
			if open {
				r.handleEvent(ctx, e)
				break
			}
			sub = w.subscribe() // events were lost: shown problems may be resolved
			r.reconcile(ctx, w.Snapshot())
		}
		timer.Reset(r.untilDue())
	}
}

// Prefixes of the keys of buttons; the rest is the id of the approval.
const (
	approveKey = "approve:"
	denyKey    = "deny:"
)

// handleClick answers an approval or opens a page.
func (w *Watcher) handleClick(c Click) {
	if id, ok := strings.CutPrefix(c.Key, approveKey); ok && w.Answer != nil {
		w.Answer(id, true)
		return
	}
	if id, ok := strings.CutPrefix(c.Key, denyKey); ok && w.Answer != nil {
		w.Answer(id, false)
		return
	}
	w.Open(c.Notification.PagePath)
}

// callButtons adds the arguments of a held call to its notification, and buttons that answer it. If
// the arguments do not fit, the call cannot be approved here, because the user does not see what it
// does.
func (w *Watcher) callButtons(n *Notification, item approvals.Item) {
	if item.Held == nil || w.Answer == nil {
		return
	}
	full := n.Text + " " + item.Held.Arguments
	if effect := item.Held.Summary(); effect != "" {
		n.Text += ": " + effect
		full = n.Text + " " + item.Held.Arguments
	}
	if SingleLine(full, maxText) == full && len(item.Held.Warnings) == 0 {
		n.Text = full
		n.Buttons = append(n.Buttons, Button{"Allow once", approveKey + item.AnswerKey()})
	}
	n.Buttons = append(n.Buttons, Button{"Deny", denyKey + item.AnswerKey()})
}

func (w *Watcher) subscribe() *core.Subscription {
	return w.Bus.Subscribe(eventQueueSize, core.ServerEvent, core.RemovedEvent, core.NoticeEvent, core.ApprovalEvent)
}

func (r *watchRun) handleEvent(ctx context.Context, e core.Event) {
	switch data := e.Data.(type) {
	case core.ServerStatus:
		r.updateServer(ctx, data)
	case core.Notice:
		if id, ok := strings.CutPrefix(data.Subject, core.UnapprovedCommandSubject); ok {
			r.updateCommand(ctx, id, data.Message)
			return
		}
		if !strings.HasPrefix(data.Subject, "clients/") && data.Subject != "history" && data.Subject != core.HeldConfigSubject {
			return
		}
		if data.Message == "" {
			r.withdraw(ctx, data.Subject)
			return
		}
		r.show(ctx, Notification{Subject: data.Subject, Title: "Drawbridge", Text: data.Message, PagePath: noticePage(data.Subject)})
	case approvals.Item:
		r.updateApprovalNotification(ctx, data)
	case string:
		if e.Kind == core.RemovedEvent {
			r.forgetServer(ctx, data)
		}
	}
}

func noticePage(subject string) string {
	switch {
	case strings.HasPrefix(subject, "clients/"):
		return "/clients"
	case subject == core.HeldConfigSubject:
		return "/settings"
	}
	return "/"
}

// updateCommand maintains one notification for all changed commands, because one edit of the
// configuration may change many. An empty message removes the one of this server.
func (r *watchRun) updateCommand(ctx context.Context, id, message string) {
	const subject = "commands"
	if message == "" {
		delete(r.commands, id)
		if len(r.commands) == 0 {
			r.withdraw(ctx, subject)
		}
		return
	}
	if len(r.commands) < maxSubjects {
		r.commands[id] = message
	}
	n := Notification{Subject: subject, Title: "Drawbridge", Text: message, PagePath: "/servers/" + id}
	if len(r.commands) > 1 {
		n.Title, n.PagePath = fmt.Sprintf("%d servers are running new commands", len(r.commands)), "/servers"
	}
	r.show(ctx, n)
}

// updateServer notifies once about each state that requires action by the user.
func (r *watchRun) updateServer(ctx context.Context, s core.ServerStatus) {
	if r.states[s.ID] == s.State {
		return
	}
	r.states[s.ID] = s.State
	name := s.Label
	if name == "" {
		name = s.ID
	}
	n := Notification{Subject: "server/" + s.ID, Title: name + " " + strings.ToLower(s.State.Word()), Text: s.Reason, PagePath: "/servers/" + s.ID}
	if s.Hint != "" {
		n.Text = strings.TrimRight(s.Reason, ".") + ". " + s.Hint
	}
	switch s.State {
	case core.StateFailed:
		n.Urgent = true
	case core.StateNeedsApproval, core.StateNeedsSignIn:
	default:
		r.withdrawServer(ctx, s.ID)
		return
	}
	if len(r.troubled) < maxSubjects {
		r.troubled[s.ID] = n
	}
	r.showTroubled(ctx, n)
}

// showTroubled shows n, which is about one server, or one notification if several servers need the
// user, as at the start.
func (r *watchRun) showTroubled(ctx context.Context, n Notification) {
	if len(r.troubled) > 1 {
		titles := make([]string, 0, len(r.troubled))
		for _, one := range r.troubled {
			r.withdraw(ctx, one.Subject)
			titles = append(titles, one.Title)
		}
		slices.Sort(titles)
		n = Notification{Subject: serversSubject, Title: fmt.Sprintf("%d servers need attention", len(titles)), Text: strings.Join(titles, "; ") + ".", PagePath: "/", Urgent: true}
	}
	r.show(ctx, n)
}

// serversSubject is the subject of the notification for several servers.
const serversSubject = "servers"

// withdrawServer withdraws the notification about a server, and the one for several servers after
// the last of them has recovered.
func (r *watchRun) withdrawServer(ctx context.Context, id string) {
	r.withdraw(ctx, "server/"+id)
	if _, was := r.troubled[id]; !was {
		return
	}
	delete(r.troubled, id)
	all := r.subjects[serversSubject]
	if all == nil {
		return
	}
	outdated := all.pending != nil
	if len(r.troubled) == 0 || outdated && !all.visible {
		r.withdraw(ctx, serversSubject)
	}
	if outdated { // what is about to be shown must not name this server
		for _, n := range r.troubled {
			r.showTroubled(ctx, n)
			break
		}
	}
}

func (r *watchRun) forgetServer(ctx context.Context, id string) {
	delete(r.states, id)
	r.withdrawServer(ctx, id)
}

// updateApprovalNotification maintains one notification for all pending approvals, so that an agent
// that asks often does not fill the screen.
func (r *watchRun) updateApprovalNotification(ctx context.Context, item approvals.Item) {
	const subject = "waiting"
	if item.State != "" {
		_, shown := r.waiting[item.ID]
		delete(r.waiting, item.ID)
		switch {
		case len(r.waiting) > 0:
		case shown && item.Reason != "":
			r.show(ctx, Notification{Subject: subject, Title: "Approval withdrawn", Text: item.Reason, PagePath: "/approvals"})
		default:
			r.withdraw(ctx, subject)
		}
		return
	}
	if len(r.waiting) < maxSubjects {
		r.waiting[item.ID] = item
	}
	n := Notification{Subject: subject, Title: strconv.Quote(item.Server) + " asks", Text: item.Message, PagePath: "/approvals", Urgent: true}
	if item.Client.Name != "" {
		n.Title = strconv.Quote(core.Shorten(item.Client.Name, 30)) + " is waiting: " + n.Title
	}
	if len(r.waiting) == 1 {
		r.callButtons(&n, item)
	} else {
		n.Title, n.Text = fmt.Sprintf("%d approvals pending", len(r.waiting)), n.Title+": "+item.Message
	}
	r.show(ctx, n)
}

// show shows n now, or when the interval of its subject ends.
func (r *watchRun) show(ctx context.Context, n Notification) {
	n.Title, n.Text = LeftToRight(SingleLine(n.Title, 80)), SingleLine(n.Text, maxText)
	t := r.subjects[n.Subject]
	if t == nil {
		r.dropIdleSubjects()
		if len(r.subjects) == maxSubjects {
			return
		}
		t = new(subjectState)
		r.subjects[n.Subject] = t
	}
	if !t.shownAt.IsZero() && time.Since(t.shownAt) < minInterval {
		t.pending = &n
		return
	}
	t.pending = nil
	if !r.Enabled() {
		return
	}
	if !r.ensureNotifier(ctx) {
		t.pending = &n // the desktop may start later, as at login
		return
	}
	if err := r.notifier.Show(ctx, n); err != nil {
		r.Log.Warn("Cannot show a notification", "error", err)
		r.notifier.Close()
		r.notifier, r.lastFailure = nil, time.Now()
		r.reachable.Store(false)
		t.pending = &n
		return
	}
	t.shownAt, t.visible = time.Now(), true
}

func (r *watchRun) withdraw(ctx context.Context, subject string) {
	t := r.subjects[subject]
	if t == nil {
		return
	}
	t.pending = nil
	if t.visible && r.notifier != nil {
		r.notifier.Withdraw(ctx, subject)
	}
	t.visible = false
}

const withdrawTimeout = time.Second

// withdrawAll withdraws all notifications, because clicks are no longer handled.
func (r *watchRun) withdrawAll(ctx context.Context) {
	if r.notifier == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, withdrawTimeout)
	defer cancel()
	for subject := range r.subjects {
		r.withdraw(ctx, subject)
	}
	r.notifier.Close()
}

// ensureNotifier reports whether there is a notifier, and tries to connect if there is none.
func (r *watchRun) ensureNotifier(ctx context.Context) bool {
	if r.notifier != nil {
		return true
	}
	if !r.lastFailure.IsZero() && time.Since(r.lastFailure) < minInterval {
		return false
	}
	var err error
	if r.notifier, err = r.Connect(ctx); err != nil {
		if r.lastFailure.IsZero() {
			r.Log.Info("No notifications", "reason", err.Error())
		}
		r.notifier, r.lastFailure = nil, time.Now()
		return false
	}
	r.reachable.Store(true)
	return true
}

// showDue shows the delayed notifications whose interval has ended.
func (r *watchRun) showDue(ctx context.Context) {
	for _, subject := range slices.Sorted(maps.Keys(r.subjects)) {
		t := r.subjects[subject]
		if t.pending != nil && time.Since(t.shownAt) >= minInterval {
			r.show(ctx, *t.pending)
		}
	}
}

func (r *watchRun) untilDue() time.Duration {
	wait, untilTry := time.Hour, time.Duration(0)
	if r.notifier == nil && !r.lastFailure.IsZero() {
		untilTry = minInterval - time.Since(r.lastFailure)
	}
	for _, t := range r.subjects {
		if t.pending != nil {
			wait = min(wait, max(0, minInterval-time.Since(t.shownAt), untilTry))
		}
	}
	return wait
}

// dropIdleSubjects deletes the state of subjects that are not visible and whose interval has ended.
func (r *watchRun) dropIdleSubjects() {
	if len(r.subjects) < maxSubjects {
		return
	}
	maps.DeleteFunc(r.subjects, func(_ string, t *subjectState) bool {
		return !t.visible && t.pending == nil && time.Since(t.shownAt) >= minInterval
	})
}
