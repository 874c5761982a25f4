//go:build !linux

package secret

import (
	"context"
	"runtime"
)

// look cannot tell more than that these systems have a keyring; a locked one is
// noticed by the deadline.
func look(context.Context) State {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return Open
	}
	return Absent
}
