package tray

import (
	"context"
	"errors"
	"log/slog"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/event"
)

// Facts is what the menu says beside the servers.
type Facts struct {
	Waiting         int  // questions and approvals that wait for the user
	Paused          bool // all servers are held back
	RecordingPaused bool
	StartAtLogin    bool
	// Visible is how many tools clients see, by the id of a server of which they do not see all.
	Visible map[string]int
}

// Options is what the tray shows and does. Statuses and Bus are needed; a nil function
// leaves its entries without effect. The functions are called on goroutines of their
// own and may block; after those that change a fact the menu is drawn anew.
type Options struct {
	Statuses func() []core.ServerStatus
	Facts    func() Facts // read with each drawing: it must not block
	Bus      *event.Bus
	Open     func(to string) // show the window, at a place of the page; "" is where it is
	Quit     func()          // end the program
	Start    func(id string)
	Stop     func(id string)
	Restart  func(id string)

	Pause          func(on bool) // all servers
	PauseRecording func(on bool)
	StartAtLogin   func(on bool)
	CopyAddress    func() // of the bridge, to the clipboard

	// Shown is told when the icon is there, and when it is not and why. It may be nil.
	Shown func(shown bool, why string)
	Log   *slog.Logger
}

func (o *Options) check() error {
	if o.Statuses == nil || o.Bus == nil {
		return errors.New("cannot show the tray: Statuses and Bus are needed")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Facts == nil {
		o.Facts = func() Facts { return Facts{} }
	}
	if o.Shown == nil {
		o.Shown = func(bool, string) {}
	}
	for _, f := range []*func(){&o.Quit, &o.CopyAddress} {
		if *f == nil {
			*f = func() {}
		}
	}
	for _, f := range []*func(string){&o.Open, &o.Start, &o.Stop, &o.Restart} {
		if *f == nil {
			*f = func(string) {}
		}
	}
	for _, f := range []*func(bool){&o.Pause, &o.PauseRecording, &o.StartAtLogin} {
		if *f == nil {
			*f = func(bool) {}
		}
	}
	return nil
}

// waitWithout says why there is no icon, and waits for ctx to end.
func waitWithout(ctx context.Context, o Options, why string) error {
	if ctx.Err() == nil {
		o.Shown(false, why)
		o.Log.Info("No tray icon", "reason", why)
		<-ctx.Done()
	}
	return nil
}
