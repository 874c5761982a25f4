package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (p *program) open() *cobra.Command {
	var printOnly, browser bool
	cmd := &cobra.Command{
		Use: "open [PATH]", Short: "Open the web UI, or print its URL with a one-time code", Args: terminal.ArgCount(0, 1),
		Example: "  drawbridge open /servers/files\n  drawbridge open --print",
		RunE: p.OnDaemon(func(ctx context.Context, d *terminal.Daemon, args []string) error {
			var place api.OpenRequest
			if len(args) == 1 {
				place.To = args[0]
			}
			if !printOnly && !browser && !p.JSON && p.Show != nil {
				if window, err := terminal.Request[api.Shown](ctx, d, http.MethodPost, "window", nil, place); err == nil && window.Shown {
					return nil
				}
			}
			return terminal.Show(ctx, &p.Env, http.MethodPost, "open-code", nil, place, func(page api.OpenAddress) error {
				if printOnly || p.Show == nil {
					_, err := fmt.Fprintln(p.Stdout, page.URL)
					return err
				}
				folders, err := p.Folders()
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
		Use: "quit", Short: "Quit Drawbridge and stop all its servers", Args: terminal.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			folders, err := p.Folders()
			if err != nil {
				return err
			}
			if held, err := loopback.IsDaemonRunning(folders.Data); err != nil || !held {
				if err == nil {
					fmt.Fprintln(p.Stderr, "Drawbridge is not running.")
				}
				return err
			}
			d, err := p.Daemon()
			if err != nil {
				return err
			}
			ended := describeRunning(cmd.Context(), d)
			if err := d.Change(cmd.Context(), http.MethodPost, "quit", struct{}{}); err != nil {
				return err
			}
			if err := awaitExit(cmd.Context(), folders.Data); err != nil || p.JSON {
				return err
			}
			_, err = fmt.Fprintln(p.Stdout, "Stopped: "+ended+".")
			return err
		},
	}
}

// describeRunning describes what stops together with the daemon.
func describeRunning(ctx context.Context, d *terminal.Daemon) string {
	s, err := terminal.Get[api.Status](ctx, d, "status", nil)
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

func (p *program) serve() *cobra.Command {
	cmd := &cobra.Command{
		Use: "serve", Short: "Run Drawbridge in the foreground, without a window", Args: terminal.NoArgs,
	}
	p.serveFlags(cmd, p.Serve)
	return cmd
}

// serveFlags adds the flags of a daemon to cmd and sets run as its action.
func (p *program) serveFlags(cmd *cobra.Command, run func(context.Context, ServeOptions) error) {
	var o ServeOptions
	var file string
	var check bool
	f := cmd.Flags()
	f.StringVar(&file, "config", "", "the configuration `FILE` to use instead of the default ones (also --mcp-config)")
	f.StringVar(&o.Listen, "listen", "", "the loopback `ADDRESS` to listen on, such as 127.0.0.1:7575; port 0 selects any free port")
	f.BoolVar(&o.NoTray, "no-tray", false, "do not show a tray icon")
	f.BoolVar(&o.Strict, "strict", false, "do not start if the configuration has errors")
	f.BoolVar(&check, "validate-config", false, "check the configuration and exit")
	f.BoolVar(&o.Debug, "debug", false, "write debug messages to the log, including each call (also DRAWBRIDGE_DEBUG=1)")
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "mcp-config" {
			name = "config"
		}
		return pflag.NormalizedName(name)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			o.Link = args[0]
		}
		folders, err := p.Folders()
		if err != nil {
			return err
		}
		o.Folders, o.Sources = folders, config.SourcesFor(file, folders, p.Getenv)
		if check {
			return p.printProblems(o.Sources)
		}
		if port := strings.TrimSpace(p.Getenv("DRAWBRIDGE_HTTP_PORT")); o.Listen == "" && port != "" {
			o.Listen = "127.0.0.1:" + port
		}
		if o.Listen != "" {
			if err := loopback.CheckAddress(o.Listen); err != nil {
				message, hint := core.Describe(err)
				return terminal.UsageError(errors.New(message + ". " + hint))
			}
		}
		o.Debug, o.JSON = o.Debug || p.debugEnabled(), p.JSON
		if p.Attended() && !p.JSON {
			o.Ask = func(question string) bool { return p.ConfirmOrFail(question, "") == nil }
		}
		if run == nil {
			return errors.New("this build cannot run the daemon")
		}
		return run(cmd.Context(), o)
	}
}

// debugEnabled reports whether the environment enables debug logging.
func (p *program) debugEnabled() bool {
	switch strings.ToLower(strings.TrimSpace(p.Getenv("DRAWBRIDGE_DEBUG"))) {
	case "", "0", "false", "no", "off":
		return false
	}
	return true
}
