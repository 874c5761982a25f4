package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Options connects the commands with their program. Streams, environment and version default to
// those of the process.
type Options struct {
	// Serve runs the daemon until ctx ends.
	Serve func(ctx context.Context, o ServeOptions) error
	// Desktop runs the command without arguments: it shows the window of the running daemon,
	// or starts one with tray and window.
	Desktop func(ctx context.Context, o ServeOptions) error
	// Redact masks secrets in a text. nil masks nothing.
	Redact func(text string) string
	// RestoreHistory restores a backup of the history while no daemon runs. aside is the path of the
	// replaced history.
	RestoreHistory func(ctx context.Context, f config.Folders, backup string) (aside string, err error)
	// TryServer runs a trial without a daemon. It takes and returns the documents of POST
	// /api/v1/test. nil: a daemon is required.
	TryServer func(ctx context.Context, o ServeOptions, request []byte) (result []byte, err error)
	// Show opens an address with a one-time code in the window, or in the browser if browser is
	// true. nil prints it.
	Show func(url string, f config.Folders, browser bool) error

	Version string
	// Commit and CommitDate (RFC 3339) identify the source. Empty: not known.
	Commit, CommitDate string

	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
	// Terminal reports whether Stdout is a terminal. nil: inspect the file.
	Terminal func() bool
	// Attended reports whether the user can be asked: Stdin is a terminal, too. nil: inspect the
	// files.
	Attended func() bool
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

// usageError makes the exit code 2.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

// silentError carries an exit code for an error that was already printed.
type silentError struct{ error }

// ExitCode returns 0 for nil, 2 for invalid usage, and 1 for all other errors.
func ExitCode(err error) int {
	if err == nil {
		return 0
	}
	if _, ok := errors.AsType[usageError](err); ok {
		return 2
	}
	return 1
}

// Main runs one command line, prints an error to Stderr, and returns the exit code.
func Main(ctx context.Context, args []string, o Options) int {
	p := newProgram(o)
	root := p.command()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && !p.json { // a flag that does not parse ends parsing
		for _, a := range args {
			p.json = p.json || a == "--json"
		}
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil { // by a signal, such as that of Ctrl+C
		err = core.Errorf(core.CodeCancelled, "interrupted")
	}
	p.printError(err)
	return ExitCode(err)
}

// New returns the tree of commands. Its caller prints the error and exits with ExitCode; Main does
// both.
func New(o Options) *cobra.Command { return newProgram(o).command() }

// program is one execution of the command line.
type program struct {
	Options
	data string // --data
	json bool   // --json
}

func newProgram(o Options) *program {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Stdin == nil {
		o.Stdin = os.Stdin
	}
	if o.Stdout == nil {
		o.Stdout = os.Stdout
	}
	if o.Stderr == nil {
		o.Stderr = os.Stderr
	}
	o.Version = cmp.Or(o.Version, "dev")
	stdout := o.Stdout
	if o.Terminal == nil {
		o.Terminal = func() bool { return isTerminal(stdout) }
	}
	if o.Attended == nil {
		o.Attended = func() bool { return o.Terminal() && isTerminal(o.Stdin) }
	}
	if o.Terminal() {
		o.Stdout = &terminalWriter{to: stdout}
	}
	return &program{Options: o}
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func (p *program) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "drawbridge",
		Short: "Run each MCP server once, share it with every AI client, record every call",
		Long: "Run each MCP server once, share it with every AI client, record every call.\n\n" +
			"Without a command: open the window, and start Drawbridge if it is not running.",
		Args:              linkArg,
		SilenceErrors:     true,
		SilenceUsage:      true,
		Version:           p.Version,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	root.SetVersionTemplate("drawbridge {{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.PersistentFlags().StringVar(&p.data, "data", "", "the folder `DIR` for all data: configuration, history, logs")
	root.PersistentFlags().BoolVar(&p.json, "json", false, "print JSON, including errors")
	p.serveFlags(root, p.Desktop)
	root.AddCommand(
		p.serve(), p.stdio(), p.demo(), p.replay(),
		p.status(), p.tools(), p.call(), p.addMaintenanceCommands(p.history()), p.checks(), p.logs(),
		p.actionCommand("start"), p.actionCommand("stop"), p.actionCommand("restart"), p.actionCommand("enable"), p.actionCommand("disable"), p.pauseCommand(true), p.pauseCommand(false), p.add(), p.test(), p.remove(), p.rename(), p.login(), p.logout(), p.debug(), p.explainCall(), p.policy(), p.approvals(),
		p.validate(), p.clients(), p.token(), p.secret(), p.doctor(), p.diagnostics(), p.uninstall(), p.profiles(), p.directory(), p.install(), p.backup(),
		p.open(), p.quit(), p.version(), p.versions(), p.destinations(), p.changes(), p.sandbox(),
	)
	return root
}

func (p *program) folders() (config.Folders, error) { return config.FoldersFor(p.data, p.Getenv) }

// sources returns the configuration files of the running daemon, or those that a daemon started now
// would use.
func (p *program) sources(folders config.Folders) config.Sources {
	s := config.SourcesFor("", folders, p.Getenv)
	rt, running, err := loopback.FindDaemon(folders.Data)
	if err != nil || !running || rt.Config == "" {
		return s
	}
	if s.File = rt.Config; s.File == s.DefaultFile {
		s.File = "" // so that conf.d is included
	}
	return s
}

// versionDocument is the output of version --json.
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
		Use: "version", Short: "Print the version", Args: noArgs,
		Long: "Print the version. With --json, also print the commit and its date, and the Go version and system of the build.",
		RunE: func(*cobra.Command, []string) error {
			return p.printSentence(versionDocument{p.Version, p.Commit, p.CommitDate, runtime.Version(), runtime.GOOS, runtime.GOARCH}, "drawbridge "+p.Version)
		},
	}
}

// linkArg accepts a drawbridge:// link as the only argument, as desktops pass it.
func linkArg(cmd *cobra.Command, args []string) error {
	if len(args) == 1 && strings.HasPrefix(strings.ToLower(args[0]), "drawbridge:") {
		return nil
	}
	return noArgs(cmd, args)
}

// noArgs, exactly and between validate arguments like cobra, with exit code 2.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasParent() {
		return usageError{fmt.Errorf("drawbridge %s takes no arguments", cmd.Name())}
	}
	err := fmt.Errorf("unknown command %q", args[0])
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		err = fmt.Errorf("%w; did you mean %q?", err, near[0])
	}
	return usageError{err}
}

