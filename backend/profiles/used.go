package profiles

import (
	"context"
	"log/slog"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
)

// A tool that a client called on two days of the last month is one that it uses. One day is no habit,
// and the list of a client must not change with each call.
const (
	usedWithin   = 30 * 24 * time.Hour
	usedDays     = 2
	usedInterval = 24 * time.Hour
)

// Used implements bridge.Options.Used: the tools that a client uses, with the number of days on which
// it called them. It is nil until Run has read the history.
func (f *Feature) Used(token string) *bridge.UsedTools {
	if all := f.used.Load(); all != nil {
		return (*all)[token]
	}
	return nil
}

// Run reads from the history which tools each client uses, at once and then once a day, until ctx is
// done.
func (f *Feature) Run(ctx context.Context) error {
	tick := time.NewTicker(usedInterval)
	defer tick.Stop()
	for {
		if err := f.readUsed(ctx); err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "Cannot read which tools clients use", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (f *Feature) readUsed(ctx context.Context) error {
	list, err := f.Store.ClientTools(ctx, time.Now().Add(-usedWithin), usedDays)
	if err != nil {
		return err
	}
	all := map[string]*bridge.UsedTools{}
	for _, t := range list {
		if all[t.Token] == nil {
			all[t.Token] = &bridge.UsedTools{}
		}
		(*all[t.Token])[[2]string{t.Server, t.Name}] = t.Days
	}
	f.used.Store(&all)
	return nil
}
