package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/spf13/cobra"
)

// statusDocument holds the used fields of GET status.
type statusDocument struct {
	URL          string              `json:"url"`
	ConfigPath   string              `json:"configPath"`
	Problems     []config.Problem    `json:"problems"`
	RequireToken *bool               `json:"requireToken"`
	Notices      []noticeDocument    `json:"notices"`
	Servers      []core.ServerStatus `json:"servers"`
	Usage        []usageDocument     `json:"usage"`
	Visible      map[string]int      `json:"visibleTools"`

	versions map[string]string // of packages, by server; from GET versions
}

// usageDocument is the resource usage of a server.
type usageDocument struct {
	Server string  `json:"server"`
	RSS    int64   `json:"rssBytes"`
	CPU    float64 `json:"cpuPercent"`
}

type noticeDocument struct {
	Subject string `json:"subject"`
	Message string `json:"message"`
}

// stateWords maps states to their text in the table.
var stateWords = map[core.State]string{
	core.StateStopped:       "Stopped",
	core.StateStarting:      "Starting…",
	core.StateRunning:       "Connected",
	core.StateDegraded:      "Degraded",
	core.StateWaiting:       "Waiting…",
	core.StateBackoff:       "Restarting…",
	core.StateCrashed:       "Failed",
	core.StateNeedsLogin:    "Needs login",
	core.StateNeedsApproval: "Needs approval",
	core.StateDisabled:      "Disabled",
}

func (p *program) status() *cobra.Command {
	var ack bool
	cmd := &cobra.Command{
		Use: "status", Short: "Show the servers and their states", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if ack {
				return p.dismissNotice(cmd.Context())
			}
			var s statusDocument
			if done, err := p.fetch(cmd.Context(), http.MethodGet, "status", nil, nil, &s); done || err != nil {
				return err
			}
			s.versions = p.fetchVersions(cmd.Context())
			return p.printStatus(s, time.Now())
		},
	}
	cmd.Flags().BoolVar(&ack, "ack", false, "acknowledge the notices below the table: they are not shown again")
	return cmd
}

// dismissNotice dismisses the notices that the user has seen, except those about the current state.
func (p *program) dismissNotice(ctx context.Context) error {
	d, err := p.daemon()
	if err != nil {
		return err
	}
	var s statusDocument
	if err := d.fetchInto(ctx, "status", &s); err != nil {
		return err
	}
	done := []string{}
	for _, notice := range s.Notices {
		_, err := d.requestRaw(ctx, http.MethodDelete, "notices/"+url.PathEscape(notice.Subject), nil, nil)
		switch {
		case err == nil:
			done = append(done, notice.Message)
		case core.CodeOf(err) != core.CodeNotFound:
			return err
		}
	}
	return p.printSentence(map[string]any{"acknowledged": done}, fmt.Sprintf("Acknowledged %s; %d cannot be acknowledged, because they describe the current state.", plural(len(done), "notice"), len(s.Notices)-len(done)))
}

