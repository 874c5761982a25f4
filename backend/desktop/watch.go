package desktop

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/event"
)

// quiet is the minimum interval between two notifications with the same subject. A
// notification that becomes due earlier is delayed until the interval ends, unless it is
// withdrawn before.
const quiet = time.Minute

// maxSubjects is the maximum number of subjects that are tracked. Beyond it, new ones are not
// shown.
const maxSubjects = 256

// queued is the size of the event queue.
const queued = 512

// Watcher turns events into notifications: a server that crashed or needs the user, a pending
// question or approval, a lost client entry, a changed command.
type Watcher struct {
	Bus *event.Bus
	Log *slog.Logger
	// Connect returns the system's notifier. It is retried at most once a minute while it
	// fails, because the desktop may start later.
	Connect func(context.Context) (Notifier, error)
	// Enabled reports whether the user wants notifications. It is called for each
	// notification.
	Enabled func() bool
	// Open opens a page of the UI. It may block.
	Open func(to string)
	// Present returns a snapshot of the current state. It is called after events were lost.
	Present func() Present

	reachable atomic.Bool
}

// Reachable reports whether a notification would be shown now. It is false until Run has
// connected to the notifier. It may be called from any goroutine.
func (w *Watcher) Reachable() bool { return w.reachable.Load() && w.Enabled() }

// told is the notification state of one subject.
type told struct {
	at    time.Time     // when it was last shown; zero if never
	shown bool          // it is visible, as far as known
	next  *Notification // shown when the interval ends or a notifier is available
}

// watch is the state of one Run. It is used by one goroutine only.
type watch struct {
	*Watcher
	notifier Notifier
	tried    time.Time // when Connect last failed
	subjects map[string]*told
	states   map[string]core.State
	waiting  map[string]approvals.Item
	commands map[string]string // messages about changed commands, by server
}

// Run shows notifications until ctx is done, and then returns nil.
func (w *Watcher) Run(ctx context.Context) error {
	r := &watch{Watcher: w, subjects: map[string]*told{}, states: map[string]core.State{}, waiting: map[string]approvals.Item{}, commands: map[string]string{}}
	sub := w.subscribe()
	if w.Enabled() { // approvals depend on Reachable
		r.connected(ctx)
	}
	defer func() { sub.Close() }()
	defer func() { r.end(context.WithoutCancel(ctx)) }()
	silence := time.NewTimer(time.Hour)
	defer silence.Stop()
	for {
		var clicked <-chan Notification
		if r.notifier != nil {
			clicked = r.notifier.Clicked()
		}
		select {
		case <-ctx.Done():
			return nil
		case n := <-clicked:
			go w.Open(n.To)
		case <-silence.C:
			r.due(ctx)
		case e, open := <-sub.Events():
			if open {
				r.take(ctx, e)
				break
			}
			sub = w.subscribe() // events were lost: shown problems may be resolved
			r.catchUp(ctx, w.Present())
		}
		silence.Reset(r.untilDue())
	}
}

func (w *Watcher) subscribe() *event.Subscription {
	return w.Bus.Subscribe(queued, event.Server, event.Removed, event.Health, event.Approval)
}

// take handles one event.
func (r *watch) take(ctx context.Context, e event.Event) {
	switch data := e.Data.(type) {
	case core.ServerStatus:
		r.server(ctx, data)
	case event.Notice:
		if id, ok := strings.CutPrefix(data.Subject, event.CommandSubject); ok {
			r.command(ctx, id, data.Message)
			return
		}
		if !strings.HasPrefix(data.Subject, "clients/") && data.Subject != "history" {
			return
		}
		if data.Message == "" {
			r.withdraw(ctx, data.Subject)
			return
		}
		r.show(ctx, Notification{Subject: data.Subject, Title: "Drawbridge", Text: data.Message, To: noticePlace(data.Subject)})
	case approvals.Item:
		r.question(ctx, data)
	case string:
		if e.Kind == event.Removed {
			delete(r.states, data)
			r.withdraw(ctx, "server/"+data)
		}
	}
}

func noticePlace(subject string) string {
	if strings.HasPrefix(subject, "clients/") {
		return "/clients"
	}
	return "/"
}

// command maintains one notification for all changed commands, because one edit of the
// configuration may change many. An empty message removes the one of this server.
func (r *watch) command(ctx context.Context, id, message string) {
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
	n := Notification{Subject: subject, Title: "Drawbridge", Text: message, To: "/servers/" + id}
	if len(r.commands) > 1 {
		n.Title, n.To = fmt.Sprintf("%d servers run new commands", len(r.commands)), "/servers"
	}
	r.show(ctx, n)
}