func argCount(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return usageError{fmt.Errorf("usage: %s", cmd.UseLine())}
		}
		return nil
	}
}

// printJSON prints v as JSON on one line.
func (p *program) printJSON(v any) error { return p.encode(p.Stdout, v) }

func (p *program) encode(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	text := b.Bytes()
	if p.Terminal() {
		text = serverlog.CleanJSON(text)
	}
	_, err := w.Write(text)
	return err
}

// printError prints the error and its hint to Stderr.
func (p *program) printError(err error) {
	if _, said := errors.AsType[silentError](err); err == nil || said {
		return
	}
	code := core.CodeOf(err)
	if _, usage := errors.AsType[usageError](err); usage {
		code = core.CodeValidation
	}
	out := web.NewErrorDocument(code)
	out.Detail = err.Error()
	if e, ok := errors.AsType[*core.Error](err); ok {
		out.Detail, out.Hint, out.Errors, out.Retriable = e.Error(), e.Hint, e.Fields, e.Retriable
	}
	if e, ok := errors.AsType[*problemError](err); ok {
		out.Status, out.Title = e.Status, http.StatusText(e.Status)
	}
	if p.json {
		_ = p.encode(p.Stderr, out)
		return
	}
	fmt.Fprintln(p.Stderr, "drawbridge:", escapeText(out.Detail))
	for _, f := range out.Errors {
		text := f.Error
		if f.Field != "" && !strings.Contains(text, f.Field) {
			text = f.Field + ": " + text
		}
		fmt.Fprintln(p.Stderr, "  "+escapeText(text))
	}
	if out.Hint != "" {
		fmt.Fprintln(p.Stderr, escapeText(out.Hint))
	}
}

// escapeText escapes untrusted text for a terminal; it keeps line breaks.
func escapeText(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = serverlog.Clean(strings.TrimSuffix(l, "\r"))
	}
	return strings.Join(lines, "\n")
}

// escapeLine is like escapeText, without line breaks.
func escapeLine(s string) string { return strings.Join(strings.Fields(escapeText(s)), " ") }
