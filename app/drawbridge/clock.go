//go:build !jumpyclock

package main

import "time"

// clock tells history, gateway, bridge and sessions the time of day. nil: the system's.
var clock func() time.Time
