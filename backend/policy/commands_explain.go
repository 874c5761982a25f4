package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/backend/web"

	"github.com/spf13/cobra"
)

func explainCall(e *terminal.Env) *cobra.Command {
	var client, arguments, folder string
	var all, wait, rules bool
	days := 30
	var limit time.Duration
	cmd := &cobra.Command{
		Use: "explain SERVER TOOL | --all | --rules [FILE]", Short: "Show whether a call would pass each policy check, and why", Args: terminal.ArgCount(0, 2),
		Long: "Show whether a call to a tool would pass each policy check now, and why. No call is made. The exit code is 0 even if the call would be rejected: scripts read passes in --json.\n" +
			"With --all, show whether each server is ready, and how many of its tools would be rejected. Exit with 1 if a server is not ready.\n\n" +
			"With --rules, show which recorded calls would have needed approval under the rules in policy.rules, and which would have been denied. FILE is a configuration file or a list of rules, or - for standard input; without FILE, the rules in force are tested. " +
			"Files and symbolic links are evaluated as they are now, and profiles, which the history does not record, by the assignment of the client or its folder.",
		Example: "  drawbridge explain files delete_file --client cursor\n  drawbridge explain files write_file --folder . --arguments '{\"path\": \"../x\"}'\n  drawbridge explain --all --wait --json\n  drawbridge explain --rules rules.jsonc --days 7",
		RunE: func(cmd *cobra.Command, args []string) error {
			if rules && !all && len(args) < 2 {
				return tryRules(cmd.Context(), e, args, days)
			}
			if len(args) == 1 {
				args = e.SplitToolName(cmd.Context(), args)
			}
			if all && len(args) > 0 || !all && (len(args) != 2 || wait) {
				return terminal.UsageError(fmt.Errorf("usage: %s", cmd.UseLine()))
			}
			if all {
				return explainAll(cmd.Context(), e, client, wait, limit)
			}
			query := url.Values{"server": {args[0]}, "tool": {args[1]}}
			if client != "" {
				query.Set("client", e.ClientName(cmd.Context(), client))
			}
			if arguments != "" {
				var object map[string]json.RawMessage
				if json.Unmarshal([]byte(arguments), &object) != nil {
					return terminal.UsageError(errors.New(`--arguments must be a JSON object, such as '{"path": "x"}'`))
				}
				query.Set("arguments", arguments)
			}
			if folder != "" {
				path, err := filepath.Abs(folder)
				if err != nil {
					return err
				}
				query.Set("folder", path)
			}
			return terminal.Show(cmd.Context(), e, http.MethodGet, "explain", query, nil, func(x Explanation) error { return printExplanation(e, x) })
		},
	}
	cmd.Flags().StringVar(&client, "client", "", "evaluate the call for the client whose access token has this `NAME`")
	cmd.Flags().StringVar(&arguments, "arguments", "", "evaluate a call with these arguments (a `JSON` object), and show which argument rule applies")
	cmd.Flags().StringVar(&folder, "folder", "", "evaluate the call for a client that works in this `FOLDER`")
	cmd.Flags().BoolVar(&all, "all", false, "show whether each server is ready")
	cmd.Flags().BoolVar(&wait, "wait", false, "with --all: wait for servers that are starting")
	cmd.Flags().DurationVar(&limit, "timeout", time.Minute, "with --wait: wait no longer than this `DURATION`")
	cmd.Flags().BoolVar(&rules, "rules", false, "show what argument rules would have done with the recorded calls")
	cmd.Flags().IntVar(&days, "days", days, "with --rules: test the calls of the last `NUMBER` days")
	return cmd
}

func printExplanation(e *terminal.Env, x Explanation) error {
	result := "would pass"
	t := terminal.Table{Head: []string{"Check", "Result", "Why"}, Keep: []bool{true, true}, Wrap: true}
	for _, c := range x.Checks {
		why := c.Detail
		if !strings.Contains(why, c.Key) {
			why += " (" + c.Key + ")"
		}
		if c.Name == "rules" && x.Rule != "" {
			why += " " + x.Rule
		}
		t.Add(c.Name, c.Result, why)
		switch {
		case c.Result == Ask && x.Passes:
			result = "would wait for the user"
		case c.Result == Wait && c.Name == "server" && x.Passes:
			result = "would wait for the server"
		}
	}
	if !x.Passes {
		result = "would be rejected"
	}
	client := "a client"
	if x.Client != "" {
		client = x.Client
	}
	if _, err := fmt.Fprintln(e.Stdout, terminal.EscapeLine(fmt.Sprintf("A call by %s to %s on %s %s", client, x.Tool, x.Server, result))); err != nil {
		return err
	}
	return e.PrintTable(&t)
}

