package tray

import (
	"errors"
	"log/slog"

	"drawbridge/backend/event"
	"drawbridge/backend/hub"
)

// Options is what the tray shows and does. Statuses and Bus are needed; a nil function
// leaves its entries without effect. The functions are called on goroutines of their
// own and may block.
type Options struct {
	Statuses func() []hub.ServerStatus
	Bus      *event.Bus
	Open     func() // show the window
	Quit     func() // end the program
	Start    func(id string)
	Stop     func(id string)
	Restart  func(id string)
	Log      *slog.Logger
}

func (o *Options) check() error {
	if o.Statuses == nil || o.Bus == nil {
		return errors.New("cannot show the tray: Statuses and Bus are needed")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	for _, f := range []*func(){&o.Open, &o.Quit} {
		if *f == nil {
			*f = func() {}
		}
	}
	for _, f := range []*func(string){&o.Start, &o.Stop, &o.Restart} {
		if *f == nil {
			*f = func(string) {}
		}
	}
	return nil
}
