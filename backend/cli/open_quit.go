package cli

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"

	"github.com/spf13/cobra"
)

func (p *program) open() *cobra.Command {
	var printOnly, browser bool
	cmd := &cobra.Command{
		Use: "open [PATH]", Short: "Open the web UI, or print its URL with a one-time code", Args: argCount(0, 1),
		Example: "  drawbridge open /servers/files\n  drawbridge open --print",
		RunE: p.onDaemon(func(ctx context.Context, d *daemon, args []string) error {
			var place api.OpenRequest
			if len(args) == 1 {
				place.To = args[0]
			}
			if !printOnly && !browser && !p.json && p.Show != nil {
				if window, err := request[api.Shown](ctx, d, http.MethodPost, "window", nil, place); err == nil && window.Shown {
					return nil
				}
			}
			return show(ctx, p, http.MethodPost, "open-code", nil, place, func(page api.OpenAddress) error {
				if printOnly || p.Show == nil {
					_, err := fmt.Fprintln(p.Stdout, page.URL)
					return err
				}
				folders, err := p.folders()
				if err != nil {
					return err
				}
				return p.Show(page.URL, folders, browser)
			})
		}),
	}
	cmd.Flags().BoolVar(&printOnly, "print", false, "print the URL instead of opening it")
	cmd.Flags().BoolVar(&browser, "browser", false, "open the web UI in the browser, not in the window")
	return cmd
}

// quitLimit is the time limit for stopping the daemon, whose servers have 5 s.
const quitLimit = 10 * time.Second

func (p *program) quit() *cobra.Command {
	return &cobra.Command{
		Use: "quit", Short: "Quit Drawbridge and stop all its servers", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			folders, err := p.folders()
			if err != nil {
				return err
			}
			if held, err := loopback.IsDaemonRunning(folders.Data); err != nil || !held {
				if err == nil {
					fmt.Fprintln(p.Stderr, "Drawbridge is not running.")
				}
				return err
			}
			d, err := p.daemon()
			if err != nil {
				return err
			}
			ended := d.describeRunning(cmd.Context())
			if err := d.change(cmd.Context(), http.MethodPost, "quit", struct{}{}); err != nil {
				return err
			}
			if err := awaitExit(cmd.Context(), folders.Data); err != nil || p.json {
				return err
			}
			_, err = fmt.Fprintln(p.Stdout, "Stopped: "+ended+".")
			return err
		},
	}
}

// describeRunning describes what stops together with the daemon.
func (d *daemon) describeRunning(ctx context.Context) string {
	s, err := get[api.Status](ctx, d, "status", nil)
	if err != nil {
		return "Drawbridge"
	}
	running, calls := 0, 0
	for _, server := range s.Servers {
		if server.State == core.StateRunning || server.State == core.StateDegraded {
			running++
		}
		calls += server.InFlight
	}
	text := "Drawbridge at " + escapeLine(s.URL) + ", with " + core.Plural(running, "running server")
	if calls > 0 {
		text += " and " + core.Plural(calls, "call") + " in flight"
	}
	return text
}

// awaitExit waits until the daemon has released the lock of the data folder.
func awaitExit(ctx context.Context, data string) error {
	ctx, cancel := context.WithTimeout(ctx, quitLimit)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if held, err := loopback.IsDaemonRunning(data); err != nil || !held {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return &core.Error{Code: core.CodeTimeout, Message: "Drawbridge is still shutting down", Hint: "Its log shows what it is waiting for: drawbridge logs."}
		}
	}
}
