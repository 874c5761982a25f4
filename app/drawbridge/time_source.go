//go:build !simulatedclock

package main

import "time"

// timeSource returns the current time for history, gateway, bridge and sessions. nil means time.Now.
var timeSource func() time.Time
