package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/spf13/cobra"
)

// callRow is a call as it is printed.
type callRow struct{ api.CallDetail }

func (c callRow) description() string {
	if c.Tool != "" {
		return c.Tool
	}
	return c.Method
}

func (c callRow) cells() []string {
	outcome, took := string(c.Outcome), time.Duration(c.TookNs).Round(100*time.Microsecond).String()
	switch {
	case c.Outcome == core.OutcomeRunning:
		outcome, took = "running", "-"
	case c.hasOpenTask():
		outcome, took = cmp.Or(c.Task.Status, "working"), "-"
	}
	return []string{c.At.Local().Format("2006-01-02 15:04:05"), c.Client, c.Server, c.description(), outcome, took, c.ID}
}

// hasOpenTask reports whether the task that the call created has not ended.
func (c callRow) hasOpenTask() bool {
	return c.Task != nil && c.Task.Call == c.ID && !c.Task.Ended && c.Outcome == core.OutcomeOK
}

// filterOutcome returns the value of --outcome that selects the call.
func (c callRow) filterOutcome() string {
	switch {
	case !c.hasOpenTask():
		return string(c.Outcome)
	case c.Task.Status == core.TaskExpired, c.Task.Status == "input_required":
		return c.Task.Status
	}
	return "working"
}

// maxCalls is the page size limit of the API.
const maxCalls = 500

func (p *program) history() *cobra.Command {
	var filter callFilter
	var limit int
	var follow, asCSV bool
	cmd := &cobra.Command{
		Use: "history [ID]", Short: "Show the newest calls, or one call with its arguments and result", Args: cobra.ArbitraryArgs,
		Long: "Show the newest calls, or one call with its arguments and result.\n\n" +
			"Instead of ID, you can specify filters in the syntax of the Calls page: words, server:NAME, tool:NAME, client:NAME, session:ID, folder:PATH, account:NAME, version:VERSION, tag:TAG,\n" +
			"outcome:OUTCOME (error means tool_error), took:>1s and took:<1s; put values with spaces in \"quotes\".\nTo search for a single word, use --search.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && !strings.ContainsAny(args[0], ": ") {
				if _, err := strconv.ParseUint(args[0], 10, 63); err != nil {
					return usageError{fmt.Errorf("%q is not a call id; ids are in the last column of drawbridge history", args[0])}
				}
				return p.oneCall(cmd.Context(), args[0])
			}
			if err := filter.parse(strings.Join(args, " ")); err != nil {
				return err
			}
			if limit < 1 || limit > maxCalls {
				return usageError{fmt.Errorf("--limit must be from 1 to %d", maxCalls)}
			}
			query, err := p.query(cmd.Context(), filter)
			if err != nil {
				return err
			}
			query.Set("limit", strconv.Itoa(limit))
			if client := query.Get("client"); client != "" {
				query.Set("client", p.clientName(cmd.Context(), client))
			}
			switch {
			case follow && asCSV:
				return usageError{errors.New("--follow cannot be combined with --csv")}
			case follow && filter.version != "":
				return usageError{errors.New("--follow cannot be combined with --server-version")}
			case follow && filter.tag != "":
				return usageError{errors.New("--follow cannot be combined with --tag: tags are added after a call ends")}
			case follow:
				return p.follow(cmd.Context(), query)
			case asCSV:
				query.Set("format", "csv")
				return p.export(cmd.Context(), query)
			}
			return p.calls(cmd.Context(), query)
		},
	}
	f := cmd.Flags()
	f.IntVar(&limit, "limit", 20, "the maximum `NUMBER` of calls")
	filter.flags(f)
	f.BoolVar(&asCSV, "csv", false, "print CSV, with arguments and results")
	f.BoolVarP(&follow, "follow", "f", false, "print new calls as they finish, until interrupted")
	return cmd
}

func (p *program) calls(ctx context.Context, query url.Values) error {
	t := table{title: "Calls, newest first", head: []string{"At", "Client", "Server", "Tool", "Outcome", "Took", "ID"}, right: []bool{5: true}}
	if p.Terminal() {
		t.empty = "No calls match."
	}
	return showList(ctx, p, "calls", query, t, callRow.cells)
}

// servedBy describes what answered a call.
func servedBy(by *api.ServedBy) string {
	text := "answered by " + strings.TrimSpace(by.Name+" "+by.Version)
	if by.Package != "" {
		text += " (" + by.Package + ")"
	}
	if by.Definition != "" {
		text += ", definition " + by.Definition
	}
	return text
}

func (p *program) oneCall(ctx context.Context, id string) error {
	return show(ctx, p, http.MethodGet, "calls/"+url.PathEscape(id), nil, nil, p.printCallDetail)
}

func (p *program) printCallDetail(c callRow) error {
	fmt.Fprintln(p.Stdout, escapeLine(strings.Join(c.cells(), "  ")))
	if c.Reason != "" {
		fmt.Fprintln(p.Stdout, escapeLine(c.Reason))
	}
	if c.Invalid != "" {
		fmt.Fprintln(p.Stdout, "invalid: the result does not match the tool's outputSchema: "+escapeLine(c.Invalid))
	}
	if c.Account != "" {
		fmt.Fprintln(p.Stdout, "account "+escapeLine(c.Account))
	}
	if by := c.ServedBy; by != nil {
		fmt.Fprintln(p.Stdout, escapeLine(servedBy(by)))
	}
	for _, part := range []struct{ title, text string }{{"Arguments", c.Arguments}, {"Result", c.Result}, {"Error", c.Error}} {
		if part.text == "" {
			continue
		}
		fmt.Fprintf(p.Stdout, "\n%s\n%s", part.title, escapeText(indentJSON([]byte(part.text))))
	}
	if c.Stack != "" {
		fmt.Fprintf(p.Stdout, "\nStack\n%s\n", escapeText(c.Stack))
	}
	return nil
}
