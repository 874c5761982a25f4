// Package desktop integrates Drawbridge with the desktop of the user beside tray and window:
// notifications, start at login, drawbridge:// links, and notices of a newer version: once a day a
// signed document is read, if the user allows it, and the program file is watched for an update.
//
// All of it is optional. On a machine without a desktop the functions succeed without an effect or
// return an error that says what is missing; nothing waits for a desktop service without a
// deadline.
package desktop
