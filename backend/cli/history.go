package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"drawbridge/backend/hub"

	"github.com/spf13/cobra"
)

// callRow is what history reads of a call.
type callRow struct {
	ID        string      `json:"id"`
	At        time.Time   `json:"at"`
	Client    string      `json:"client"`
	Server    string      `json:"server"`
	Tool      string      `json:"tool"`
	Method    string      `json:"method"`
	Session   string      `json:"session"`
	Workspace string      `json:"workspace"`
	Outcome   hub.Outcome `json:"outcome"`
	Reason    string      `json:"reason"`
	TookNs    int64       `json:"tookNs"`
	Arguments string      `json:"arguments"`
	Result    string      `json:"result"`
	Error     string      `json:"error"`
	Stack     string      `json:"stack"`
}

func (c callRow) what() string {
	if c.Tool != "" {
		return c.Tool
	}
	return c.Method
}

func (c callRow) cells() []string {
	outcome, took := string(c.Outcome), time.Duration(c.TookNs).Round(100*time.Microsecond).String()
	if c.Outcome == hub.OutcomeRunning {
		outcome, took = "running", "-"
	}
	return []string{c.At.Local().Format("2006-01-02 15:04:05"), c.Client, c.Server, c.what(), outcome, took, c.ID}
}

// maxCalls is how many calls the API gives at once.
const maxCalls = 500

func (p *program) history() *cobra.Command {
	var filter callFilter
	var limit int
	var follow, asCSV bool
	cmd := &cobra.Command{
		Use: "history [ID]", Short: "Show the newest calls, or one call with its arguments and result", Args: between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return p.oneCall(cmd.Context(), args[0])
			}
			if limit < 1 || limit > maxCalls {
				return usageError{fmt.Errorf("--limit must be from 1 to %d", maxCalls)}
			}
			query, err := filter.query()
			if err != nil {
				return err
			}
			query.Set("limit", strconv.Itoa(limit))
			switch {
			case follow && asCSV:
				return usageError{errors.New("--follow has no --csv")}
			case follow && filter.needsHistory():
				return usageError{errors.New("--follow goes with --server, --client, --tool, --outcome, --session and --workspace")}
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
	f.IntVar(&limit, "limit", 20, "how many calls")
	filter.flags(f)
	f.BoolVar(&asCSV, "csv", false, "print CSV, with arguments and results")
	f.BoolVarP(&follow, "follow", "f", false, "print calls as they end, until interrupted")
	return cmd
}

func (p *program) calls(ctx context.Context, query url.Values) error {
	var list items[callRow]
	if done, err := p.fetch(ctx, http.MethodGet, "calls", query, nil, &list); done || err != nil {
		return err
	}
	t := table{title: "Calls, newest first", head: []string{"At", "Client", "Server", "Tool", "Outcome", "Took", "ID"}, right: []bool{5: true}}
	for _, c := range list.Items {
		t.add(c.cells()...)
	}
	return t.print(p.Stdout, p.Terminal())
}

func (p *program) oneCall(ctx context.Context, id string) error {
	var c callRow
	if done, err := p.fetch(ctx, http.MethodGet, "calls/"+url.PathEscape(id), nil, nil, &c); done || err != nil {
		return err
	}
	fmt.Fprintln(p.Stdout, line(strings.Join(c.cells(), "  ")))
	if c.Reason != "" {
		fmt.Fprintln(p.Stdout, line(c.Reason))
	}
	for _, part := range []struct{ title, text string }{{"Arguments", c.Arguments}, {"Result", c.Result}, {"Error", c.Error}} {
		if part.text == "" {
			continue
		}
		pretty, err := toYAML([]byte(part.text))
		if err != nil {
			pretty = part.text + "\n"
		}
		fmt.Fprintf(p.Stdout, "\n%s\n%s", part.title, clean(pretty))
	}
	if c.Stack != "" {
		fmt.Fprintf(p.Stdout, "\nStack\n%s\n", clean(c.Stack))
	}
	return nil
}

// follow prints calls as they end. The stream begins with a snapshot, which is
// older than what was asked for.
func (p *program) follow(ctx context.Context, query url.Values) error {
	d, err := p.daemon()
	if err != nil {
		return err
	}
	resp, err := d.send(ctx, http.MethodGet, "events", nil, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := bufio.NewReaderSize(resp.Body, 64<<10)
	event := ""
	var data []byte
	for {
		l, err := lines.ReadBytes('\n')
		if err != nil {
			if ctx.Err() != nil {
				return nil // interrupted: that is how this ends
			}
			return errStreamEnded
		}
		field, value, _ := strings.Cut(strings.TrimRight(string(l), "\r\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			event = value
		case "data":
			data = append(data, value...)
		case "":
			if l[0] != ':' && event == "call" {
				if err := p.followed(data, query); err != nil {
					return err
				}
			}
			if l[0] != ':' {
				event, data = "", nil
			}
		}
	}
}

func (p *program) followed(data []byte, query url.Values) error {
	var c callRow
	if json.Unmarshal(data, &c) != nil || c.Outcome == hub.OutcomeRunning {
		return nil
	}
	for key, value := range map[string]string{"server": c.Server, "client": c.Client, "tool": c.Tool, "outcome": string(c.Outcome), "session": c.Session, "workspace": c.Workspace} {
		if want := query.Get(key); want != "" && want != value {
			return nil
		}
	}
	if p.json {
		_, err := fmt.Fprintf(p.Stdout, "%s\n", data)
		return err
	}
	_, err := fmt.Fprintln(p.Stdout, line(strings.Join(c.cells(), "  ")))
	return err
}
