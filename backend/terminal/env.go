// Package terminal is the door of the command line: what the commands of a feature need. It knows no
// feature. [Env] is where a command runs, [Daemon] the client of the HTTP API, and [Table] how lists
// are printed. What comes from servers and clients is escaped before it reaches a terminal.
package terminal

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
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Env is where a command runs: what it reads, prints and asks. Streams, environment and version
// default to those of the process.
type Env struct {
	Version string
	Data    string // --data
	JSON    bool   // --json

	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
	// Terminal reports whether Stdout is a terminal. nil: inspect the file.
	Terminal func() bool
	// Attended reports whether the user can be asked: Stdin is a terminal, too. nil: inspect the
	// files.
	Attended func() bool
	// Show opens an address with a one-time code in the window, or in the browser if browser is
	// true. nil prints it.
	Show func(url string, f config.Folders, browser bool) error

	// CompletionLimit is how long the names that complete an argument may take; 500 ms if 0.
	CompletionLimit time.Duration

	interrupted <-chan struct{} // closed by the signal of Ctrl+C
}

// Commands adds the commands of a feature to root.
type Commands func(e *Env, root *cobra.Command)

// Otherwise cobra ends a program that was started from Explorer.
func init() { cobra.MousetrapHelpText = "" }

// NewRoot returns the command drawbridge without commands.
func NewRoot(e *Env) *cobra.Command {
	root := &cobra.Command{
		Use:               "drawbridge",
		Version:           e.Version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetIn(e.Stdin)
	root.SetOut(e.Stdout)
	root.SetErr(e.Stderr)
	root.SetVersionTemplate("drawbridge {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(printHelp)
	root.SetHelpCommand(helpCommand(e))
	root.PersistentFlags().StringVar(&e.Data, "data", "", "the folder `DIR` for all data: configuration, history, logs")
	root.PersistentFlags().BoolVar(&e.JSON, "json", false, "print JSON, including errors")
	return root
}

// Execute runs one command line, prints an error, and returns the exit code.
func Execute(ctx context.Context, e *Env, root *cobra.Command, args []string) int {
	root.SetArgs(e.replaceMoved(args))
	e.interrupted = ctx.Done()
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !e.JSON { // a flag that does not parse ends parsing
		e.JSON = slices.Contains(args, "--json")
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil { // by a signal, such as that of Ctrl+C
		err = core.Errorf(core.CodeCancelled, "interrupted")
	}
	err = e.withNextStep(cmd, err)
	e.PrintError(err)
	return ExitCode(err)
}

// Under returns the command of root with the given name.
func Under(root *cobra.Command, name string) *cobra.Command {
	list := root.Commands()
	return list[slices.IndexFunc(list, func(c *cobra.Command) bool { return c.Name() == name })]
}

// Complete sets the defaults. What is printed to a terminal is escaped from then on.
func (e *Env) Complete() {
	if e.Getenv == nil {
		e.Getenv = os.Getenv
	}
	if e.Stdin == nil {
		e.Stdin = os.Stdin
	}
	if e.Stdout == nil {
		e.Stdout = os.Stdout
	}
	if e.Stderr == nil {
		e.Stderr = os.Stderr
	}
	e.Version = cmp.Or(e.Version, "dev")
	stdout := e.Stdout
	if e.Terminal == nil {
		e.Terminal = func() bool { return isTerminal(stdout) }
	}
	if e.Attended == nil {
		e.Attended = func() bool { return e.Terminal() && isTerminal(e.Stdin) }
	}
	if e.Terminal() {
		e.Stdout = &terminalWriter{to: stdout}
	}
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Folders returns the folders of the daemon that the command is about.
func (e *Env) Folders() (config.Folders, error) { return config.FoldersFor(e.Data, e.Getenv) }

// Sources returns the configuration files of the running daemon, or those that a daemon started now
// would use.
func (e *Env) Sources(folders config.Folders) config.Sources {
	s := config.SourcesFor("", folders, e.Getenv)
	rt, running, err := loopback.FindDaemon(folders.Data)
	if err != nil || !running || rt.Config == "" {
		return s
	}
	if s.File = rt.Config; s.File == s.DefaultFile {
		s.File = "" // so that conf.d is included
	}
	return s
}

// PrintJSON prints v as JSON on one line.
func (e *Env) PrintJSON(v any) error { return e.encode(e.Stdout, v) }

func (e *Env) encode(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	text := b.Bytes()
	if e.Terminal() {
		text = serverlog.CleanJSON(text)
	}
	_, err := w.Write(text)
	return err
}

// PrintError prints the error and its hint to Stderr.
func (e *Env) PrintError(err error) {
	if _, said := errors.AsType[silentError](err); err == nil || said {
		return
	}
	code := core.CodeOf(err)
	if _, usage := errors.AsType[usageError](err); usage {
		code = core.CodeValidation
	}
	out := web.NewErrorDocument(code)
	out.Detail = err.Error()
	if ours, ok := errors.AsType[*core.Error](err); ok {
		out.Detail, out.Hint, out.Errors, out.Retriable = ours.Error(), ours.Hint, ours.Fields, ours.Retriable
	}
	if problem, ok := errors.AsType[*ProblemError](err); ok {
		out.Status, out.Title = problem.Status, http.StatusText(problem.Status)
	}
	if e.JSON {
		_ = e.encode(e.Stderr, out)
		return
	}
	fmt.Fprintln(e.Stderr, "drawbridge:", EscapeText(out.Detail))
	for _, f := range out.Errors {
		text := f.Error
		f.Field = strings.TrimPrefix(strings.TrimPrefix(f.Field, "query."), "body.")
		if f.Field != "" && !strings.Contains(text, f.Field) {
			text = f.Field + ": " + text
		}
		fmt.Fprintln(e.Stderr, "  "+EscapeText(text))
	}
	if out.Hint != "" {
		fmt.Fprintln(e.Stderr, EscapeText(out.Hint))
	}
}

// EscapeText escapes untrusted text for a terminal; it keeps line breaks.
func EscapeText(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = serverlog.Clean(strings.TrimSuffix(l, "\r"))
	}
	return strings.Join(lines, "\n")
}

// EscapeLine is like EscapeText, without line breaks.
func EscapeLine(s string) string { return strings.Join(strings.Fields(EscapeText(s)), " ") }

// Confirm asks for confirmation unless yes is true. Without a terminal it fails.
func (e *Env) Confirm(yes bool, question string) error {
	if yes {
		return nil
	}
	if e.JSON || !e.Terminal() {
		return UsageError(errors.New("nothing was written: use --yes to skip the confirmation"))
	}
	return e.ConfirmOrFail(question, "nothing was written")
}

// AwaitInput runs read, which reads Stdin. When the user interrupts the command, it returns
// context.Canceled at once, with the terminal as before: a read of a terminal cannot be ended.
func (e *Env) AwaitInput(read func()) error {
	var state *term.State
	f, ok := e.Stdin.(*os.File)
	if ok {
		state, _ = term.GetState(int(f.Fd())) // nil: not a terminal
	}
	done := make(chan struct{})
	go func() { defer close(done); read() }()
	select {
	case <-done:
		return nil
	case <-e.interrupted:
	}
	if state != nil {
		_ = term.Restore(int(f.Fd()), state)
		fmt.Fprintln(e.Stderr)
	}
	return context.Canceled
}

// ReadInput reads Stdin to its end. More than limit bytes are an error.
func (e *Env) ReadInput(limit int64) ([]byte, error) {
	var text []byte
	var err error
	if stopped := e.AwaitInput(func() { text, err = io.ReadAll(io.LimitReader(e.Stdin, limit+1)) }); stopped != nil {
		return nil, stopped
	}
	if int64(len(text)) > limit {
		return nil, core.Errorf(core.CodeValidation, "the input has more than %d bytes", limit)
	}
	return text, err
}

// ConfirmOrFail asks for confirmation; its error says what was not done.
func (e *Env) ConfirmOrFail(question, otherwise string) error {
	fmt.Fprint(e.Stdout, EscapeText(question)+" [y/N] ")
	var answer string
	if err := e.AwaitInput(func() { _, _ = fmt.Fscanln(e.Stdin, &answer) }); err != nil {
		return err
	}
	if a := strings.ToLower(answer); a != "y" && a != "yes" {
		return core.Errorf(core.CodeCancelled, "%s", otherwise)
	}
	return nil
}

// PrintSentence prints a document with --json, otherwise a sentence.
func (e *Env) PrintSentence(document any, sentence string) error {
	if e.JSON {
		return e.PrintJSON(document)
	}
	_, err := fmt.Fprintln(e.Stdout, EscapeText(sentence)) // it may contain names from files
	return err
}

type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

// UsageError makes the exit code 2.
func UsageError(err error) error { return usageError{err} }

type silentError struct{ error }

// SilentError carries an exit code for an error that was already printed.
func SilentError(err error) error { return silentError{err} }

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

// FormatAge formats the time since t in the largest fitting unit.
func FormatAge(now, t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	d := max(0, now.Sub(t))
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	}
	return fmt.Sprintf("%dd ago", int(d.Hours()/24))
}

// Moment formats a point in time. On a terminal, today's date is left out.
func (e *Env) Moment(t time.Time) string {
	t = t.Local()
	if e.Terminal() && t.Format(time.DateOnly) == time.Now().Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// ShortID returns the end of the id of a call on a terminal: the commands accept it, too.
func (e *Env) ShortID(id string) string {
	if e.Terminal() {
		return id[max(0, len(id)-8):]
	}
	return id
}

// ShortPath writes ~ for the home folder on a terminal.
func (e *Env) ShortPath(path string) string {
	home, err := os.UserHomeDir()
	if below, ok := strings.CutPrefix(path, home+string(os.PathSeparator)); ok && err == nil && e.Terminal() {
		return "~" + string(os.PathSeparator) + below
	}
	return path
}

// DebugEnabled reports whether the environment enables debug logging.
func (e *Env) DebugEnabled() bool {
	switch strings.ToLower(strings.TrimSpace(e.Getenv("DRAWBRIDGE_DEBUG"))) {
	case "", "0", "false", "no", "off":
		return false
	}
	return true
}
