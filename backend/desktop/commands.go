package desktop

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"

	"github.com/spf13/cobra"
)

// Commands adds the commands that open the web UI and quit.
func Commands(e *terminal.Env, root *cobra.Command) {
	root.AddCommand(open(e), quit(e))
}

func open(e *terminal.Env) *cobra.Command {
	var printOnly, browser bool
	cmd := &cobra.Command{
		Use: "open [PATH]", Short: "Open the web UI, or print its URL with a one-time code", Args: terminal.ArgCount(0, 1),
		Example: "  drawbridge open /servers/files\n  drawbridge open --print",
		RunE: e.OnDaemon(func(ctx context.Context, d *terminal.Daemon, args []string) error {
			var place OpenRequest
			if len(args) == 1 {
				place.To = args[0]
			}
			if !printOnly && !browser && !e.JSON && e.Show != nil {
				if window, err := terminal.Request[Shown](ctx, d, http.MethodPost, "window", nil, place); err == nil && window.Shown {
					return nil
				}
			}
			return terminal.Show(ctx, e, http.MethodPost, "open-code", nil, place, func(page OpenAddress) error {
				if printOnly || e.Show == nil {
					_, err := fmt.Fprintln(e.Stdout, page.URL)
					return err
				}
				folders, err := e.Folders()
				if err != nil {
					return err
				}
				return e.Show(page.URL, folders, browser)
			})
		}),
	}
	cmd.Flags().BoolVar(&printOnly, "print", false, "print the URL instead of opening it")
	cmd.Flags().BoolVar(&browser, "browser", false, "open the web UI in the browser, not in the window")
	return cmd
}

// quitLimit is the time limit for stopping the daemon, whose servers have 5 s.
const quitLimit = 10 * time.Second

func quit(e *terminal.Env) *cobra.Command {
	return &cobra.Command{
		Use: "quit", Short: "Quit Drawbridge and stop all its servers", Args: terminal.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return Quit(cmd.Context(), e) },
	}
}

// Quit stops the running daemon, waits until it has exited, and says so.
func Quit(ctx context.Context, e *terminal.Env) error {
	folders, err := e.Folders()
	if err != nil {
		return err
	}
	if held, err := loopback.IsDaemonRunning(folders.Data); err != nil || !held {
		if err == nil {
			fmt.Fprintln(e.Stderr, "Drawbridge is not running.")
		}
		return err
	}
	d := e.Daemon()
	ended := describeRunning(ctx, d)
	if err := d.Change(ctx, http.MethodPost, "quit", struct{}{}); err != nil {
		return err
	}
	if err := awaitExit(ctx, folders.Data); err != nil || e.JSON {
		return err
	}
	_, err = fmt.Fprintln(e.Stdout, "Stopped: "+ended+".")
	return err
}

func describeRunning(ctx context.Context, d *terminal.Daemon) string {
	s, err := terminal.Get[struct {
		URL     string
		Servers []core.ServerStatus
	}](ctx, d, "status", nil)
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
	text := "Drawbridge at " + terminal.EscapeLine(s.URL) + ", with " + core.Plural(running, "running server")
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
