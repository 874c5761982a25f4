package cli

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/policy"

	"github.com/spf13/cobra"
)

func (p *program) explainCall() *cobra.Command {
	var client, arguments, folder string
	var all, wait bool
	var limit time.Duration
	cmd := &cobra.Command{
		Use: "explain SERVER TOOL | --all", Short: "Show whether a call would pass each policy check, and why", Args: argCount(0, 2),
		Long: "Show whether a call to a tool would pass each policy check now, and why. No call is made.\n" +
			"With --all, show whether each server is ready, and how many of its tools would be rejected. Exit with 1 if a server is not ready.",
		Example: "  drawbridge explain files delete_file --client cursor\n  drawbridge explain files write_file --client cursor --folder . --arguments '{\"path\": \"../x\"}'\n  drawbridge explain --all --wait --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if all && len(args) > 0 || !all && (len(args) != 2 || wait) {
				return usageError{fmt.Errorf("usage: %s", cmd.UseLine())}
			}
			if all {
				return p.explainAll(cmd.Context(), client, wait, limit)
			}
			query := url.Values{"server": {args[0]}, "tool": {args[1]}}
			if client != "" {
				query.Set("client", p.clientName(cmd.Context(), client))
			}
			if arguments != "" {
				query.Set("arguments", arguments)
			}
			if folder != "" {
				path, err := filepath.Abs(folder)
				if err != nil {
					return err
				}
				query.Set("folder", path)
			}
			return show(cmd.Context(), p, http.MethodGet, "explain", query, nil, p.printExplanation)
		},
	}
	cmd.Flags().StringVar(&client, "client", "", "evaluate the call for the client whose token has this `NAME`")
	cmd.Flags().StringVar(&arguments, "arguments", "", "evaluate a call with these arguments (a `JSON` object), and show which argument rule applies")
	cmd.Flags().StringVar(&folder, "folder", "", "evaluate the call for a client that works in this `FOLDER`")
	cmd.Flags().BoolVar(&all, "all", false, "show whether each server is ready")
	cmd.Flags().BoolVar(&wait, "wait", false, "with --all: wait for servers that are starting")
	cmd.Flags().DurationVar(&limit, "timeout", time.Minute, "with --wait: wait no longer than this `DURATION`")
	return cmd
}

func (p *program) printExplanation(e policy.Explanation) error {
	result := "would pass"
	t := table{head: []string{"CHECK", "RESULT", "WHY", "SETTING"}}
	for _, c := range e.Checks {
		t.add(c.Name, c.Result, c.Detail, c.Key)
		switch {
		case c.Result == policy.Ask && e.Passes:
			result = "would wait for the user"
		case c.Result == policy.Wait && c.Name == "server" && e.Passes:
			result = "would wait for the server"
		}
	}
	if !e.Passes {
		result = "would be rejected"
	}
	client := "a client"
	if e.Client != "" {
		client = e.Client
	}
	if _, err := fmt.Fprintln(p.Stdout, escapeLine(fmt.Sprintf("A call by %s to %s on %s %s", client, e.Tool, e.Server, result))); err != nil {
		return err
	}
	return p.printTable(&t)
}
