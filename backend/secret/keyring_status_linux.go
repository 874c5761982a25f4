package secret

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	dbusService   = "org.freedesktop.DBus"
	secretService = "org.freedesktop.secrets"
	secretsPath   = "/org/freedesktop/secrets"
	collection    = "org.freedesktop.Secret.Collection"
)

// keyringState returns the state of the Secret Service without a prompt. It must precede every call
// of the keyring library, which would start a session bus if there is none.
func keyringState(ctx context.Context) State {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	conn, err := dbus.SessionBusPrivateNoAutoStartup(dbus.WithContext(ctx))
	if err != nil {
		return Absent
	}
	defer func() { _ = conn.Close() }()
	if conn.Auth(nil) != nil || conn.Hello() != nil {
		return Absent
	}
	var owned bool
	var startable []string
	_ = conn.BusObject().CallWithContext(ctx, dbusService+".NameHasOwner", 0, secretService).Store(&owned)
	_ = conn.BusObject().CallWithContext(ctx, dbusService+".ListActivatableNames", 0).Store(&startable)
	if !owned && !slices.Contains(startable, secretService) {
		return Absent
	}
	property := func(path dbus.ObjectPath, of, name string) (v dbus.Variant, err error) {
		err = conn.Object(secretService, path).CallWithContext(ctx, "org.freedesktop.DBus.Properties.Get", 0, of, name).Store(&v)
		return v, err
	}
	// Like the library, use the collection "login", otherwise the default one.
	path := dbus.ObjectPath(secretsPath + "/aliases/default")
	if v, err := property(secretsPath, "org.freedesktop.Secret.Service", "Collections"); err == nil {
		if all, ok := v.Value().([]dbus.ObjectPath); ok && slices.ContainsFunc(all, func(p dbus.ObjectPath) bool { return strings.HasSuffix(string(p), "/collection/login") }) {
			path = secretsPath + "/collection/login"
		}
	}
	v, err := property(path, collection, "Locked")
	switch is, ok := v.Value().(bool); {
	case err != nil && ctx.Err() != nil:
		return Locked // the service exists but does not respond
	case err != nil || !ok:
		return Absent // the service has no collection to store anything in
	case is:
		return Locked
	}
	return Open
}