type readiness struct {
	Server  string     `json:"server"`
	Label   string     `json:"label"`
	State   core.State `json:"state"`
	Ready   bool       `json:"ready"`
	Reason  string     `json:"reason"`
	Tools   int        `json:"tools"`
	Refused []string   `json:"refused"` // tools whose calls would be rejected
}

// explainAll reports for every server whether its tools can be called. With wait it waits up to
// limit for starting servers. The exit code is 1 if a server is not ready; disabled servers are
// ignored.
func explainAll(ctx context.Context, e *terminal.Env, client string, wait bool, limit time.Duration) error {
	d := e.Daemon()
	if client != "" {
		client = e.ClientName(ctx, client)
	}
	deadline := time.Now().Add(limit)
	for {
		list, pending, err := serverReadiness(ctx, d)
		if err != nil {
			return err
		}
		if wait && pending && time.Now().Before(deadline) {
			select {
			case <-time.After(250 * time.Millisecond):
				continue
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err := findRefused(ctx, d, list, client); err != nil {
			return err
		}
		return printReadiness(e, list)
	}
}

// readiness checks all servers; pending reports whether one may become ready by itself.
func serverReadiness(ctx context.Context, d *terminal.Daemon) (list []readiness, pending bool, err error) {
	all, err := terminal.Get[web.List[core.ServerStatus]](ctx, d, "servers", nil)
	if err != nil {
		return nil, false, err
	}
	list = []readiness{}
	for _, s := range all.Items {
		r := readiness{Server: s.ID, Label: s.Label, State: s.State, Reason: s.Reason, Tools: s.Tools, Refused: []string{}}
		switch s.State {
		case core.StateRunning, core.StateDegraded:
			r.Ready = true
		case core.StateStopped:
			r.Ready = !s.ManualOnly && s.Tools > 0 // started by the next call
		case core.StateStarting, core.StateRestarting, core.StateWaiting:
			pending = true
		}
		list = append(list, r)
	}
	return list, pending, nil
}

// findRefused finds the tools whose calls would be rejected.
func findRefused(ctx context.Context, d *terminal.Daemon, list []readiness, client string) error {
	tools, err := terminal.Get[web.List[struct{ Server, Tool string }]](ctx, d, "tools", nil)
	if err != nil {
		return err
	}
	at := map[string]*readiness{}
	for i := range list {
		at[list[i].Server] = &list[i]
	}
	for _, tool := range tools.Items {
		r := at[tool.Server]
		if r == nil || !r.Ready {
			continue
		}
		query := url.Values{"server": {tool.Server}, "tool": {tool.Tool}}
		if client != "" {
			query.Set("client", client)
		}
		e, err := terminal.Get[Explanation](ctx, d, "explain", query)
		if err != nil {
			return err
		}
		if !e.Passes {
			r.Refused = append(r.Refused, tool.Tool)
		}
	}
	return nil
}

func printReadiness(e *terminal.Env, list []readiness) error {
	missing := 0
	for _, r := range list {
		if !r.Ready && r.State != core.StateDisabled {
			missing++
		}
	}
	document := map[string]any{"ready": missing == 0, "items": list, "next": ""}
	t := terminal.Table{Title: "Readiness", Head: []string{"Server", "Ready", "Tools", "Rejected", "Why"}, Right: []bool{false, false, true, true, false}, Keep: []bool{true, true}, Wrap: true}
	err := terminal.PrintRows(e, document, list, t, readinessRow)
	if err == nil && missing > 0 {
		err = terminal.SilentError(fmt.Errorf("%d servers are not ready", missing))
	}
	return err
}

func readinessRow(r readiness) []string {
	ready := "yes"
	switch {
	case r.State == core.StateDisabled:
		ready = "off"
	case !r.Ready:
		ready = "no"
	}
	why := r.Reason
	if why == "" && !r.Ready {
		why = r.State.Word()
	}
	return []string{terminal.NameAndID(core.ServerStatus{ID: r.Server, Label: r.Label}), ready, strconv.Itoa(r.Tools), strconv.Itoa(len(r.Refused)), why}
}
