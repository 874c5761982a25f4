package dockerexec

import (
	"context"
	"errors"
	"time"

	"github.com/moby/moby/client"
)

// pingInterval is the interval of attempts to reach an Engine that does not answer.
const pingInterval = 500 * time.Millisecond

// WaitUntilStartable blocks until a start at p, which failed because of the Engine or the
// container, may succeed: the Engine answers again, or it reports that a container has started.
// It may return too early. The error is that of ctx, or means that waiting is useless.
func WaitUntilStartable(ctx context.Context, p Selector) error {
	cli, at, err := newClient(p.Engine)
	if err != nil {
		return err
	}
	defer cli.Close()
	away := false
	for {
		if err := ping(ctx, cli); err == nil {
			if away {
				return nil
			}
			if p == (Selector{Engine: p.Engine}) {
				return nil // only the Engine was missing
			}
			if found, err := waitForStart(ctx, cli, at, p); found || err != nil {
				return err
			}
		} else if errors.Is(translateError(at, "", err), ErrPermission) {
			return err
		}
		away = true // which also ended the event stream
		pause := time.NewTimer(pingInterval)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return context.Cause(ctx)
		}
	}
}

func ping(ctx context.Context, cli *client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err := cli.Ping(ctx, client.PingOptions{})
	return err
}

// waitForStart waits for the start event of the container. It returns false if the event stream
// ended, because the Engine stopped.
func waitForStart(ctx context.Context, cli *client.Client, at Engine, p Selector) (bool, error) {
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
	if _, err := findRunning(ctx, cli, at, passive); err == nil {
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
