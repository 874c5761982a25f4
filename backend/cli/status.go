package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"drawbridge/backend/hub"
	"drawbridge/backend/serverlog"
)

// words are the states as people read them in a terminal.
var words = map[hub.State]string{
	hub.StateRunning:       "Connected",
	hub.StateDegraded:      "Degraded",
	hub.StateStarting:      "Starting",
	hub.StateStopped:       "Stopped",
	hub.StateWaiting:       "Waiting",
	hub.StateBackoff:       "Restarting",
	hub.StateCrashed:       "Failed",
	hub.StateNeedsLogin:    "Needs login",
	hub.StateNeedsApproval: "Needs approval",
	hub.StateDisabled:      "Disabled",
}

// statusDocument is what the status command needs of GET /api/v1/status.
type statusDocument struct {
	Version      string `json:"version"`
	URL          string `json:"url"`
	RequireToken bool   `json:"requireToken"`
	Problems     []struct {
		File    string `json:"file"`
		Line    int    `json:"line"`
		Column  int    `json:"column"`
		Message string `json:"message"`
		Warning bool   `json:"warning"`
	} `json:"problems"`
	Notices []struct {
		Message string `json:"message"`
	} `json:"notices"`
	Servers []hub.ServerStatus `json:"servers"`
}

func (c *commands) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show every server and how it is", Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := c.daemon()
			if err != nil {
				return err
			}
			var doc statusDocument
			raw, err := d.get(cmd.Context(), "/api/v1/status", nil, &doc)
			if err != nil {
				return err
			}
			if c.json {
				_, err = fmt.Fprintln(c.Stdout, string(raw))
				return err
			}
			_, err = fmt.Fprint(c.Stdout, formatStatus(doc, time.Now(), c.Terminal))
			return err
		},
	}
}

// formatStatus is the whole text of the status command. Everything that a server
// said of itself is made safe to show.
func formatStatus(doc statusDocument, now time.Time, box bool) string {
	t := table{title: "MCP servers", head: []string{"Server", "Status", "Tools", "Updated"}}
	var reasons []string
	for _, s := range doc.Servers {
		name := serverlog.Clean(cmp.Or(s.Label, s.ID))
		updated := "-"
		if !s.Updated.IsZero() {
			updated = ago(now.Sub(s.Updated))
		}
		t.rows = append(t.rows, []string{name, cmp.Or(words[s.State], string(s.State)), fmt.Sprint(s.Tools), updated})
		if s.Reason != "" {
			reasons = append(reasons, name+": "+serverlog.Clean(s.Reason))
		}
	}
	var b strings.Builder
	if len(doc.Servers) == 0 {
		b.WriteString("No servers yet. Add one to the configuration, or import those of your clients.\n")
	} else {
		b.WriteString(t.String(box))
	}
	for _, reason := range reasons {
		b.WriteString(reason + "\n")
	}
	for _, p := range doc.Problems {
		kind := "Error"
		if p.Warning {
			kind = "Warning"
		}
		fmt.Fprintf(&b, "%s: %s:%d:%d: %s\n", kind, p.File, p.Line, p.Column, serverlog.Clean(p.Message))
	}
	for _, n := range doc.Notices {
		b.WriteString("Notice: " + serverlog.Clean(n.Message) + "\n")
	}
	if !doc.RequireToken {
		b.WriteString("Warning: the bridge takes calls without a token (bridge.requireToken is false).\n")
	}
	fmt.Fprintf(&b, "Connect a client: drawbridge clients connect claude-code (address %s/mcp)\n", doc.URL)
	b.WriteString("See more:         drawbridge tools, drawbridge history, drawbridge logs SERVER, drawbridge open\n")
	return b.String()
}

// ago says how long ago something was, in one unit.
func ago(d time.Duration) string {
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	}
	return fmt.Sprintf("%dd ago", int(d.Hours()/24))
}
