package supervisor

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
)

const (
	// resultLimit is how long add waits for a server to work or to fail: a first start may
	// download its package.
	resultLimit = 2 * time.Minute
	// onDemandStartDelay is the time after which a stopped server is started for a test.
	onDemandStartDelay = 2 * time.Second
)

// printServerResults waits for new servers and prints the tools of each, or why it does not work,
// which is an error. With --json, it prints nothing.
func printServerResults(ctx context.Context, e *terminal.Env, d *terminal.Daemon, added []core.ServerStatus) error {
	ctx, cancel := context.WithTimeout(ctx, resultLimit)
	defer cancel()
	var broken, ids []string
	for _, one := range added {
		name := terminal.EscapeLine(terminal.DisplayName(one))
		if one.State != core.StateDisabled && !e.JSON {
			fmt.Fprintf(e.Stderr, "Starting %s, for up to %.0f minutes… (Ctrl-C stops waiting)\n", name, resultLimit.Minutes())
		}
		text, works, err := awaitResult(ctx, d, one)
		if err != nil {
			return err
		}
		if !e.JSON {
			fmt.Fprintln(e.Stdout, terminal.EscapeText(text))
		}
		if !works {
			broken, ids = append(broken, name), append(ids, one.ID)
		}
	}
	if len(broken) > 0 {
		return &core.Error{Code: core.CodeUnavailable, Message: "saved, but not working: " + strings.Join(broken, ", "), Hint: "Its state: drawbridge status. To remove it: drawbridge remove " + ids[0]}
	}
	return nil
}

// awaitResult waits until a server works, fails or needs the user.
func awaitResult(ctx context.Context, d *terminal.Daemon, s core.ServerStatus) (text string, works bool, err error) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	began := time.Now()
	for {
		now, err := terminal.Get[core.ServerStatus](ctx, d, terminal.ServerPath(s.ID, ""), nil)
		if err != nil && ctx.Err() == nil && core.CodeOf(err) != core.CodeNotFound {
			return terminal.EscapeLine(terminal.DisplayName(s) + ": its state is not known yet; see \"drawbridge status\""), false, nil
		}
		switch now.State {
		case core.StateRunning, core.StateDegraded:
			text, err := describeTools(ctx, d, now)
			return text, err == nil, err
		case core.StateDisabled:
			return describeFailure(now), true, nil
		case core.StateFailed, core.StateRestarting, core.StateNeedsSignIn, core.StateNeedsApproval:
			return describeFailure(now), false, nil
		case core.StateWaiting:
			return describeFailure(now) + "\n  It connects automatically when the problem is resolved.", false, nil
		case core.StateStopped:
			if time.Since(began) > onDemandStartDelay {
				return startOnce(ctx, d, now)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return terminal.EscapeLine(terminal.DisplayName(s) + ": it is still starting; see \"drawbridge status\""), false, nil
		}
	}
}

// describeFailure describes why a server does not work and what to do.
func describeFailure(s core.ServerStatus) string {
	lines := []string{terminal.DisplayName(s) + ": " + s.State.Word()}
	if s.Reason != "" {
		lines[0] += ", " + s.Reason
	}
	for _, more := range []string{s.Detail, s.Hint} {
		if more != "" && !strings.Contains(lines[0], more) {
			lines = append(lines, "  "+terminal.EscapeLine(more))
		}
	}
	lines[0] = terminal.EscapeLine(lines[0])
	return strings.Join(lines, "\n")
}

func describeTools(ctx context.Context, d *terminal.Daemon, s core.ServerStatus) (string, error) {
	list, err := terminal.Get[web.List[Tool]](ctx, d, "tools", url.Values{"server": {s.ID}})
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
	text := terminal.DisplayName(s) + ": works, " + core.Plural(len(tools), "tool")
	if len(tools) > 0 {
		text += ": " + terminal.Truncate(strings.Join(tools, ", "), 400)
	}
	return terminal.EscapeLine(text)
}

// startOnce starts an on-demand server once.
func startOnce(ctx context.Context, d *terminal.Daemon, s core.ServerStatus) (text string, works bool, err error) {
	t, err := terminal.Request[TestResult](ctx, d, http.MethodPost, "test", nil, TestRequest{Server: s.ID})
	if err != nil {
		return "", false, err
	}
	if !t.OK {
		return describeFailure(core.ServerStatus{ID: s.ID, Label: s.Label, State: core.StateFailed, Reason: t.Error, Hint: t.Hint}), false, nil
	}
	var names []string
	for _, tool := range t.Tools {
		names = append(names, tool.Name)
	}
	return describeWorking(s, names), true, nil
}
