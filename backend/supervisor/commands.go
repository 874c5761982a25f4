package supervisor

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"

	"github.com/spf13/cobra"
)

// Commands adds the commands about servers.
func Commands(e *terminal.Env, root *cobra.Command) {
	root.AddCommand(tools(e), logs(e))
	for _, action := range []string{"start", "stop", "restart", "enable", "disable"} {
		root.AddCommand(actionCommand(e, action))
	}
}

// PrintDebug prints what is known about a server: its process, its log and its messages.
func PrintDebug(e *terminal.Env, d *Debug, now time.Time) error {
	var b strings.Builder
	say := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-13s %s\n", title, terminal.EscapeLine(text))
		}
	}
	took := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return d.Round(100 * time.Microsecond).String()
	}
	moment := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return terminal.FormatAge(now, t)
	}
	s := &d.Status
	say("Server", terminal.DisplayName(*s)+": "+s.State.Word())
	say("Reason", s.Reason)
	for _, warning := range s.Warnings {
		say("Warning", warning)
	}
	say("Configured", d.Configured)
	say("Started", s.Command)
	say("Executable", d.Path)
	say("Searched", d.SearchPath)
	say("Folder", d.Dir)
	say("Start", d.Start)
	say("Session", d.Session)
	say("Framing", d.Framing)
	say("Environment", strings.Join(d.Environment, ", "))
	for _, process := range d.Processes {
		text := fmt.Sprintf("%d %s, %.1f MB", process.PID, process.Name, float64(process.RSS)/1e6)
		if process.Path != "" {
			text += ", " + process.Path
		}
		say("Process", text)
	}
	if s.ExitCode != nil {
		say("Exit code", strconv.Itoa(*s.ExitCode))
	}
	era := string(s.Era)
	if d.BothEras {
		era += " and modern"
	}
	say("Era", era)
	say("Protocol", s.Version)
	say("Instructions", d.Instructions)
	say("Offers", fmt.Sprintf("%s, %s, %s", core.Plural(s.Tools, "tool"), core.Plural(s.Prompts, "prompt"), core.Plural(s.Resources+s.Templates, "resource")))
	say("Restarts", strconv.Itoa(s.Restarts))
	say("In flight", strconv.Itoa(s.InFlight))
	t := &d.Timings
	say("Started at", moment(t.Began))
	say("Startup time", took(t.StartTook))
	say("Tools listed", moment(t.ListedAt))
	say("Last response", moment(t.LastMessage))
	say("Last call", moment(t.LastCall))
	say("Ping", took(t.PingTook))
	say("Next start in", took(t.NextLaunch))
	if len(d.Stderr) > 0 {
		b.WriteString("\nLast stderr lines\n")
		for _, l := range d.Stderr {
			b.WriteString("  " + terminal.EscapeLine(l) + "\n")
		}
	}
	if len(d.Frames) > 0 {
		b.WriteString("\nLast messages\n")
		for _, f := range d.Frames {
			arrow := "<-"
			if f.Sent {
				arrow = "->"
			}
			first, headers, _ := strings.Cut(f.HTTP, "\n")
			if first != "" {
				fmt.Fprintf(&b, "  %s %s %s\n", f.At.Local().Format("15:04:05.000"), arrow, terminal.EscapeLine(first))
			}
			for header := range strings.Lines(headers) {
				b.WriteString("      " + terminal.EscapeLine(strings.TrimSuffix(header, "\n")) + "\n")
			}
			if first == "" || f.Bytes > 0 {
				fmt.Fprintf(&b, "  %s %s %d bytes  %s\n", f.At.Local().Format("15:04:05.000"), arrow, f.Bytes, terminal.EscapeLine(f.Text))
			}
		}
	}
	_, err := io.WriteString(e.Stdout, b.String())
	return err
}

func actionCommand(e *terminal.Env, action string) *cobra.Command {
	shorts := map[string]string{
		"start":   "Start a server now",
		"stop":    "Stop a server; unless it starts manually, the next call starts it again",
		"restart": "Stop a server and start it again",
		"enable":  "Enable a server in the configuration",
		"disable": "Disable a server in the configuration",
	}
	aliases := map[string][]string{"start": {"connect"}, "stop": {"disconnect"}, "restart": {"reconnect"}}
	var all bool
	cmd := &cobra.Command{
		Use: action + " SERVER", Aliases: aliases[action], Short: shorts[action], Args: terminal.ArgCount(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case all == (len(args) > 0):
				return terminal.UsageError(fmt.Errorf("usage: %s", cmd.UseLine()))
			case all:
				return pauseAll(cmd.Context(), e, action == "stop")
			}
			return terminal.Show(cmd.Context(), e, http.MethodPost, terminal.ServerPath(args[0], "/"+action), nil, struct{}{}, func(s core.ServerStatus) error {
				_, err := fmt.Fprintln(e.Stdout, terminal.EscapeLine(terminal.DisplayName(s)+": "+stateWithReason(s)))
				return err
			})
		},
	}
	if about := map[string]string{"start": "resume all servers after stop --all", "stop": "pause all servers, and refuse calls until start --all or until Drawbridge restarts"}[action]; about != "" {
		cmd.Use += " | --all"
		cmd.Flags().BoolVar(&all, "all", false, about)
	}
	return cmd
}

func pauseAll(ctx context.Context, e *terminal.Env, paused bool) error {
	if err := e.Daemon().Change(ctx, http.MethodPut, "desktop", map[string]bool{"paused": paused}); err != nil {
		return err
	}
	done := "All servers are resumed."
	if paused {
		done = "All servers are paused. Resume them with: drawbridge start --all"
	}
	return e.PrintSentence(map[string]bool{"paused": paused}, done)
}

func tools(e *terminal.Env) *cobra.Command {
	var server string
	cmd := &cobra.Command{
		Use: "tools [SERVER]", Aliases: []string{"list-tools"}, Short: "List the tools of all servers, or of one", Args: terminal.ArgCount(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if server != "" {
				args = []string{server}
			}
			t := terminal.Table{Title: "%d tools", Head: []string{"Server", "Tool", "Description"}, Keep: []bool{true, true}}
			return terminal.ShowList(cmd.Context(), e, "tools", terminal.ServerQuery(args), t, func(tool Tool) []string {
				return []string{tool.Server, tool.Tool, terminal.Truncate(tool.Description, 60)}
			})
		},
	}
	cmd.Flags().StringVar(&server, "server", "", "only the tools of this `SERVER`")
	return cmd
}

// stateWithReason returns the state and its reason in one phrase, which says nothing twice.
func stateWithReason(s core.ServerStatus) string {
	word := s.State.Word()
	rest, repeated := strings.CutPrefix(s.Reason, strings.ToLower(word)+" ")
	switch {
	case s.Reason == "":
		return word
	case repeated: // "stopped by the user"
		return word + " " + rest
	}
	return word + ", " + s.Reason
}
