package cli

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"

	"github.com/spf13/cobra"
)

// logLine is one line of the log of a server; Server is added here.
type logLine struct {
	At     time.Time `json:"at"`
	Server string    `json:"server"`
	Level  string    `json:"level"`
	Text   string    `json:"text"`
}

func (p *program) logs() *cobra.Command {
	var follow bool
	var level string
	cmd := &cobra.Command{
		Use: "logs [SERVER]", Short: "Show the stderr output and the lifecycle events of servers", Args: argCount(0, 1),
		Long: `Show the stderr output and the lifecycle events of servers.

--level debug, info, warn or error shows lines of that level and above; stderr output
has the level info. --level stderr shows only stderr output, --level lifecycle only
lifecycle events.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, ok := serverlog.Filter(level); !ok || level == "" {
				return usageError{fmt.Errorf("--level must be %s", serverlog.FilterChoices)}
			}
			if !p.isDaemonRunning() {
				return p.logsOfFiles(args, level, follow)
			}
			d, err := p.daemon()
			if err != nil {
				return err
			}
			seen := map[string]time.Time{} // time of the last printed line, by server
			for {
				lines, err := d.logs(cmd.Context(), args, level, seen)
				if err != nil {
					if cmd.Context().Err() != nil {
						return nil
					}
					return err
				}
				if err := p.printLogLines(lines, len(args) == 0); err != nil || !follow {
					return err
				}
				select {
				case <-cmd.Context().Done():
					return nil
				case <-time.After(time.Second):
				}
			}
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "print new lines until interrupted")
	cmd.Flags().StringVar(&level, "level", "debug", "show lines of this `LEVEL`: "+serverlog.FilterChoices)
	return cmd
}

// logs returns the lines newer than seen, of one server or all, and updates seen.
func (d *daemon) logs(ctx context.Context, servers []string, level string, seen map[string]time.Time) ([]logLine, error) {
	if len(servers) == 0 {
		list, err := get[api.List[core.ServerStatus]](ctx, d, "servers", nil)
		if err != nil {
			return nil, err
		}
		for _, s := range list.Items {
			servers = append(servers, s.ID)
		}
	}
	var all []logLine
	for _, id := range servers {
		query := url.Values{"level": {level}, "limit": {"10000"}}
		if last, ok := seen[id]; ok {
			query.Set("after", last.Format(time.RFC3339Nano))
		}
		list, err := get[api.List[logLine]](ctx, d, serverPath(id, "/log"), query)
		if err != nil {
			return nil, err
		}
		for _, l := range list.Items {
			l.Server = id
			all = append(all, l)
			seen[id] = l.At
		}
	}
	slices.SortStableFunc(all, func(a, b logLine) int { return a.At.Compare(b.At) })
	return all, nil
}

func (p *program) printLogLines(lines []logLine, withServer bool) error {
	for _, l := range lines {
		if p.json {
			if err := p.printJSON(l); err != nil {
				return err
			}
			continue
		}
		text := l.At.Local().Format("15:04:05.000") + " "
		if withServer {
			text += escapeLine(l.Server) + " "
		}
		if _, err := fmt.Fprintf(p.Stdout, "%s%-5s %s\n", text, escapeLine(l.Level), escapeText(l.Text)); err != nil {
			return err
		}
	}
	return nil
}
