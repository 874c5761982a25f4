// Package tray shows the icon in the notification area and its menu. The content of the menu is
// computed by a pure function of the servers' statuses (menuOf). The rest of the package displays
// it and keeps it current by changing entries in place, so that an open menu neither flickers nor
// closes.
//
// Run shows the tray until its context is done. A desktop without a tray is never an error.
package tray
