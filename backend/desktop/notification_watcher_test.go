package desktop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fakeNotifier is a Notifier that records its calls.
type fakeNotifier struct {
	mu      sync.Mutex
	log     []string
	click   chan Click
	refuse  error
	closed  int
	visible map[string]Notification
}

func (s *fakeNotifier) Show(_ context.Context, n Notification) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		return s.refuse
	}
	s.log = append(s.log, n.Title+": "+n.Text)
	s.visible[n.Subject] = n
	return nil
}
func (s *fakeNotifier) Withdraw(_ context.Context, subject string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, "withdrawn "+subject)
	delete(s.visible, subject)
}
func (s *fakeNotifier) Clicked() <-chan Click {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.click
}
func (s *fakeNotifier) Close() { s.closed++ }

type fixture struct {
	*fakeNotifier
	watcher *Watcher
	t       *testing.T
	bus     *core.Bus
	off     bool
	opened  []string
	answers []string
	connect error
	tries   int
	now     NotificationState
}

// overflowQueue makes the watcher's queue overflow by blocking the notifier.
func (d *fixture) overflowQueue() {
	d.mu.Lock()
	for range 2 * eventQueueSize {
		d.bus.Publish(core.NoticeEvent, core.Notice{Subject: "nothing", Message: "of interest"})
	}
	d.mu.Unlock()
	synctest.Wait()
}

// withWatcher runs do with a Watcher, in a synctest bubble.
func withWatcher(t *testing.T, do func(d *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &fixture{fakeNotifier: &fakeNotifier{click: make(chan Click, 1), visible: map[string]Notification{}}, t: t, bus: new(core.Bus)}
		w := &Watcher{
			Bus: d.bus, Log: slog.New(slog.DiscardHandler), Enabled: func() bool { return !d.off },
			Connect:  d.dial,
			Snapshot: func() NotificationState { return d.now },
			Open:     func(to string) { d.opened = append(d.opened, to) },
			Answer: func(id string, approve bool) { // called on a goroutine of its own
				d.mu.Lock()
				defer d.mu.Unlock()
				d.answers = append(d.answers, fmt.Sprint(id, " ", approve))
			},
		}
		d.watcher = w
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		synctest.Wait()
		do(d)
		cancel()
		err := <-done
		assert.NoError(t, err)
		assert.Empty(t, d.visible, "the end of the program leaves")
	})
}

func (d *fixture) dial(context.Context) (Notifier, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tries++
	return d.fakeNotifier, d.connect
}

// setConnectError sets the result of Connect and returns the number of calls so far.
func (d *fixture) setConnectError(err error) (tries int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.connect, tries = err, d.tries
	return tries
}

func (d *fixture) publish(kind core.EventKind, data any) {
	d.bus.Publish(kind, data)
	synctest.Wait()
}

func (d *fixture) server(id string, state core.State, reason string) {
	d.publish(core.ServerEvent, core.ServerStatus{ID: id, State: state, Reason: reason})
}

