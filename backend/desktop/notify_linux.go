package desktop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"
)

// Names from the Desktop Notifications Specification 1.2.
const (
	notifyName = "org.freedesktop.Notifications"
	notifyPath = dbus.ObjectPath("/org/freedesktop/Notifications")
)

// defaultAction is the key of a click that is not on a button.
const defaultAction = "default"

// busTimeout is the timeout for a call to the notification server. The first call may have to
// start the server.
const busTimeout = 5 * time.Second

// dbusNotifier shows notifications over the D-Bus session bus.
type dbusNotifier struct {
	conn    *dbus.Conn
	object  dbus.BusObject
	actions bool // the server supports actions
	markup  bool // the server interprets the body as markup
	signals chan *dbus.Signal
	clicked chan Click
	done    chan struct{}

	mu    sync.Mutex
	shown map[string]uint32
	byID  map[uint32]Notification
}

// NewNotifier connects to the notification server of this session. It returns an error if
// there is none, and never starts a session bus.
func NewNotifier(ctx context.Context) (Notifier, error) {
	conn, err := dbus.SessionBusPrivateNoAutoStartup()
	if err != nil {
		return nil, errors.New("cannot show notifications: there is no session bus")
	}
	if err = conn.Auth(nil); err == nil {
		err = conn.Hello()
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("cannot show notifications: %w", err)
	}
	f := &dbusNotifier{
		conn: conn, object: conn.Object(notifyName, notifyPath),
		shown: map[string]uint32{}, byID: map[uint32]Notification{},
		signals: make(chan *dbus.Signal, 16), clicked: make(chan Click, 8),
		done: make(chan struct{}),
	}
	ctx, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	var capabilities []string
	if err := f.object.CallWithContext(ctx, notifyName+".GetCapabilities", 0).Store(&capabilities); err != nil {
		conn.Close()
		return nil, errors.New("cannot show notifications: the desktop has no notification server")
	}
	f.actions = slices.Contains(capabilities, "actions")
	f.markup = slices.Contains(capabilities, "body-markup")
	err = conn.AddMatchSignalContext(ctx, dbus.WithMatchObjectPath(notifyPath), dbus.WithMatchInterface(notifyName))
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("cannot show notifications: %w", err)
	}
	conn.Signal(f.signals)
	go f.listen()
	return f, nil
}

func (f *dbusNotifier) Show(ctx context.Context, n Notification) error {
	ctx, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	body := n.Text
	if f.markup {
		body = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(body)
	}
	var actions []string
	if f.actions && n.PagePath != "" {
		actions = []string{defaultAction, "Show"}
		for _, b := range n.Buttons {
			actions = append(actions, b.Key, b.Label)
		}
	}
	urgency := byte(1)
	if n.Urgent {
		urgency = 2
	}
	f.mu.Lock()
	replaces := f.shown[n.Subject]
	f.mu.Unlock()
	var id uint32
	err := f.object.CallWithContext(ctx, notifyName+".Notify", 0, "Drawbridge", replaces, "drawbridge", n.Title, body, actions,
		map[string]dbus.Variant{"urgency": dbus.MakeVariant(urgency), "desktop-entry": dbus.MakeVariant("drawbridge")}, int32(-1)).Store(&id)
	if err != nil {
		return fmt.Errorf("cannot show a notification: %w", err)
	}
	f.mu.Lock()
	delete(f.byID, replaces)
	f.shown[n.Subject], f.byID[id] = id, n
	f.mu.Unlock()
	return nil
}

func (f *dbusNotifier) Withdraw(ctx context.Context, subject string) {
	f.mu.Lock()
	id, ok := f.shown[subject]
	delete(f.shown, subject)
	delete(f.byID, id)
	f.mu.Unlock()
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	f.object.CallWithContext(ctx, notifyName+".CloseNotification", 0, id) // ignore the error: it may be closed already
}

func (f *dbusNotifier) Clicked() <-chan Click { return f.clicked }

// Close disconnects and waits for the listener to return. Visible notifications stay.
func (f *dbusNotifier) Close() {
	f.conn.Close() // closes f.signals
	<-f.done
}

// listen forwards clicks and forgets closed notifications. It returns when the connection is
// closed.
func (f *dbusNotifier) listen() {
	defer close(f.done)
	for s := range f.signals {
		if len(s.Body) < 2 {
			continue
		}
		id, ok := s.Body[0].(uint32)
		if !ok {
			continue
		}
		f.mu.Lock()
		n, ours := f.byID[id]
		if ours && s.Name == notifyName+".NotificationClosed" {
			delete(f.byID, id)
			if f.shown[n.Subject] == id {
				delete(f.shown, n.Subject)
			}
		}
		f.mu.Unlock()
		if ours && s.Name == notifyName+".ActionInvoked" {
			key, _ := s.Body[1].(string)
			if key == defaultAction {
				key = ""
			}
			select {
			case f.clicked <- Click{n, key}:
			default: // drop clicks that nobody receives
			}
		}
	}
}
