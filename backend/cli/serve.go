package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"drawbridge/config"
)

type serveFlags struct {
	config, listen           string
	noTray, strict, validate bool
}

func (c *commands) serveCommand(f *serveFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "serve", Short: "Run the daemon in the foreground", Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := c.serveOptions(f)
			if err != nil {
				return err
			}
			if f.validate {
				return c.validate(o.Sources)
			}
			return c.Serve(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "", "configuration file, instead of the default ones")
	flags.StringVar(&f.config, "mcp-config", "", "the same as --config")
	flags.MarkHidden("mcp-config")
	flags.StringVar(&f.listen, "listen", "", "loopback address and port; port 0 picks a free one (default 127.0.0.1:7575)")
	flags.BoolVar(&f.noTray, "no-tray", false, "show no icon in the notification area")
	flags.BoolVar(&f.strict, "strict", false, "exit with 1 when something is wrong in the configuration")
	flags.BoolVar(&f.validate, "validate-config", false, "check the configuration and exit")
	return cmd
}

func (c *commands) serveOptions(f *serveFlags) (ServeOptions, error) {
	folders, err := c.folders()
	if err != nil {
		return ServeOptions{}, err
	}
	listen := f.listen
	if port := c.Getenv("DRAWBRIDGE_HTTP_PORT"); listen == "" && port != "" {
		listen = "127.0.0.1:" + port
	}
	return ServeOptions{
		Folders: folders, Sources: config.SourcesFor(f.config, folders, c.Getenv),
		Listen: listen, Strict: f.strict, NoTray: f.noTray,
		Debug: c.debug || c.Getenv("DRAWBRIDGE_DEBUG") == "1",
	}, nil
}

func (c *commands) validateCommand() *cobra.Command {
	return &cobra.Command{
		Use: "validate [FILE]", Short: "Check a configuration; exit with 1 when something is wrong",
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			folders, err := c.folders()
			if err != nil {
				return err
			}
			sources := config.SourcesFor("", folders, c.Getenv)
			if len(args) == 1 {
				sources = config.Sources{File: args[0]}
			}
			return c.validate(sources)
		},
	}
}

// validate prints what is wrong with a configuration and fails when it is more than a warning.
func (c *commands) validate(sources config.Sources) error {
	loaded, err := sources.Load()
	var problems []config.Problem
	servers := 0
	if loaded != nil {
		problems, servers = loaded.Problems, len(loaded.Servers)
		problems = append(problems, loaded.Unset(func(name string) (string, bool) {
			value := c.Getenv(name)
			return value, value != ""
		})...)
	}
	if list, ok := err.(config.Problems); ok {
		problems, err = list, nil
	}
	if err != nil {
		return err
	}
	broken := config.HasErrors(problems)
	if c.json {
		if problems == nil {
			problems = []config.Problem{}
		}
		if err := c.printJSON(map[string]any{"ok": !broken, "servers": servers, "problems": problems}); err != nil {
			return err
		}
	} else {
		for _, p := range problems {
			kind := "error"
			if p.Warning {
				kind = "warning"
			}
			fmt.Fprintln(c.Stdout, kind+": "+p.String())
		}
		if !broken {
			fmt.Fprintf(c.Stdout, "The configuration is good: %d servers.\n", servers)
		}
	}
	if broken {
		return errFailed
	}
	return nil
}
