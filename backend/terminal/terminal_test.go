package terminal

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/rivo/uniseg"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What the next command needs is whole, whatever the width.
func TestTableFitsTerminalWidth(t *testing.T) {
	for columns, want := range map[string]string{
		"60": `Clients
ID        Client            State          File
windsurf  Windsurf (Casca…  not connected  /home/ana/.codeiu
                                           m/ windsurf/a
                                           b.json
x         X                 connected      /x
`,
		"": `Clients
ID        Client                               State          File
windsurf  Windsurf (Cascade, before a rename)  not connected  /home/ana/.codeium/ windsurf/a b.json
x         X                                    connected      /x
`} {
		var out bytes.Buffer
		e := Env{Stdout: &out, Terminal: func() bool { return true }, Getenv: func(string) string { return columns }}
		one := Table{Title: "Clients", Head: []string{"ID", "Client", "State", "File"}, Keep: []bool{0: true, 2: true}, Wrap: true}
		one.Add("windsurf", "Windsurf (Cascade, before a rename)", "not connected", "/home/ana/.codeium/ windsurf/a b.json")
		one.Add("x", "X", "connected", "/x")
		if err := e.PrintTable(&one); err != nil || out.String() != want {
			t.Errorf("%s columns: %v\n%s", columns, err, out.String())
		}
	}
}

// Undo may remove the configuration file while no daemon runs. The next daemon must not miss it.
func TestRemovalConfirmedWithoutDaemonIsNotReportedLater(t *testing.T) {
	e := Env{Data: t.TempDir(), Getenv: func(string) string { return "" }}
	folders, err := e.Folders()
	require.NoError(t, err)
	last, main := folders.LastGoodConfigFile(), e.Sources(folders).Main()
	for _, step := range []struct {
		confirm string
		missing bool
		left    bool
	}{{config.AnyETag, false, true}, {"", true, true}, {config.AnyETag, true, false}, {config.AnyETag, true, false}} {
		if step.missing {
			_ = os.Remove(main)
		} else {
			for _, file := range []string{last, main} {
				require.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, nil, 0o600)))
			}
		}
		err := e.SyncConfig(t.Context(), step.confirm)
		_, gone := os.Stat(last)
		assert.Truef(t, err == nil && (gone == nil) == step.left, "%+v: %v, %v", step, err, gone)
	}
}

// The keyboard of these tests is a pipe that nothing is written to.
func TestInterruptEndsQuestionsAndPrompts(t *testing.T) {
	for name, ask := range map[string]func(e *Env) error{
		"question": func(e *Env) error { return e.ConfirmOrFail("Really?", "nothing was done") },
		"input":    func(e *Env) error { _, err := e.ReadInput(10); return err },
	} {
		keyboard, typing := io.Pipe()
		ctx, interrupt := context.WithCancel(t.Context())
		var errOut bytes.Buffer
		e := &Env{Stdin: keyboard, Stdout: &writerThat{interrupt}, Stderr: &errOut, Getenv: func(string) string { return "" }}
		e.Complete()
		root := NewRoot(e)
		root.RunE = func(*cobra.Command, []string) error {
			if name == "input" {
				interrupt()
			}
			return ask(e)
		}
		if code := Execute(ctx, e, root, nil); code != 1 || errOut.String() != "drawbridge: interrupted\n" {
			t.Errorf("%s: %d, %q", name, code, errOut.String())
		}
		_ = typing.Close()
	}
}

// Words of the libraries and of the HTTP API mean nothing to a user.
func TestErrorsOfUsageAreInTermsOfFlags(t *testing.T) {
	tooLong := &ProblemError{Err: &core.Error{Code: core.CodeValidation, Message: "the request is not valid", Fields: []core.FieldError{{Field: "query.tag", Error: "expected length <= 50"}}}, Status: 422}
	for want, args := range map[string][]string{
		`--many requires a valid number, not "x"` + "\nSee: ":      {"--many", "x"},
		"these cannot be combined: --many, --other\nSee: ":         {"--many", "1", "--other"},
		"the request is not valid\n  tag: expected length <= 50\n": {},
	} {
		var errOut bytes.Buffer
		e := &Env{Stderr: &errOut, Stdout: io.Discard}
		e.Complete()
		root := NewRoot(e)
		root.Flags().Int("many", 0, "")
		root.Flags().Bool("other", false, "")
		root.MarkFlagsMutuallyExclusive("many", "other")
		root.RunE = func(*cobra.Command, []string) error { return tooLong }
		if code := Execute(t.Context(), e, root, args); code != 2 || !strings.HasPrefix(errOut.String(), "drawbridge: "+want) {
			t.Errorf("%q: %d, %q", args, code, errOut.String())
		}
	}
}

// writerThat calls written on each write.
type writerThat struct{ written func() }

func (w *writerThat) Write(b []byte) (int, error) { w.written(); return len(b), nil }

// A character may be split between two writes.
func TestTerminalWriterJoinsCharacters(t *testing.T) {
	var whole, split bytes.Buffer
	text := "é日本\u202e😀\n" + "a\x1b]52;c;ZXZpbA==\a\u009b31m\u202egnp\x00"
	_, _ = io.WriteString(&terminalWriter{to: &whole}, text)
	w := &terminalWriter{to: &split}
	_, _ = io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{iotest.OneByteReader(strings.NewReader(text))}, make([]byte, 1))
	if whole.String() != split.String() || !strings.HasPrefix(whole.String(), "é日本\\u202e😀\n") {
		t.Errorf("%q and %q", whole.String(), split.String())
	}
}

func TestJSONOnTerminalIsEscaped(t *testing.T) {
	t.Parallel()
	for terminal, want := range map[bool]string{true: `{"text":"\u009b31m \u202e"}`, false: "{\"text\":\"\u009b31m \u202e\"}"} {
		var out bytes.Buffer
		e := Env{Stdout: &out, Terminal: func() bool { return terminal }}
		e.Complete()
		if err := e.PrintJSON(map[string]string{"text": "\u009b31m \u202e"}); err != nil || strings.TrimSpace(out.String()) != want {
			t.Errorf("on a terminal %v: %q, %v", terminal, out.String(), err)
		}
	}
}

func TestColumnsAlignWithWideCharacters(t *testing.T) {
	tab := Table{Title: "A long title over short columns", Head: []string{"A", "B"}}
	tab.Add("日本語", "x")
	tab.Add("a\nb", "ünïcode")
	var out bytes.Buffer
	require.NoError(t, tab.print(&out, false, 0))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for _, l := range lines {
		before, _, _ := strings.Cut(l, strings.TrimSpace(l[strings.LastIndexByte(l, ' '):]))
		require.Equal(t, 8, uniseg.StringWidth(before))
	}
}

func TestDebugIsEnabledByEnvironment(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"": false, "0": false, "false": false, "FALSE": false, "off": false, "no": false, "1": true, "true": true, " yes ": true} {
		e := &Env{Getenv: func(string) string { return value }}
		assert.Equalf(t, want, e.DebugEnabled(), "DRAWBRIDGE_DEBUG=%q", value)
	}
}

// Sentences and questions contain names from files.
func TestSentencesAreEscaped(t *testing.T) {
	var out strings.Builder
	e := Env{Stdout: &out, Stdin: strings.NewReader("n\n")}
	_ = e.PrintSentence(nil, "a\x1b[31m\u202e\n b")
	_ = e.ConfirmOrFail("a\x1b[31m\u202e?", "")
	assert.Equal(t, "a\\u{202e}\n b\na\\u{202e}? [y/N] ", out.String())
}
