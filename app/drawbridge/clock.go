//go:build !jumpyclock

package main

import "time"

// clock returns the current time for history, gateway, bridge and sessions. nil means time.Now.
var clock func() time.Time
