package cli

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/marketplace"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
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

// screen is the help of the program: it fits into a terminal of 80 columns and 24 lines with the prompt.
const screen = `Run each MCP server once, share it with every AI client, record every call.

Usage: drawbridge [COMMAND]         Without a command: open the window.
       drawbridge COMMAND --help    Every command takes --data DIR and --json.
Set up
  add            Add a server: a command, a URL, or a name from the directory
  test           Start a server once to see what it offers; nothing is saved
  clients        Connect AI clients, move their servers here, and undo both
  login, logout  Sign in to a remote server, and sign out
  secret         Keep tokens and passwords out of the configuration
Watch
  status         Show the servers, or everything about one
  history        Show, search and export the recorded calls
  logs, tools    Show the output of the servers, and their tools
  doctor         Find problems, fix them, or write a bug report
Control
  start, stop, restart, enable, disable, rename, remove    Change a server
  approvals      Answer what waits for your approval
  call           Call a tool
  open, quit     Open the window, quit Drawbridge
Advanced
  backup, check, completion, explain, export, guests, profiles, replay, sandbox,
  serve, stdio, token, uninstall, usage, validate, versions
`

func (p *program) command() *cobra.Command {
	root := terminal.NewRoot(&p.Env)
	root.Short = "Run each MCP server once, share it with every AI client, record every call"
	root.Long = root.Short + ".\n\nWithout a command: open the window, and start Drawbridge if it is not running."
	root.Args = linkArg
	p.serveFlags(root, p.Desktop)
	root.AddCommand(
		p.serve(), p.demo(),
		p.status(),
		supervisor.Add(&p.Env, marketplace.AddFromDirectory), p.test(), p.remove(), p.rename(),
		p.validate(), p.uninstall(), p.backup(),
		p.version(), terminal.Completion(&p.Env),
	)
	for _, add := range p.Features {
		add(&p.Env, root)
	}
	for _, sub := range root.Commands() {
		p.CompleteNames(sub)
	}
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd.HasParent() {
			help(cmd, args)
			return
		}
		fmt.Fprint(p.Stdout, screen)
	})
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
		Use: "version", Hidden: true, Short: "Print the version", Args: terminal.NoArgs,
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
