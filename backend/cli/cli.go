package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"drawbridge/backend/hub"
	"drawbridge/config"
)

// Options are what the commands get from the program around them.
type Options struct {
	Version        string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Terminal       bool // Stdout is a terminal: tables and colours are welcome
	// Serve runs the daemon until ctx ends.
	Serve func(ctx context.Context, o ServeOptions) error
	// Desktop is the program without a command: it shows the running instance, or starts one.
	Desktop func(ctx context.Context, o ServeOptions) error
	// Launch starts a daemon in the background. It does not wait for it.
	Launch func(folders config.Folders) error
	// Show brings a page to the person's screen, or writes its address to out.
	Show func(url, data string, out io.Writer) error
}

// ServeOptions are the flags of serve.
type ServeOptions struct {
	Folders config.Folders
	Sources config.Sources
	Listen  string // "" leaves it to the configuration
	Strict  bool
	NoTray  bool
	Debug   bool
}

// Exit codes of every command.
const (
	ExitOK     = 0
	ExitFailed = 1
	ExitUsage  = 2
)

// usageError marks a command line that makes no sense.
type usageError struct{ error }

// errFailed ends a command with ExitFailed after it has said why itself.
var errFailed = errors.New("failed")

// commands is one run of the command line.
type commands struct {
	Options
	data   string // --data
	json   bool   // --json
	debug  bool
	config string // --config
}

// Run executes one command line, without the program's name, and returns its exit
// code. Errors are written to Stderr: a sentence for people, with --json a problem document.
func Run(ctx context.Context, o Options, args []string) int {
	c := &commands{Options: o}
	root := c.root()
	root.SetArgs(args)
	root.SetIn(o.Stdin)
	root.SetOut(o.Stdout)
	root.SetErr(o.Stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return ExitOK
	}
	if !errors.Is(err, errFailed) {
		c.complain(err)
	}
	if _, ok := errors.AsType[usageError](err); ok {
		return ExitUsage
	}
	return ExitFailed
}

func (c *commands) root() *cobra.Command {
	serve := &serveFlags{}
	root := &cobra.Command{
		Use:   "drawbridge",
		Short: "Runs your MCP servers once, for every client, and remembers every call",
		Long: "Drawbridge runs your MCP servers once, offers them to every AI client on this machine\n" +
			"through one local address, and remembers every call.\n\n" +
			"Without a command it shows its window, starting the daemon when none runs.",
		Args:          usage(cobra.NoArgs),
		SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := c.serveOptions(serve)
			if err != nil {
				return err
			}
			return c.Desktop(cmd.Context(), o)
		},
	}
	flags := root.PersistentFlags()
	flags.StringVar(&c.data, "data", "", "folder that holds everything: configuration, history, logs, tokens")
	flags.BoolVar(&c.json, "json", false, "print JSON for programs")
	flags.BoolVar(&c.debug, "debug", false, "say more in the log")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(
		c.serveCommand(serve), c.statusCommand(), c.toolsCommand(), c.callCommand(), c.historyCommand(), c.logsCommand(),
		c.actionCommand("start", "Start a server"), c.actionCommand("stop", "Stop a server until somebody needs it"),
		c.actionCommand("restart", "Stop a server and start it again"),
		c.actionCommand("enable", "Switch a server on in the configuration"),
		c.actionCommand("disable", "Switch a server off in the configuration"),
		c.clientsCommand(), c.tokenCommand(), c.openCommand(), c.validateCommand(),
		c.stdioCommand(), c.demoCommand(), c.versionCommand(),
	)
	return root
}

// usage makes a mistake in the arguments a usage error.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{fmt.Errorf("%w\nUsage: %s", err, cmd.UseLine())}
		}
		return nil
	}
}

// complain writes err to Stderr.
func (c *commands) complain(err error) {
	message, hint := err.Error(), ""
	code := hub.CodeOf(err)
	if e, ok := errors.AsType[*hub.Error](err); ok {
		message, hint = e.Message, e.Hint
		if e.Cause != nil && e.Code != hub.CodeInternal {
			message = e.Error()
		}
	} else if _, ok := errors.AsType[usageError](err); ok {
		code = hub.CodeValidation
	}
	if !c.json {
		fmt.Fprintln(c.Stderr, "drawbridge: "+message)
		if hint != "" {
			fmt.Fprintln(c.Stderr, hint)
		}
		return
	}
	if p, ok := errors.AsType[*problemError](err); ok {
		c.Stderr.Write(append(p.raw, '\n'))
		return
	}
	problem := map[string]any{"title": string(code), "code": code, "detail": message}
	if hint != "" {
		problem["hint"] = hint
	}
	json.NewEncoder(c.Stderr).Encode(problem)
}

// folders computes where this instance keeps its files.
func (c *commands) folders() (config.Folders, error) {
	return config.FoldersFor(c.data, c.Getenv)
}

// dataArgument is the --data that another process has to be given; "" for the default folder.
func dataArgument(f config.Folders) string {
	if f.Own {
		return f.Data
	}
	return ""
}

// printJSON writes a document of ours on one line.
func (c *commands) printJSON(v any) error {
	e := json.NewEncoder(c.Stdout)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

func (c *commands) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if c.json {
				return c.printJSON(map[string]string{"version": c.Version})
			}
			_, err := fmt.Fprintln(c.Stdout, "drawbridge "+c.Version)
			return err
		},
	}
}
