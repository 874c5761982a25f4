//go:build !simulatedclock

package main

import "time"

// timeSource is daemon.now.
var timeSource func() time.Time
