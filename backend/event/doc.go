// Package event is the bus for observers: the event stream of the API, the tray and metrics.
//
// [Bus.Publish] never blocks; a subscriber that does not keep up is closed and has to read the
// state again. Nothing on the call path or the configuration path waits for an event: without the
// bus only displays would be out of date.
package event
