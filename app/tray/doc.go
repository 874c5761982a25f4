// Package tray is the icon in the notification area and its menu. What the menu says
// is computed by a plain function of the servers' statuses; the rest of the package
// puts it on the screen and keeps it current, changing entries in place so that an
// open menu neither flickers nor closes.
package tray
