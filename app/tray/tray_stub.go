//go:build darwin && !cgo

package tray

import "context"

const noTray = "this build was compiled without cgo, which the tray icon on macOS requires"

// Run waits until ctx is done: this build has no tray.
func Run(ctx context.Context, o Options) error {
	return waitWithoutIcon(ctx, o, noTray)
}
