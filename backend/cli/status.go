package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/launch"
	"github.com/drawbridge-mcp/drawbridge/backend/marketplace"
	"github.com/drawbridge-mcp/drawbridge/backend/sandbox"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/backend/trust"
	"github.com/drawbridge-mcp/drawbridge/backend/web"

	"github.com/spf13/cobra"
)

func (p *program) status() *cobra.Command {
	var ack, changes, destinations bool
	days := 7
	cmd := &cobra.Command{
		Use: "status [SERVER]", Aliases: []string{"ls", "list"}, Short: "Show the servers and their states, or everything about one", Args: terminal.ArgCount(0, 1),
		Long: "Show the servers and their states. With SERVER, show everything about it: its command, its stderr output, its last messages, what changed this week, and the hosts that it connects to.\n\n" +
			"Recognized secrets in messages are redacted; others may remain. Connections are sampled every few seconds (Linux), so short ones may be missing.",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, query := cmd.Context(), terminal.ServerQuery(args)
			query.Set("days", strconv.Itoa(days))
			switch {
			case (destinations || ack) && destinations != (len(args) == 1):
				return terminal.UsageError(fmt.Errorf("usage: %s", cmd.UseLine()))
			case ack:
				return p.dismissNotices(ctx)
			case changes:
				return terminal.Show(ctx, &p.Env, http.MethodGet, "recent-changes", query, nil, func(list web.List[trust.RecentChange]) error { return trust.PrintRecent(&p.Env, list) })
			case destinations:
				return terminal.Show(ctx, &p.Env, http.MethodGet, terminal.ServerPath(args[0], "/destinations"), nil, nil, func(d sandbox.Destinations) error { return sandbox.PrintDestinations(&p.Env, d) })
			case len(args) == 1:
				return p.serverStatus(ctx, args[0], query)
			}
			return terminal.Show(ctx, &p.Env, http.MethodGet, "status", nil, nil, func(s api.Status) error {
				return p.printStatus(&s, p.fetchVersions(ctx), time.Now())
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&ack, "ack", false, "acknowledge the notices below the table: they are not shown again")
	f.BoolVar(&changes, "changes", false, "show what changed this week: versions, definitions, new tools and new destinations")
	f.IntVar(&days, "days", days, "with --changes: show the last `NUMBER` days, at most 90")
	f.BoolVar(&destinations, "destinations", false, "with SERVER: show only the hosts and ports that it connects to")
	cmd.MarkFlagsMutuallyExclusive("ack", "changes", "destinations")
	return cmd
}

// serverStatus prints everything about a server. With --json, its recent changes and its
// destinations are members of the document about the process.
func (p *program) serverStatus(ctx context.Context, server string, query url.Values) error {
	d := p.Daemon()
	var docs [3][]byte
	var err error
	for i, path := range []string{terminal.ServerPath(server, "/debug"), "recent-changes", terminal.ServerPath(server, "/destinations")} {
		if docs[i], err = d.RequestRaw(ctx, http.MethodGet, path, query, nil); err != nil {
			return err
		}
	}
	var process supervisor.Debug
	if err := terminal.Decode(docs[0], &process); err != nil {
		return err
	}
	start := p.startOf(ctx, process.Status.ID)
	if p.JSON {
		text := fmt.Appendf(bytes.TrimSuffix(docs[0], []byte("}")), `,"changes":%s,"destinations":%s`, docs[1], docs[2])
		if start != nil {
			how, _ := json.Marshal(start)
			text = fmt.Appendf(text, `,"start":%s`, how)
		}
		return p.PrintRaw(append(text, '}'))
	}
	var recent web.List[trust.RecentChange]
	var hosts sandbox.Destinations
	if err := errors.Join(terminal.Decode(docs[1], &recent), terminal.Decode(docs[2], &hosts)); err != nil {
		return err
	}
	if err := supervisor.PrintDebug(&p.Env, &process, time.Now()); err != nil {
		return err
	}
	if start != nil {
		fmt.Fprintln(p.Stdout, "\nStarted\n  "+terminal.EscapeLine(start.Sentence()))
	}
	if len(recent.Items) > 0 {
		fmt.Fprintln(p.Stdout, "\nChanged this week")
		if err := trust.PrintRecent(&p.Env, recent); err != nil {
			return err
		}
	}
	if len(hosts.Items) == 0 {
		return nil
	}
	fmt.Fprintln(p.Stdout, "\nConnects to")
	return sandbox.PrintDestinations(&p.Env, hosts)
}

// startOf returns how a server whose command is npx was started, or nil.
func (p *program) startOf(ctx context.Context, server string) *launch.Start {
	all, err := terminal.Get[launch.Starts](ctx, p.Daemon(), "starts", nil)
	if err != nil {
		return nil // it is optional
	}
	for i := range all.Items {
		if all.Items[i].Server == server {
			return &all.Items[i]
		}
	}
	return nil
}

// dismissNotices dismisses the notices that the user has seen, except those about the current
// state.
func (p *program) dismissNotices(ctx context.Context) error {
	d := p.Daemon()
	s, err := terminal.Get[api.Status](ctx, d, "status", nil)
	if err != nil {
		return err
	}
	done := []string{}
	for _, notice := range s.Notices {
		err := d.Change(ctx, http.MethodDelete, "notices/"+url.PathEscape(notice.Subject), nil)
		switch {
		case err == nil:
			done = append(done, notice.Message)
		case core.CodeOf(err) != core.CodeNotFound:
			return err
		}
	}
	return p.PrintSentence(map[string]any{"acknowledged": done}, fmt.Sprintf("Acknowledged %s; %d not acknowledged, because they describe the current state.", core.Plural(len(done), "notice"), len(s.Notices)-len(done)))
}

// fetchVersions returns the known versions of servers. They are optional in the table.
func (p *program) fetchVersions(ctx context.Context) map[string]string {
	list, err := terminal.Get[web.List[marketplace.ServerVersion]](ctx, p.Daemon(), "versions", nil)
	if err != nil {
		return nil
	}
	all := map[string]string{}
	for _, v := range list.Items {
		if v.Version != "" {
			all[v.Server] = v.ShownVersion()
		}
	}
	return all
}

func (p *program) printStatus(s *api.Status, versions map[string]string, now time.Time) error {
	t := terminal.Table{Title: "MCP servers at " + terminal.EscapeLine(s.URL), Head: []string{"Server", "Status", "Tools", "Changed"}, Right: []bool{2: true}, Keep: []bool{0: true, 1: true, 3: true}}
	takes := map[string]supervisor.ServerUsage{}
	for _, u := range s.Usage {
		takes[u.Server] = u
	}
	if len(versions) > 0 {
		t.Head, t.Right = append(t.Head, "Version"), append(t.Right, false)
	}
	if len(takes) > 0 {
		t.Head, t.Right = append(t.Head, "Memory", "CPU"), append(t.Right, true, true)
	}
	confined := slices.ContainsFunc(s.Servers, func(one core.ServerStatus) bool { return one.Sandbox != "" })
	if confined {
		t.Head, t.Right = append(t.Head, "Sandbox"), append(t.Right, false)
	}
	for _, server := range s.Servers {
		cells := []string{terminal.NameAndID(server), server.State.Word(), toolCount(s, server), terminal.FormatAge(now, server.Since)}
		if len(versions) > 0 {
			cells = append(cells, versions[server.ID])
		}
		if u, ok := takes[server.ID]; ok {
			cells = append(cells, fmt.Sprintf("%.1f MB", float64(u.RSS)/1e6), fmt.Sprintf("%.0f %%", u.CPU))
		} else if len(takes) > 0 {
			cells = append(cells, "", "")
		}
		if confined {
			cells = append(cells, server.Sandbox)
		}
		t.Add(cells...)
	}
	if len(s.Servers) == 0 && s.Idle.Reason != "" {
		t.Empty = s.Idle.Reason + ". " + s.Idle.Fix
	}
	if err := p.PrintTable(&t); err != nil {
		return err
	}
	if len(s.Servers) > 0 && s.Idle.Reason != "" {
		fmt.Fprintln(p.Stdout, terminal.EscapeLine(s.Idle.Reason+". "+s.Idle.Fix))
	}
	said := map[string]bool{}
	for _, server := range s.Servers {
		said[terminal.DisplayName(server)] = server.Reason != ""
		if strings.Contains(server.Reason, server.Detail) {
			server.Detail = "" // the reason contains it
		}
		todo := server.Hint
		if command := server.Remedy.Command; !strings.Contains(todo, command) {
			todo = strings.TrimSpace(todo + " Run: " + command)
		}
		for _, why := range append([]string{server.Reason, todo, server.Detail}, server.Warnings...) {
			if why != "" {
				fmt.Fprintf(p.Stdout, "%s: %s\n", terminal.EscapeLine(terminal.DisplayName(server)), terminal.EscapeLine(why))
			}
		}
	}
	for _, problem := range s.Problems {
		if !problem.Warning && said[problem.Server] {
			continue // it is shown as the reason of that server
		}
		fmt.Fprintln(p.Stdout, terminal.EscapeLine(problem.String()))
	}
	p.printNotices(s.Notices)
	if !s.RequireToken {
		fmt.Fprintln(p.Stdout, "No access token is required: every program on this machine can call every tool.")
	}
	if p.Terminal() {
		fmt.Fprintln(p.Stdout, "\nList the tools:            drawbridge tools\nEverything about one:      drawbridge status SERVER")
	}
	return nil
}

// maxCommandNotices is the number of notices about new commands that are printed. Many servers may
// be added at once.
const maxCommandNotices = 5

// printNotices prints the notices and how to acknowledge them.
func (p *program) printNotices(notices []core.Notice) {
	commands := 0
	for _, notice := range notices {
		if strings.HasPrefix(notice.Subject, core.UnapprovedCommandSubject) {
			if commands++; commands > maxCommandNotices {
				continue
			}
		}
		fmt.Fprintln(p.Stdout, terminal.EscapeLine(notice.Message))
	}
	if more := commands - maxCommandNotices; more > 0 {
		have := "servers have"
		if more == 1 {
			have = "server has"
		}
		fmt.Fprintf(p.Stdout, "%d more %s a new command. List all of them: drawbridge status --json\n", more, have)
	}
	if commands > 0 || len(notices) > 0 && p.Terminal() {
		fmt.Fprintln(p.Stdout, "Acknowledge notices:       drawbridge status --ack")
	}
}

// toolCount returns the number of tools of a server, and of the visible ones if that is less; "-"
// if it was never listed.
func toolCount(s *api.Status, server core.ServerStatus) string {
	if n, some := s.Visible[server.ID]; some && n < server.Tools {
		return fmt.Sprintf("%d of %d", n, server.Tools)
	}
	if server.Tools == 0 && server.State != core.StateRunning && server.State != core.StateDegraded {
		return "-"
	}
	return strconv.Itoa(server.Tools)
}
