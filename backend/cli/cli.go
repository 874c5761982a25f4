package cli

import (
	"context"
	"runtime"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/spf13/cobra"
)

// Options connects the commands with their program.
type Options struct {
	// Serve runs the daemon until ctx ends.
	Serve func(ctx context.Context, o ServeOptions) error
	// Desktop runs the command without arguments: it shows the window of the running daemon,
	// or starts one with tray and window.
	Desktop func(ctx context.Context, o ServeOptions) error
	// TryServer runs a trial without a daemon. It takes and returns the documents of POST
	// /api/v1/test. nil: a daemon is required.
	TryServer func(ctx context.Context, o ServeOptions, request []byte) (result []byte, err error)
	terminal.Env
	// Features add their commands.
	Features []terminal.Commands
	// Commit and CommitDate (RFC 3339) identify the source. Empty: not known.
	Commit, CommitDate string
}

// ServeOptions are the options of serve.
type ServeOptions struct {
	Folders config.Folders
	Sources config.Sources
	Listen  string // overrides the configuration unless ""
	NoTray  bool
	Strict  bool // refuse to start with an invalid configuration
	Debug   bool
	JSON    bool   // print documents instead of sentences; only with Desktop
	Link    string // drawbridge://…, to show in the window; only with Desktop
	// Ask asks a yes-or-no question; nil if the user cannot be asked.
	Ask func(question string) bool
}

// Main runs one command line, prints an error to Stderr, and returns the exit code.
func Main(ctx context.Context, args []string, o Options) int {
	p := newProgram(o)
	return terminal.Execute(ctx, &p.Env, p.command(), args)
}

// New returns the tree of commands. Its caller prints the error and exits with ExitCode; Main does
// both.
func New(o Options) *cobra.Command { return newProgram(o).command() }

// program is one execution of the command line.
type program struct {
	Options
}

func newProgram(o Options) *program {
	o.Complete()
	return &program{Options: o}
}

func (p *program) command() *cobra.Command {
	root := terminal.NewRoot(&p.Env)
	root.Short = "Run each MCP server once, share it with every AI client, record every call"
	root.Long = root.Short + ".\n\nWithout a command: open the window, and start Drawbridge if it is not running."
	root.Args = linkArg
	p.serveFlags(root, p.Desktop)
	root.AddCommand(
		p.serve(), p.demo(),
		p.status(),
		p.test(), p.remove(), p.rename(),
		p.validate(), p.uninstall(), p.backup(),
		p.version(),
	)
	for _, add := range p.Features {
		add(&p.Env, root)
	}
	return root
}

type versionDocument struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Date    string `json:"date,omitempty"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func (p *program) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: terminal.NoArgs,
		Long: "Print the version. With --json, also print the commit and its date, and the Go version and system of the build.",
		RunE: func(*cobra.Command, []string) error {
			return p.PrintSentence(versionDocument{p.Version, p.Commit, p.CommitDate, runtime.Version(), runtime.GOOS, runtime.GOARCH}, "drawbridge "+p.Version)
		},
	}
}

// linkArg accepts a drawbridge:// link as the only argument, as desktops pass it.
func linkArg(cmd *cobra.Command, args []string) error {
	if len(args) == 1 && strings.HasPrefix(strings.ToLower(args[0]), "drawbridge:") {
		return nil
	}
	return terminal.NoArgs(cmd, args)
}
