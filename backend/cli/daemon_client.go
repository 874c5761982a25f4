package cli

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"

	"github.com/spf13/cobra"
)

func (p *program) debug() *cobra.Command {
	return &cobra.Command{
		Use: "debug SERVER", Short: "Show everything known about a server: its process, its log and its messages", Args: terminal.ArgCount(1, 1),
		Long: "Show everything known about a server: its command, its stderr output and the last messages.\nRecognized secrets in the messages are redacted; others may remain.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return terminal.Show(cmd.Context(), &p.Env, http.MethodGet, terminal.ServerPath(args[0], "/debug"), nil, nil, func(d supervisor.Debug) error {
				return p.printDebug(&d, time.Now())
			})
		},
	}
}

// printDebug omits unknown values.
func (p *program) printDebug(d *supervisor.Debug, now time.Time) error {
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
	_, err := p.Stdout.Write([]byte(b.String()))
	return err
}
