package cli

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"drawbridge/backend/hub"
	"drawbridge/backend/serverlog"
)

// actionCommand makes a command that does one thing to one server.
func (c *commands) actionCommand(action, short string) *cobra.Command {
	return &cobra.Command{
		Use: action + " SERVER", Short: short, Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := c.daemon()
			if err != nil {
				return err
			}
			raw, err := d.ask(cmd.Context(), http.MethodPost, "/api/v1/servers/"+url.PathEscape(args[0])+"/"+action, nil, nil)
			if err != nil {
				return err
			}
			if c.json {
				_, err = fmt.Fprintln(c.Stdout, string(raw))
				return err
			}
			var status hub.ServerStatus
			if _, err := d.get(cmd.Context(), "/api/v1/servers/"+url.PathEscape(args[0]), nil, &status); err != nil {
				return err
			}
			text := cmp.Or(words[status.State], string(status.State))
			if status.Reason != "" {
				text += ": " + serverlog.Clean(status.Reason)
			}
			_, err = fmt.Fprintln(c.Stdout, args[0]+": "+text)
			return err
		},
	}
}

func (c *commands) logsCommand() *cobra.Command {
	var n int
	cmd := &cobra.Command{
		Use: "logs [SERVER]", Short: "Show what a server wrote to stderr and what happened to it; without a server, our own log",
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.ownLog(n)
			}
			d, err := c.daemon()
			if err != nil {
				return err
			}
			var doc struct {
				Log []serverlog.Line `json:"log"`
			}
			raw, err := d.get(cmd.Context(), "/api/v1/servers/"+url.PathEscape(args[0]), nil, &doc)
			if err != nil {
				return err
			}
			if c.json {
				_, err = fmt.Fprintln(c.Stdout, string(raw))
				return err
			}
			for _, line := range doc.Log[max(0, len(doc.Log)-n):] {
				fmt.Fprintf(c.Stdout, "%s %-6s %s\n", line.At.Local().Format(time.TimeOnly), line.Level, serverlog.Clean(line.Text))
			}
			return nil
		},
	}
	cmd.Flags().IntVarP(&n, "lines", "n", 200, "how many lines")
	return cmd
}

// ownLog prints the end of the program's log. It needs no daemon: it is there to
// say why none starts.
func (c *commands) ownLog(n int) error {
	folders, err := c.folders()
	if err != nil {
		return err
	}
	b, err := os.ReadFile(filepath.Join(folders.Logs, "drawbridge.log"))
	if os.IsNotExist(err) {
		return &hub.Error{Code: hub.CodeNotFound, Message: "there is no log yet", Hint: "Drawbridge has not run with this data folder."}
	}
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	for _, line := range lines[max(0, len(lines)-n):] {
		fmt.Fprintln(c.Stdout, c.safe(line))
	}
	return nil
}
