package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

const (
	// resultLimit is how long add waits for a server to work or to fail: a first start may
	// download its package.
	resultLimit = 2 * time.Minute
	// onDemandStartDelay is the time after which a stopped server is started for a test.
	onDemandStartDelay = 2 * time.Second
)

// printServerResults waits for new servers and prints the tools of each, or why it does not work.
func (p *program) printServerResults(ctx context.Context, d *daemon, added []core.ServerStatus) error {
	ctx, cancel := context.WithTimeout(ctx, resultLimit)
	defer cancel()
	for _, one := range added {
		if p.Terminal() {
			fmt.Fprintf(p.Stderr, "Starting %s… (Ctrl-C stops waiting)\n", escapeLine(displayName(one)))
		}
		text, err := d.awaitResult(ctx, one)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(p.Stdout, text); err != nil {
			return err
		}
	}
	return nil
}

// awaitResult waits until a server works, fails or needs the user.
func (d *daemon) awaitResult(ctx context.Context, s core.ServerStatus) (string, error) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	began := time.Now()
	for {
		now, err := get[core.ServerStatus](ctx, d, serverPath(s.ID, ""), nil)
		if err != nil && core.CodeOf(err) != core.CodeNotFound {
			return escapeLine(displayName(s) + ": its state is not known yet; see \"drawbridge status\""), nil
		}
		switch now.State {
		case core.StateRunning, core.StateDegraded:
			return d.describeTools(ctx, now)
		case core.StateFailed, core.StateRestarting, core.StateNeedsSignIn, core.StateNeedsApproval, core.StateDisabled:
			return describeFailure(now), nil
		case core.StateWaiting:
			return describeFailure(now) + "\n  It connects automatically when the problem is resolved.", nil
		case core.StateStopped:
			if time.Since(began) > onDemandStartDelay {
				return d.startOnce(ctx, now)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return escapeLine(displayName(s) + ": it is still starting; see \"drawbridge status\""), nil
		}
	}
}

// describeFailure describes why a server does not work and what to do.
func describeFailure(s core.ServerStatus) string {
	lines := []string{displayName(s) + ": " + s.State.Word()}
	if s.Reason != "" {
		lines[0] += ", " + s.Reason
	}
	for _, more := range []string{s.Detail, s.Hint} {
		if more != "" && !strings.Contains(lines[0], more) {
			lines = append(lines, "  "+escapeLine(more))
		}
	}
	lines[0] = escapeLine(lines[0])
	return strings.Join(lines, "\n")
}

// describeTools lists the tools of a working server.
func (d *daemon) describeTools(ctx context.Context, s core.ServerStatus) (string, error) {
	list, err := get[api.List[api.Tool]](ctx, d, "tools", url.Values{"server": {s.ID}})
	if err != nil {
		return "", err
	}
	names := make([]string, len(list.Items))
	for i, t := range list.Items {
		names[i] = t.Tool
	}
	return describeWorking(s, names), nil
}

func describeWorking(s core.ServerStatus, tools []string) string {
	text := displayName(s) + ": works, " + core.Plural(len(tools), "tool")
	if len(tools) > 0 {
		text += ": " + truncate(strings.Join(tools, ", "), 400)
	}
	return escapeLine(text)
}

// startOnce starts an on-demand server once.
func (d *daemon) startOnce(ctx context.Context, s core.ServerStatus) (string, error) {
	t, err := request[api.TestResult](ctx, d, http.MethodPost, "test", nil, api.TestRequest{Server: s.ID})
	if err != nil {
		return "", err
	}
	if !t.OK {
		return describeFailure(core.ServerStatus{ID: s.ID, Label: s.Label, State: core.StateFailed, Reason: t.Error, Hint: t.Hint}), nil
	}
	var names []string
	for _, tool := range t.Tools {
		names = append(names, tool.Name)
	}
	return describeWorking(s, names), nil
}
