// Package desktop is what Drawbridge does on the user's desktop beside tray and window:
// notifications, the start at login, and drawbridge:// links. All of it is optional: on
// a machine without a desktop nothing here fails, it only has no effect.
package desktop
