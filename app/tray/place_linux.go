package tray

import (
	"context"
	"errors"
	"fmt"

	"github.com/godbus/dbus/v5"
)

// watcher is the name under which a panel that shows tray icons is found.
const watcher = "org.kde.StatusNotifierWatcher"

// Available reports whether an icon would be seen now, and why not.
func Available() (ok bool, why string) {
	conn, err := sessionBus(context.Background())
	if err != nil {
		return false, err.Error()
	}
	defer conn.Close()
	if !watched(conn) {
		return false, "the desktop shows no tray icons"
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
	if err := conn.AddMatchSignalContext(ctx,
		dbus.WithMatchSender("org.freedesktop.DBus"),
		dbus.WithMatchInterface("org.freedesktop.DBus"),
		dbus.WithMatchMember("NameOwnerChanged"),
		dbus.WithMatchArg(0, watcher),
	); err != nil {
		return fmt.Errorf("cannot wait for a panel: %w", err)
	}
	changes := make(chan *dbus.Signal, 8)
	conn.Signal(changes)
	if watched(conn) {
		return nil
	}
	const why = "the desktop shows no tray icons"
	o.Shown(false, why)
	o.Log.Info("No tray icon yet", "reason", why)
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
