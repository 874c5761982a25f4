package dockerexec

import (
	"context"
	"errors"
	"time"

	"github.com/moby/moby/client"
)

// pingPause is the interval of attempts to reach an Engine that does not answer.
const pingPause = 500 * time.Millisecond

// Await blocks until a start at p, which failed because of the Engine or the container, may
// succeed: the Engine answers again, or it reports that a container has started. It may return
// too early. The error is that of ctx, or means that waiting is useless.
func Await(ctx context.Context, p Place) error {
	cli, at, err := connect(p.Engine)
	if err != nil {
		return err
	}
	defer cli.Close()
	away := false
	for {
		if err := answers(ctx, cli); err == nil {
			if away {
				return nil
			}
			if p == (Place{Engine: p.Engine}) {
				return nil // only the Engine was missing
			}
			if found, err := started(ctx, cli, at, p); found || err != nil {
				return err
			}
		} else if errors.Is(explain(at, "", err), ErrPermission) {
			return err
		}
		away = true // which also ended the event stream
		pause := time.NewTimer(pingPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return context.Cause(ctx)
		}
	}
}

func answers(ctx context.Context, cli *client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	_, err := cli.Ping(ctx, client.PingOptions{})
	return err
}

// started waits for the start event of the container. It returns false if the event stream ended,
// because the Engine stopped.
func started(ctx context.Context, cli *client.Client, at Engine, p Place) (bool, error) {
	following, stop := context.WithCancel(ctx)
	defer stop()
	filters := make(client.Filters).Add("type", "container").Add("event", "start", "unpause")
	if p.Name != "" {
		filters.Add("container", p.Name)
	}
	for _, label := range p.labels() {
		filters.Add("label", label)
	}
	events := cli.Events(following, client.EventsListOptions{Filters: filters})
	// The container may have started before the subscription. Do not start it here; the next
	// start does that.
	passive := p
	passive.Start = false
	if _, err := locate(ctx, cli, at, passive); err == nil {
		return true, nil
	}
	select {
	case <-events.Messages:
		return true, nil
	case <-events.Err:
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		return false, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}
