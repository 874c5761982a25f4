package tray

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/godbus/dbus/v5"
)

// watcher is the name under which a panel that shows tray icons is found.
const watcher = "org.kde.StatusNotifierWatcher"

// noPanel is why there is no icon where none is shown.
const noPanel = "the desktop shows no tray icons"

// Available reports whether an icon would be seen now, and why not.
func Available() (ok bool, why string) {
	conn, err := sessionBus(context.Background())
	if err != nil {
		return false, err.Error()
	}
	defer conn.Close()
	if !watched(conn) {
		return false, noPanel
	}
	return true, ""
}

// sessionBus connects to the bus that is there. The library's usual way would start
// one, which would then outlive us.
func sessionBus(ctx context.Context) (*dbus.Conn, error) {
	conn, err := dbus.SessionBusPrivateNoAutoStartup(dbus.WithContext(ctx))
	if err != nil {
		return nil, errors.New("there is no session bus")
	}
	if err = conn.Auth(nil); err == nil {
		err = conn.Hello()
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("the session bus does not let us in: %w", err)
	}
	return conn, nil
}

func watched(conn *dbus.Conn) bool {
	var owned bool
	err := conn.BusObject().Call("org.freedesktop.DBus.NameHasOwner", 0, watcher).Store(&owned)
	return err == nil && owned
}

// awaitPlace returns nil once a panel shows tray icons. Without a session bus it fails
// at once; without a panel it waits until one appears or ctx ends.
func awaitPlace(ctx context.Context, o Options) error {
	conn, err := sessionBus(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	changes, err := panels(ctx, conn)
	if err != nil {
		return err
	}
	if watched(conn) {
		return nil
	}
	o.Shown(false, noPanel)
	o.Log.Info("No tray icon yet", "reason", noPanel)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case _, open := <-changes:
			if !open {
				return errors.New("the session bus went away")
			}
			if watched(conn) {
				return nil
			}
		}
	}
}

// panels returns a channel that hears when a panel appears or goes. It is closed when the
// bus goes away.
func panels(ctx context.Context, conn *dbus.Conn) (<-chan *dbus.Signal, error) {
	if err := conn.AddMatchSignalContext(ctx,
		dbus.WithMatchSender("org.freedesktop.DBus"),
		dbus.WithMatchInterface("org.freedesktop.DBus"),
		dbus.WithMatchMember("NameOwnerChanged"),
		dbus.WithMatchArg(0, watcher),
	); err != nil {
		return nil, fmt.Errorf("cannot wait for a panel: %w", err)
	}
	changes := make(chan *dbus.Signal, 8)
	conn.Signal(changes)
	return changes, nil
}

// attend tells what becomes of the icon, until ctx ends: that its panel went, and that one
// is there again, where systray shows it anew by itself. The session bus goes with the
// person's session: then the program ends in order, as it does elsewhere (see leave). Where
// a service manager runs us, it is the one to end us.
func attend(ctx context.Context, o Options) {
	conn, err := sessionBus(ctx)
	if err != nil {
		return // between two looks: nothing is known, and nothing is done
	}
	defer conn.Close()
	changes, err := panels(ctx, conn)
	if err != nil {
		return
	}
	there := true
	for {
		if now := watched(conn); now != there && conn.Connected() {
			there = now
			if there {
				o.Shown(true, "")
			} else {
				o.Shown(false, noPanel)
				o.Log.Info("The tray icon is gone", "reason", noPanel)
			}
		}
		select {
		case <-ctx.Done():
			return
		case _, open := <-changes:
			if open {
				continue
			}
			if ctx.Err() != nil {
				return
			}
			o.Shown(false, "the session bus went away")
			if managed() {
				o.Log.Warn("The session bus went away, and the tray icon with it")
				return
			}
			o.Log.Warn("The session bus went away: the session is over")
			o.Quit()
			return
		}
	}
}

// managed reports whether systemd runs this program as a service or started it with the
// session, and so ends it when its time has come.
func managed() bool { return os.Getenv("INVOCATION_ID") != "" }