func (d *fixture) expectLog(want ...string) {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if got := strings.Join(d.log, "\n"); got != strings.Join(want, "\n") {
		d.t.Fatalf("said\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	d.log = nil
}

func TestFailedServerIsNotifiedOnceAndWithdrawn(t *testing.T) {
	withWatcher(t, func(d *fixture) {
		d.server("files", core.StateRunning, "")
		d.server("files", core.StateRestarting, "exit 1")
		d.expectLog()
		d.server("files", core.StateFailed, "exit 1\n\x1b[31mno such file")
		d.server("files", core.StateFailed, "exit 1")
		d.expectLog("files failed: exit 1 [31mno such file")
		time.Sleep(2 * minInterval) // an unchanged state is not notified again
		synctest.Wait()
		d.expectLog()
		n := d.visible["server/files"]
		require.Truef(t, n.PagePath == "/servers/files" && n.Urgent, "%+v", n)
		d.server("files", core.StateRunning, "")
		d.expectLog("withdrawn server/files")
		d.publish(core.ServerEvent, core.ServerStatus{ID: "git", State: core.StateFailed, Reason: "there is no secret named \"k\".", Hint: "Store it with: drawbridge secret set k."})
		d.expectLog("git failed: there is no secret named \"k\". Store it with: drawbridge secret set k.")
	})
}

func TestNotificationsPerSubjectAreLimitedToOnePerMinute(t *testing.T) {
	withWatcher(t, func(d *fixture) {
		d.server("a", core.StateFailed, "one")
		d.server("a", core.StateRunning, "")
		d.server("a", core.StateFailed, "two")
		d.expectLog("a failed: one", "withdrawn server/a")
		time.Sleep(minInterval - time.Second)
		synctest.Wait()
		d.expectLog()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		d.expectLog("a failed: two")
		d.server("a", core.StateRunning, "")
		d.server("a", core.StateFailed, "three")
		d.server("a", core.StateRunning, "") // resolved before the interval ends: not shown
		d.mu.Lock()
		d.log = nil
		d.mu.Unlock()
		time.Sleep(2 * minInterval)
		synctest.Wait()
		d.expectLog()
	})
}

func TestSeveralFailedServersShareOneNotification(t *testing.T) {
	withWatcher(t, func(d *fixture) {
		d.server("a", core.StateFailed, "one")
		d.server("b", core.StateNeedsSignIn, "two")
		d.server("c", core.StateFailed, "three")
		d.expectLog("a failed: one", "withdrawn server/a", "2 servers need attention: a failed; b needs sign-in.")
		d.mu.Lock()
		if n := d.visible[serversSubject]; n.PagePath != "/" || len(d.visible) != 1 {
			t.Errorf("%+v", d.visible)
		}
		d.mu.Unlock()
		time.Sleep(minInterval)
		synctest.Wait()
		d.expectLog("3 servers need attention: a failed; b needs sign-in; c failed.")
		d.server("a", core.StateRunning, "")
		d.publish(core.RemovedEvent, "b")
		d.expectLog()
		d.server("c", core.StateRunning, "")
		d.expectLog("withdrawn servers")
		d.server("a", core.StateFailed, "again") // alone: its reason is shown, after the interval of its own notification
		time.Sleep(minInterval)
		synctest.Wait()
		d.expectLog("a failed: again")
	})
}

func TestManyApprovalsBecomeOneNotification(t *testing.T) {
	withWatcher(t, func(d *fixture) {
		ask := func(i int, state string) {
			d.publish(core.ApprovalEvent, approvals.Item{ID: fmt.Sprint(i), Server: "github", Message: fmt.Sprint("delete ", i, "?"), State: state})
		}
		ask(1, "")
		d.expectLog("\"github\" asks: delete 1?")
		for i := 2; i <= 20; i++ {
			ask(i, "")
		}
		d.expectLog()
		time.Sleep(minInterval)
		synctest.Wait()
		d.expectLog("20 approvals pending: \"github\" asks: delete 20?")
		for i := range 20 {
			ask(i+1, "accept")
		}
		d.expectLog("withdrawn waiting")
	})
}

func TestLostEntryAndChangedCommandAreNotified(t *testing.T) {
	withWatcher(t, func(d *fixture) {
		d.publish(core.NoticeEvent, core.Notice{Subject: "clients/cursor", Message: "Our entry is gone."})
		d.publish(core.NoticeEvent, core.Notice{Subject: core.UnapprovedCommandSubject + "files", Message: "Server files is running a new command: x"})
		d.publish(core.NoticeEvent, core.Notice{Subject: "bridge", Message: "not worth a notification"})
		d.expectLog("Drawbridge: Our entry is gone.", "Drawbridge: Server files is running a new command: x")
		d.publish(core.NoticeEvent, core.Notice{Subject: "clients/cursor"})
		d.expectLog("withdrawn clients/cursor")
		d.publish(core.NoticeEvent, core.Notice{Subject: core.HeldConfigSubject, Message: "A change is held back."})
		d.expectLog("Drawbridge: A change is held back.")
	})
}

// One edit of the configuration may change many commands.
func TestManyNewCommandsBecomeOneNotification(t *testing.T) {
	withWatcher(t, func(d *fixture) {
		tell := func(id, message string) {
			d.publish(core.NoticeEvent, core.Notice{Subject: core.UnapprovedCommandSubject + id, Message: message})
		}
		tell("a", "a runs x")
		assert.Equal(t, "/servers/a", d.visible["commands"].PagePath, "a click leads")
		tell("b", "b runs y")
		tell("c", "c runs z")
		d.expectLog("Drawbridge: a runs x")
		time.Sleep(minInterval)
		synctest.Wait()
		d.expectLog("3 servers are running new commands: c runs z")
		assert.Equal(t, "/servers", d.visible["commands"].PagePath, "a click leads")
		tell("a", "")
		tell("b", "")
		d.expectLog()
		tell("c", "")
		d.expectLog("withdrawn commands")
	})
}

func TestRightToLeftNameKeepsSentenceOrder(t *testing.T) {
	withWatcher(t, func(d *fixture) {
		d.publish(core.ServerEvent, core.ServerStatus{ID: "a", Label: "שלום", State: core.StateFailed, Reason: "x"})
		d.publish(core.ServerEvent, core.ServerStatus{ID: "b", Label: "Grüße", State: core.StateFailed, Reason: "x"})
		d.expectLog("\u200eשלום failed: x", "withdrawn server/a", "2 servers need attention: Grüße failed; שלום failed.")
	})
}

func TestClickOpensItsPage(t *testing.T) {
	withWatcher(t, func(d *fixture) {
		d.server("files", core.StateNeedsApproval, "new command")
		d.click <- Click{Notification: d.visible["server/files"]}
		synctest.Wait()
		require.Len(t, d.opened, 1)
		require.Equal(t, "/servers/files", d.opened[0])
	})
}

func TestDisabledNotificationsStaySilent(t *testing.T) {
	withWatcher(t, func(d *fixture) {
		assert.True(t, d.watcher.CanNotify(), "the user with notifications is not reachable")
		d.off = true
		d.server("files", core.StateFailed, "x")
		d.expectLog()
		assert.False(t, d.watcher.CanNotify(), "the user without notifications counts as reachable")
	})
}

// Notifications without a notifier are shown when one is available, if they still apply.
func TestNotificationServerMayAppearAndVanish(t *testing.T) {
	withWatcher(t, func(d *fixture) {
		d.refuse = errors.New("gone")
		d.server("z", core.StateFailed, "0")
		if d.closed != 1 || d.watcher.CanNotify() {
			t.Fatalf("closed %d times, reachable %v", d.closed, d.watcher.CanNotify())
		}
		gone := errors.New("no session bus")
		d.refuse = nil
		before := d.setConnectError(gone)
		time.Sleep(minInterval - time.Second)
		d.server("a", core.StateFailed, "1")
		d.server("b", core.StateFailed, "2")
		tries := d.setConnectError(gone) - before
		require.Equal(t, 0, tries)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if tries := d.setConnectError(gone) - before; tries != 1 || d.watcher.CanNotify() {
			t.Fatalf("%d tries, reachable %v", tries, d.watcher.CanNotify())
		}
		d.server("b", core.StateRunning, "") // resolved before it could be shown
		d.setConnectError(nil)
		time.Sleep(minInterval)
		synctest.Wait()
		d.expectLog("2 servers need attention: a failed; z failed.")
		if tries := d.setConnectError(nil) - before; tries != 2 || !d.watcher.CanNotify() {
			t.Fatalf("%d tries, reachable %v", tries, d.watcher.CanNotify())
		}
	})
}

// A slow watcher may miss that a problem was resolved.
func TestResolvedProblemsDuringLostEventsAreWithdrawn(t *testing.T) {
	withWatcher(t, func(d *fixture) {
		d.publish(core.ApprovalEvent, approvals.Item{ID: "1", Server: "files", Message: "may I?"})
		d.publish(core.NoticeEvent, core.Notice{Subject: core.UnapprovedCommandSubject + "git", Message: "a new command"})
		d.server("web", core.StateFailed, "exit 1")
		require.Len(t, d.visible, 3)
		// The current state, which the watcher could not follow event by event.
		d.now = NotificationState{Servers: []core.ServerStatus{{ID: "web", State: core.StateRunning}}}
		d.overflowQueue()
		assert.Empty(t, d.visible, "still shown")
		time.Sleep(2 * minInterval)
		d.publish(core.ApprovalEvent, approvals.Item{ID: "2", Server: "files", Message: "and now?"})
		assert.Equal(t, `"files" asks`, d.visible["waiting"].Title, "the next approval is shown as")
	})
}

func TestProblemsDuringLostEventsAreShown(t *testing.T) {
	withWatcher(t, func(d *fixture) {
		d.now = NotificationState{
			Servers:   []core.ServerStatus{{ID: "web", State: core.StateFailed, Reason: "exit 1"}},
			Approvals: []approvals.Item{{ID: "1", Server: "files", Message: "may I?"}},
			Commands:  map[string]string{"git": "a new command"},
		}
		d.overflowQueue()
		assert.Len(t, d.visible, 3)
	})
}

func TestHeldCallIsAnsweredByButtonsOfNotification(t *testing.T) {
	held := func(id, arguments string) approvals.Item {
		return approvals.Item{ID: id, Kind: approvals.Call, Server: "files", Message: "Cursor wants to call write on files", Held: &approvals.Held{Tool: "write", Arguments: arguments}}
	}
	withWatcher(t, func(d *fixture) {
		first := held("1", `{"path":"/a"}`)
		d.publish(core.ApprovalEvent, first)
		n := d.visible["waiting"]
		if n.Text != `Cursor wants to call write on files {"path":"/a"}` || len(n.Buttons) != 2 || n.Buttons[0].Label != "Allow once" || n.Buttons[1].Label != "Deny" {
			t.Fatalf("shown: %+v", n)
		}
		// The press arrives after another call has replaced the notification.
		first.State = approvals.Withdrawn
		d.publish(core.ApprovalEvent, first)
		time.Sleep(minInterval)
		d.publish(core.ApprovalEvent, held("2", `{"path":"/b"}`))
		late := Click{Notification: d.visible["waiting"], Key: n.Buttons[0].Key}
		d.click <- late
		d.click <- Click{Notification: d.visible["waiting"], Key: d.visible["waiting"].Buttons[1].Key}
		synctest.Wait()
		slices.Sort(d.answers)
		if want := []string{"1 true", "2 false"}; !slices.Equal(d.answers, want) || len(d.opened) != 0 {
			t.Errorf("answers %q, opened %q", d.answers, d.opened)
		}
	})
	withWatcher(t, func(d *fixture) {
		d.publish(core.ApprovalEvent, held("1", strings.Repeat("x", 400)))
		n := d.visible["waiting"]
		assert.Truef(t, len(n.Buttons) == 1 && n.Buttons[0].Label == "Deny", "a call whose arguments are not shown in full has the buttons %+v", n.Buttons)
	})
	withWatcher(t, func(d *fixture) {
		d.publish(core.ApprovalEvent, held("1", "{}"))
		d.publish(core.ApprovalEvent, held("2", "{}"))
		time.Sleep(minInterval)
		synctest.Wait()
		assert.Empty(t, d.visible["waiting"].Buttons, "a notification about two calls has the buttons")
	})
}
