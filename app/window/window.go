//go:build desktop || bindings || dev

package window

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"

	"github.com/wailsapp/wails/v2"
	"github.com/wailsapp/wails/v2/pkg/options"
	"github.com/wailsapp/wails/v2/pkg/options/assetserver"
	"github.com/wailsapp/wails/v2/pkg/options/linux"
	"github.com/wailsapp/wails/v2/pkg/runtime"

	"drawbridge/build/icons"
)

// Main shows the window and returns when it is closed. Nothing may come before
// wails.Run that can fail or take time: the Wails tools run Main to find bindings.
func Main() {
	// White windows on some graphics drivers: https://github.com/wailsapp/wails/issues/4985
	if os.Getenv("WEBKIT_DISABLE_DMABUF_RENDERER") == "" {
		os.Setenv("WEBKIT_DISABLE_DMABUF_RENDERER", "1")
	}
	lead := newEntrance(os.Getenv("DRAWBRIDGE_WINDOW_URL"))
	os.Unsetenv("DRAWBRIDGE_WINDOW_URL") // the web processes need not inherit the code

	var ctx context.Context
	err := wails.Run(&options.App{
		Title:            "Drawbridge",
		Width:            1180,
		Height:           800,
		MinWidth:         640,
		MinHeight:        420,
		BackgroundColour: options.NewRGB(24, 26, 31),
		AssetServer:      &assetserver.Options{Handler: lead},
		OnStartup:        func(c context.Context) { ctx = c },
		SingleInstanceLock: &options.SingleInstanceLock{
			UniqueId: "drawbridge_" + fingerprint(lead.base()),
			OnSecondInstanceLaunch: func(options.SecondInstanceData) {
				runtime.WindowUnminimise(ctx)
				runtime.WindowShow(ctx)
				if !lead.answers() {
					runtime.WindowReloadApp(ctx)
				}
			},
		},
		Linux: &linux.Options{
			Icon:             icons.App,
			ProgramName:      "drawbridge",
			WebviewGpuPolicy: linux.WebviewGpuPolicyNever,
		},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "drawbridge-window: cannot show the window:", err)
		os.Exit(1)
	}
}

// fingerprint lets two daemons, such as one under development, have a window each.
func fingerprint(base string) string {
	sum := sha256.Sum256([]byte(base))
	return hex.EncodeToString(sum[:6])
}
