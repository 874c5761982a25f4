package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/marketplace"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/backend/web"

	"github.com/spf13/cobra"
)

func (p *program) status() *cobra.Command {
	var ack bool
	cmd := &cobra.Command{
		Use: "status", Short: "Show the servers and their states", Args: terminal.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if ack {
				return p.dismissNotices(cmd.Context())
			}
			return terminal.Show(cmd.Context(), &p.Env, http.MethodGet, "status", nil, nil, func(s api.Status) error {
				return p.printStatus(&s, p.fetchVersions(cmd.Context()), time.Now())
			})
		},
	}
	cmd.Flags().BoolVar(&ack, "ack", false, "acknowledge the notices below the table: they are not shown again")
	return cmd
}

// dismissNotices dismisses the notices that the user has seen, except those about the current
// state.
func (p *program) dismissNotices(ctx context.Context) error {
	d, err := p.Daemon()
	if err != nil {
		return err
	}
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
	d, err := p.Daemon()
	if err != nil {
		return nil
	}
	list, err := terminal.Get[web.List[marketplace.ServerVersion]](ctx, d, "versions", nil)
	if err != nil {
		return nil
	}
	all := map[string]string{}
	for _, v := range list.Items {
		if v.Version != "" {
			all[v.Server] = v.Version
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
			cells = append(cells, terminal.Truncate(versions[server.ID], 24))
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
		fmt.Fprintln(p.Stdout, s.Idle.Reason+". "+s.Idle.Fix)
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
		fmt.Fprintln(p.Stdout, "No token is required: every program on this machine can call every tool.")
	}
	if p.Terminal() {
		fmt.Fprintln(p.Stdout, "\nList the tools:            drawbridge tools\nShow a server's output:    drawbridge logs SERVER")
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
