package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"drawbridge/backend/hub"

	"github.com/spf13/cobra"
)

// logLine is one line of a server's log; Server is ours.
type logLine struct {
	At     time.Time `json:"at"`
	Server string    `json:"server"`
	Level  string    `json:"level"`
	Text   string    `json:"text"`
}

// levels in the order of their weight. Others count as info.
var levels = []string{"debug", "info", "warn", "error"}

func weight(level string) int {
	if i := slices.Index(levels, level); i >= 0 {
		return i
	}
	return 1
}

func (p *program) logs() *cobra.Command {
	var follow bool
	var level string
	cmd := &cobra.Command{
		Use: "logs [SERVER]", Short: "Show what servers say on stderr and what happened to them", Args: between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(levels, level) {
				return usageError{fmt.Errorf("--level must be one of %v", levels)}
			}
			d, err := p.daemon()
			if err != nil {
				return err
			}
			seen := map[string]time.Time{} // by server: the newest line that was printed
			for {
				lines, err := d.logs(cmd.Context(), args, seen)
				if err != nil {
					if cmd.Context().Err() != nil {
						return nil
					}
					return err
				}
				if err := p.printLog(lines, weight(level), len(args) == 0); err != nil || !follow {
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
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until interrupted")
	cmd.Flags().StringVar(&level, "level", "debug", "only lines of this level and above: debug, info, warn, error")
	return cmd
}

// logs returns the lines that are newer than seen, of one server or of all, and
// moves seen on.
func (d *daemon) logs(ctx context.Context, servers []string, seen map[string]time.Time) ([]logLine, error) {
	if len(servers) == 0 {
		var list items[hub.ServerStatus]
		if err := d.get(ctx, "servers", &list); err != nil {
			return nil, err
		}
		for _, s := range list.Items {
			servers = append(servers, s.ID)
		}
	}
	var all []logLine
	for _, id := range servers {
		var s struct {
			Log []logLine `json:"log"`
		}
		if err := d.get(ctx, "servers/"+url.PathEscape(id), &s); err != nil {
			return nil, err
		}
		last := seen[id]
		for _, l := range s.Log {
			if !l.At.After(last) {
				continue
			}
			l.Server = id
			all = append(all, l)
			if l.At.After(seen[id]) {
				seen[id] = l.At
			}
		}
	}
	slices.SortStableFunc(all, func(a, b logLine) int { return a.At.Compare(b.At) })
	return all, nil
}

func (p *program) printLog(lines []logLine, least int, withServer bool) error {
	for _, l := range lines {
		if weight(l.Level) < least {
			continue
		}
		if p.json {
			if err := p.document(l); err != nil {
				return err
			}
			continue
		}
		text := l.At.Local().Format("15:04:05.000") + " "
		if withServer {
			text += line(l.Server) + " "
		}
		if _, err := fmt.Fprintf(p.Stdout, "%s%-5s %s\n", text, line(l.Level), clean(l.Text)); err != nil {
			return err
		}
	}
	return nil
}

// get decodes one document.
func (d *daemon) get(ctx context.Context, path string, to any) error {
	data, err := d.raw(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return err
	}
	return decode(data, to)
}
