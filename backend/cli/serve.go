package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

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
			return p.printProblems(cmd.Context(), o.Sources)
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
		o.Debug, o.JSON = o.Debug || p.DebugEnabled(), p.JSON
		if p.Attended() && !p.JSON {
			o.Ask = func(question string) bool { return p.ConfirmOrFail(question, "") == nil }
		}
		if run == nil {
			return errors.New("this build cannot run the daemon")
		}
		return run(cmd.Context(), o)
	}
}