// server notifies once about each state that requires action by the user.
func (r *watch) server(ctx context.Context, s core.ServerStatus) {
	if r.states[s.ID] == s.State {
		return
	}
	r.states[s.ID] = s.State
	name := s.Label
	if name == "" {
		name = s.ID
	}
	n := Notification{Subject: "server/" + s.ID, Text: s.Reason, To: "/servers/" + s.ID}
	if s.Hint != "" {
		n.Text = strings.TrimRight(s.Reason, ".") + ". " + s.Hint
	}
	switch s.State {
	case core.StateCrashed:
		n.Title, n.Urgent = name+" does not run", true
	case core.StateNeedsApproval:
		n.Title = name + " waits for your approval"
	case core.StateNeedsLogin:
		n.Title = name + " needs a login"
	default:
		r.withdraw(ctx, n.Subject)
		return
	}
	r.show(ctx, n)
}

// question maintains one notification for all pending questions, so that an agent that asks
// often does not fill the screen.
func (r *watch) question(ctx context.Context, item approvals.Item) {
	const subject = "waiting"
	if item.State != "" {
		delete(r.waiting, item.ID)
		if len(r.waiting) == 0 {
			r.withdraw(ctx, subject)
		}
		return
	}
	if len(r.waiting) < maxSubjects {
		r.waiting[item.ID] = item
	}
	n := Notification{Subject: subject, Title: item.Server + " asks", Text: item.Message, To: "/questions", Urgent: true}
	if item.Client.Name != "" {
		n.Title = item.Client.Name + " waits: " + n.Title
	}
	if len(r.waiting) > 1 {
		n.Title, n.Text = fmt.Sprintf("%d questions wait for you", len(r.waiting)), n.Title+": "+item.Message
	}
	r.show(ctx, n)
}

// show shows n now, or when the interval of its subject ends.
func (r *watch) show(ctx context.Context, n Notification) {
	n.Title, n.Text = LeftToRight(Line(n.Title, 80)), Line(n.Text, 300)
	t := r.subjects[n.Subject]
	if t == nil {
		r.forget()
		if len(r.subjects) == maxSubjects {
			return
		}
		t = new(told)
		r.subjects[n.Subject] = t
	}
	if !t.at.IsZero() && time.Since(t.at) < quiet {
		t.next = &n
		return
	}
	t.next = nil
	if !r.Enabled() {
		return
	}
	if !r.connected(ctx) {
		t.next = &n // the desktop may start later, as at login
		return
	}
	if err := r.notifier.Show(ctx, n); err != nil {
		r.Log.Warn("Cannot show a notification", "error", err)
		r.notifier.Close()
		r.notifier, r.tried = nil, time.Now()
		r.reachable.Store(false)
		t.next = &n
		return
	}
	t.at, t.shown = time.Now(), true
}

func (r *watch) withdraw(ctx context.Context, subject string) {
	t := r.subjects[subject]
	if t == nil {
		return
	}
	t.next = nil
	if t.shown && r.notifier != nil {
		r.notifier.Withdraw(ctx, subject)
	}
	t.shown = false
}

// endLimit is the timeout for withdrawing notifications at exit.
const endLimit = time.Second

// end withdraws all notifications, because clicks are no longer handled.
func (r *watch) end(ctx context.Context) {
	if r.notifier == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, endLimit)
	defer cancel()
	for subject := range r.subjects {
		r.withdraw(ctx, subject)
	}
	r.notifier.Close()
}

// connected reports whether there is a notifier, and tries to connect if there is none.
func (r *watch) connected(ctx context.Context) bool {
	if r.notifier != nil {
		return true
	}
	if !r.tried.IsZero() && time.Since(r.tried) < quiet {
		return false
	}
	var err error
	if r.notifier, err = r.Connect(ctx); err != nil {
		if r.tried.IsZero() {
			r.Log.Info("No notifications", "reason", err.Error())
		}
		r.notifier, r.tried = nil, time.Now()
		return false
	}
	r.reachable.Store(true)
	return true
}

// due shows the delayed notifications whose interval has ended.
func (r *watch) due(ctx context.Context) {
	for _, subject := range slices.Sorted(maps.Keys(r.subjects)) {
		t := r.subjects[subject]
		if t.next != nil && time.Since(t.at) >= quiet {
			r.show(ctx, *t.next)
		}
	}
}

func (r *watch) untilDue() time.Duration {
	wait, untilTry := time.Hour, time.Duration(0)
	if r.notifier == nil && !r.tried.IsZero() {
		untilTry = quiet - time.Since(r.tried)
	}
	for _, t := range r.subjects {
		if t.next != nil {
			wait = min(wait, max(0, quiet-time.Since(t.at), untilTry))
		}
	}
	return wait
}

// forget deletes the state of subjects that are not visible and whose interval has ended.
func (r *watch) forget() {
	if len(r.subjects) < maxSubjects {
		return
	}
	maps.DeleteFunc(r.subjects, func(_ string, t *told) bool {
		return !t.shown && t.next == nil && time.Since(t.at) >= quiet
	})
}
