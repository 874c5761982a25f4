package tray

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/godbus/dbus/v5"
)

// watcherName is the bus name of a panel that shows tray icons.
const watcherName = "org.kde.StatusNotifierWatcher"

// noPanel is the reason if no panel shows icons.
const noPanel = "the desktop does not support tray icons"

// sessionBus connects to the running session bus. The library's default would start a bus, which
// would outlive us.
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
		return nil, fmt.Errorf("cannot connect to the session bus: %w", err)
	}
	return conn, nil
}

func hasPanel(conn *dbus.Conn) bool {
	var owned bool
	err := conn.BusObject().Call("org.freedesktop.DBus.NameHasOwner", 0, watcherName).Store(&owned)
	return err == nil && owned
}

// awaitPanel returns nil once a panel shows tray icons. Without a session bus it fails immediately;
// without a panel it waits until one appears or ctx is done.
func awaitPanel(ctx context.Context, o Options) error {
	conn, err := sessionBus(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	changes, err := panels(ctx, conn)
	if err != nil {
		return err
	}
	if hasPanel(conn) {
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
				return errors.New("the connection to the session bus was lost")
			}
			if hasPanel(conn) {
				return nil
			}
		}
	}
}

// panels returns a channel that receives a signal when a panel appears or disappears. It is closed
// when the bus disconnects.
func panels(ctx context.Context, conn *dbus.Conn) (<-chan *dbus.Signal, error) {
	if err := conn.AddMatchSignalContext(ctx,
		dbus.WithMatchSender("org.freedesktop.DBus"),
		dbus.WithMatchInterface("org.freedesktop.DBus"),
		dbus.WithMatchMember("NameOwnerChanged"),
		dbus.WithMatchArg(0, watcherName),
	); err != nil {
		return nil, fmt.Errorf("cannot wait for a panel: %w", err)
	}
	changes := make(chan *dbus.Signal, 8)
	conn.Signal(changes)
	return changes, nil
}

// watchPanel reports changes of the icon until ctx is done: that its panel disappeared, or that a
// panel has appeared, on which systray shows the icon again. The session bus ends with the user's
// session: then the program stops in order, as on other systems (see leave). If a service manager
// runs the program, it stops it instead.
func watchPanel(ctx context.Context, o Options) {
	conn, err := sessionBus(ctx)
	if err != nil {
		return // the bus disconnected between two checks: nothing is known, so do nothing
	}
	defer conn.Close()
	changes, err := panels(ctx, conn)
	if err != nil {
		return
	}
	there := true
	for {
		if now := hasPanel(conn); now != there && conn.Connected() {
			there = now
			if there {
				o.Shown(true, "")
			} else {
				o.Shown(false, noPanel)
				o.Log.Info("The tray icon has disappeared", "reason", noPanel)
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
			o.Shown(false, "the connection to the session bus was lost")
			if managedBySystemd() {
				o.Log.Warn("The connection to the session bus was lost, so the tray icon is no longer shown")
				return
			}
			o.Log.Warn("The connection to the session bus was lost, because the session has ended")
			o.Quit()
			return
		}
	}
}

// managedBySystemd reports whether systemd runs this program as a service or started it with the
// session. systemd then also stops it.
func managedBySystemd() bool { return os.Getenv("INVOCATION_ID") != "" }