// fetchVersions returns the known versions of servers. They are optional in the table.
func (p *program) fetchVersions(ctx context.Context) map[string]string {
	var list items[serverVersion]
	d, err := p.daemon()
	if err != nil {
		return nil
	}
	data, err := d.requestRaw(ctx, http.MethodGet, "versions", nil, nil)
	if err != nil || decode(data, &list) != nil {
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

func (p *program) printStatus(s statusDocument, now time.Time) error {
	t := table{title: "MCP servers at " + escapeLine(s.URL), head: []string{"Server", "Status", "Tools", "Changed"}, right: []bool{false, false, true, false}}
	takes := map[string]usageDocument{}
	for _, u := range s.Usage {
		takes[u.Server] = u
	}
	if len(s.versions) > 0 {
		t.head, t.right = append(t.head, "Version"), append(t.right, false)
	}
	if len(takes) > 0 {
		t.head, t.right = append(t.head, "Memory", "CPU"), append(t.right, true, true)
	}
	for _, server := range s.Servers {
		cells := []string{nameAndID(server), stateWord(server.State), s.tools(server), formatAge(now, server.Updated)}
		if len(s.versions) > 0 {
			cells = append(cells, truncate(s.versions[server.ID], 24))
		}
		if u, ok := takes[server.ID]; ok {
			cells = append(cells, fmt.Sprintf("%.1f MB", float64(u.RSS)/1e6), fmt.Sprintf("%.0f %%", u.CPU))
		} else if len(takes) > 0 {
			cells = append(cells, "", "")
		}
		t.add(cells...)
	}
	if err := t.print(p.Stdout, p.Terminal()); err != nil {
		return err
	}
	said := map[string]bool{}
	for _, server := range s.Servers {
		said[displayName(server)] = server.Reason != ""
		if strings.Contains(server.Reason, server.Detail) {
			server.Detail = "" // the reason contains it
		}
		for _, why := range append([]string{server.Reason, server.Hint, server.Detail}, server.Warnings...) {
			if why != "" {
				fmt.Fprintf(p.Stdout, "%s: %s\n", escapeLine(displayName(server)), escapeLine(why))
			}
		}
	}
	for _, problem := range s.Problems {
		if !problem.Warning && said[problem.Server] {
			continue // it is shown as the reason of that server
		}
		fmt.Fprintln(p.Stdout, escapeLine(problem.String()))
	}
	for _, notice := range s.Notices {
		fmt.Fprintln(p.Stdout, escapeLine(notice.Message))
	}
	if len(s.Notices) > 0 && p.Terminal() {
		fmt.Fprintln(p.Stdout, "Acknowledge notices:       drawbridge status --ack")
	}
	if s.RequireToken != nil && !*s.RequireToken {
		fmt.Fprintln(p.Stdout, "No token is required: every program on this machine can call every tool.")
	}
	if p.Terminal() {
		fmt.Fprintln(p.Stdout, "\nList the tools:            drawbridge tools\nShow a server's output:    drawbridge logs SERVER")
	}
	return nil
}

// tools returns the number of tools of a server, and of the visible ones if that is less; "-" if it
// was never listed.
func (s *statusDocument) tools(server core.ServerStatus) string {
	if n, some := s.Visible[server.ID]; some && n < server.Tools {
		return fmt.Sprintf("%d of %d", n, server.Tools)
	}
	if server.Tools == 0 && server.State != core.StateRunning && server.State != core.StateDegraded {
		return "-"
	}
	return strconv.Itoa(server.Tools)
}

func stateWord(s core.State) string {
	if w := stateWords[s]; w != "" {
		return w
	}
	return string(s)
}

// nameAndID returns the name of a server, and its id if different: commands accept both.
func nameAndID(s core.ServerStatus) string {
	if s.Label != "" && s.Label != s.ID {
		return s.Label + " (" + s.ID + ")"
	}
	return s.ID
}

func displayName(s core.ServerStatus) string {
	if s.Label != "" {
		return s.Label
	}
	return s.ID
}

// actionCommand returns a command that performs an action on one server.
func (p *program) actionCommand(action string) *cobra.Command {
	shorts := map[string]string{
		"start":   "Start a server now",
		"stop":    "Stop a server now; the next call starts it again",
		"restart": "Stop a server and start it again",
		"enable":  "Enable a server in the configuration",
		"disable": "Disable a server in the configuration",
	}
	aliases := map[string][]string{"start": {"connect"}, "stop": {"disconnect"}, "restart": {"reconnect"}}
	return &cobra.Command{
		Use: action + " SERVER", Aliases: aliases[action], Short: shorts[action], Args: argCount(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var s core.ServerStatus
			path := "servers/" + url.PathEscape(args[0]) + "/" + action
			if done, err := p.fetch(cmd.Context(), http.MethodPost, path, nil, struct{}{}, &s); done || err != nil {
				return err
			}
			text := displayName(s) + ": " + stateWord(s.State)
			if s.Reason != "" {
				text += ", " + s.Reason
			}
			_, err := fmt.Fprintln(p.Stdout, escapeLine(text))
			return err
		},
	}
}

// toolDocument holds the used fields of GET tools.
type toolDocument struct {
	Name        string `json:"name"`
	Server      string `json:"server"`
	Tool        string `json:"tool"`
	Description string `json:"description"`
}

func (p *program) tools() *cobra.Command {
	var server string
	cmd := &cobra.Command{
		Use: "tools [SERVER]", Aliases: []string{"list-tools"}, Short: "List the tools of all servers, or of one", Args: argCount(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			query := url.Values{}
			if len(args) == 1 {
				server = args[0]
			}
			if server != "" {
				query.Set("server", server)
			}
			return p.printTools(cmd.Context(), query)
		},
	}
	cmd.Flags().StringVar(&server, "server", "", "only the tools of this `SERVER`")
	cmd.AddCommand(p.toolChanges(), p.toolLog(), p.toolWarnings(), p.answerTool("accept"), p.answerTool("block"), p.answerTool("ask"))
	return cmd
}

func (p *program) printTools(ctx context.Context, query url.Values) error {
	var list items[toolDocument]
	done, err := p.fetch(ctx, http.MethodGet, "tools", query, nil, &list)
	if server := query.Get("server"); server != "" && core.CodeOf(err) == core.CodeNotFound {
		return &core.Error{Code: core.CodeNotFound, Message: fmt.Sprintf("no server is called %q", server), Hint: "List them with: drawbridge status"}
	}
	if done || err != nil {
		return err
	}
	t := table{head: []string{"Server", "Tool", "Description"}}
	for _, tool := range list.Items {
		t.add(tool.Server, tool.Tool, truncate(tool.Description, 60))
	}
	t.title = plural(len(list.Items), "tool")
	return t.print(p.Stdout, p.Terminal())
}
