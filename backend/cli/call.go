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
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/spf13/cobra"
)

// callDocument is the document of "call --json". Its error is the message with its hint.
type callDocument struct {
	Success bool            `json:"success"`
	Output  string          `json:"output"`
	Data    json.RawMessage `json:"data"`
	Error   json.RawMessage `json:"error"`
	Raw     json.RawMessage `json:"raw"`
}

func (p *program) call() *cobra.Command {
	var account string
	cmd := &cobra.Command{
		Use: "call SERVER TOOL [JSON]", Short: "Call a tool; exit with 1 if the tool reports an error", Args: terminal.ArgCount(2, 3),
		Long:    "Call a tool with a JSON object of arguments. If JSON is -, the arguments are read from standard input.",
		Example: `  drawbridge call demo add '{"a": 1, "b": 2}'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			arguments := json.RawMessage("{}")
			if len(args) == 3 {
				arguments = json.RawMessage(args[2])
				if args[2] == "-" {
					data, err := io.ReadAll(io.LimitReader(p.Stdin, policy.MaxArguments+1))
					if err != nil {
						return fmt.Errorf("cannot read the arguments: %w", err)
					}
					if len(data) > policy.MaxArguments { // the daemon would refuse the request unread
						return argumentsTooLarge()
					}
					arguments = data
				}
			}
			if arguments = bytes.TrimSpace(arguments); !json.Valid(arguments) || arguments[0] != '{' {
				return terminal.UsageError(errors.New(`the arguments must be a JSON object, such as '{"text": "hello"}'`))
			}
			d, err := p.Daemon()
			if err != nil {
				return err
			}
			data, err := d.RequestRaw(cmd.Context(), http.MethodPost, "call", nil, api.CallRequest{Server: args[0], Tool: args[1], Account: account, Arguments: web.JSON(arguments)})
			if err != nil {
				return err
			}
			var doc callDocument
			if err := json.Unmarshal(data, &doc); err != nil {
				return fmt.Errorf("cannot read the response: %w", err)
			}
			var failure struct{ Code core.Code } // why the call failed; none if the tool reported an error
			if err := json.Unmarshal(data, &failure); err != nil {
				return fmt.Errorf("cannot read the response: %w", err)
			}
			return p.printCall(doc, failure.Code)
		},
	}
	cmd.Flags().StringVar(&account, "account", "", "use this `ACCOUNT` of the server")
	return cmd
}

// argumentsTooLarge is the error of a call whose arguments are larger than a request may be.
func argumentsTooLarge() error {
	e := core.Errorf(core.CodeValidation, "the arguments are larger than %s", core.FormatLimit(policy.MaxArguments))
	e.Hint = "Pass a path or a URI instead of the data itself."
	return &terminal.ProblemError{Err: e, Status: http.StatusRequestEntityTooLarge}
}

// printCall prints the document for --json. Otherwise it prints a result to Stdout and returns the
// error of a tool as its error. With --json, only an error with a code is printed to Stderr, too.
func (p *program) printCall(doc callDocument, code core.Code) error {
	if p.JSON {
		if err := p.PrintJSON(doc); err != nil || doc.Success {
			return err
		}
		err := callError(doc)
		if code == "" {
			return terminal.SilentError(err)
		}
		return &core.Error{Code: code, Message: err.Error()}
	}
	if !doc.Success {
		return callError(doc)
	}
	return p.printResult(doc)
}

// printResult prints a result once: the text, and structured content unless both are equivalent.
func (p *program) printResult(doc callDocument) error {
	text := doc.Output
	if p.Terminal() {
		text = terminal.EscapeText(text)
	}
	structured := len(doc.Data) > 0 && !bytes.Equal(bytes.TrimSpace(doc.Data), []byte("null"))
	if text != "" && !(structured && sameJSON(text, doc.Data)) {
		if _, err := fmt.Fprintln(p.Stdout, strings.TrimSuffix(text, "\n")); err != nil {
			return err
		}
	}
	if !structured || text != "" && isTextOnly(doc.Data, doc.Output) {
		return nil
	}
	pretty := indentJSON(doc.Data)
	if p.Terminal() {
		pretty = terminal.EscapeText(pretty)
	}
	_, err := io.WriteString(p.Stdout, pretty)
	return err
}

// callError is an error that a tool reported.
func callError(doc callDocument) error {
	var message string
	var object struct {
		Message string    `json:"message"`
		Detail  string    `json:"detail"`
		Code    core.Code `json:"code"`
		Hint    string    `json:"hint"`
	}
	if json.Unmarshal(doc.Error, &message) != nil {
		_ = json.Unmarshal(doc.Error, &object)
		message = object.Message
		if message == "" {
			message = object.Detail
		}
	}
	message = cmp.Or(message, strings.TrimSpace(doc.Output), "the tool reported an error")
	if object.Code != "" {
		return &core.Error{Code: object.Code, Message: message, Hint: object.Hint}
	}
	return errors.New(message)
}

// isTextOnly reports whether structured content consists of text only.
func isTextOnly(data []byte, text string) bool {
	var object map[string]any
	if json.Unmarshal(data, &object) != nil || len(object) != 1 {
		return false
	}
	for _, value := range object {
		s, ok := value.(string)
		return ok && strings.TrimSpace(s) == strings.TrimSpace(text)
	}
	return false
}

// sameJSON reports whether text and data are the same JSON value.
func sameJSON(text string, data []byte) bool {
	var a, b bytes.Buffer
	return json.Compact(&a, []byte(text)) == nil && json.Compact(&b, data) == nil && bytes.Equal(a.Bytes(), b.Bytes())
}

// indentJSON returns JSON with a line for each member, ending in a line break. What is not JSON is
// returned as it is.
func indentJSON(data []byte) string {
	var out bytes.Buffer
	if err := json.Indent(&out, bytes.TrimSpace(data), "", "  "); err != nil {
		return string(data) + "\n"
	}
	return out.String() + "\n"
}

var errTrial = errors.New("the server failed the test")

func (p *program) test() *cobra.Command {
	var image string
	var schemas bool
	cmd := &cobra.Command{
		Use: "test SERVER | URL | -- COMMAND [ARGS...]", Short: "Start a server once to test it and list what it offers; nothing is saved",
		Long: "Start or connect to a server once, show what it offers, and stop it. Nothing is saved.\n" +
			"Specify the server by its name in the configuration, a URL, a command or a Docker image.\n" +
			"If Drawbridge is not running, this command starts the server itself, with the current configuration.",
		Example: "  drawbridge test files\n  drawbridge test https://example.com/mcp\n  drawbridge test -- npx -y @modelcontextprotocol/server-filesystem /tmp\n  drawbridge test --image mcp/time",
		Args: func(cmd *cobra.Command, args []string) error {
			dashed := cmd.ArgsLenAtDash() == 0
			if image == "" && (len(args) == 0 || !dashed && len(args) > 1) {
				return terminal.UsageError(fmt.Errorf("usage: %s", cmd.UseLine()))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			body := map[string]any{"name": "server"}
			switch {
			case image != "":
				body["entry"] = map[string]any{"type": "docker", "docker": map[string]any{"image": image}, "args": args}
			case cmd.ArgsLenAtDash() == 0:
				body["entry"] = serverEntry{Command: args[0], Args: args[1:]}
			case clientconf.IsURL(args[0]):
				body["entry"] = serverEntry{URL: args[0]}
			default:
				body = map[string]any{"server": args[0]}
			}
			var t api.TestResult
			done, err := p.tryServer(cmd.Context(), body, &t)
			if err != nil || done {
				return err
			}
			if err := p.printTrial(&t, schemas); err != nil {
				return err
			}
			if !t.OK {
				return errTrial
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&image, "image", "", "create a container from this `IMAGE`; arguments are passed to its entrypoint")
	cmd.Flags().BoolVar(&schemas, "schemas", false, "show the input schema of each tool")
	return cmd
}

// tryServer runs a trial through the daemon, or in this process with the configuration that a
// daemon would use.
func (p *program) tryServer(ctx context.Context, request any, to *api.TestResult) (done bool, err error) {
	folders, err := p.Folders()
	if err != nil {
		return false, err
	}
	if _, running, err := loopback.FindDaemon(folders.Data); running || err != nil || p.TryServer == nil {
		return p.Fetch(ctx, http.MethodPost, "test", nil, request, to)
	}
	body, err := json.Marshal(request)
	if err != nil {
		return false, err
	}
	if !p.JSON {
		fmt.Fprintln(p.Stderr, "Drawbridge is not running: this command starts the server itself.")
	}
	data, err := p.TryServer(ctx, ServeOptions{Folders: folders, Sources: config.SourcesFor("", folders, p.Getenv)}, body)
	if err != nil {
		return false, err
	}
	if p.JSON {
		_, err := fmt.Fprintf(p.Stdout, "%s\n", data)
		return true, err
	}
	return false, terminal.Decode(data, to)
}

func (p *program) printTrial(t *api.TestResult, schemas bool) error {
	var b strings.Builder
	for _, problem := range t.Problems {
		if problem.Warning {
			fmt.Fprintf(&b, "warning: %s\n", terminal.EscapeLine(problem.Message))
		}
	}
	if !t.OK {
		fmt.Fprintf(&b, "failed at %s: %s\n", t.Stage, terminal.EscapeLine(t.Error))
		if t.Hint != "" {
			fmt.Fprintln(&b, terminal.EscapeLine(t.Hint))
		}
		for _, l := range t.Log {
			fmt.Fprintln(&b, "  "+terminal.EscapeLine(l))
		}
		_, err := p.Stdout.Write([]byte(b.String()))
		return err
	}
	fmt.Fprintf(&b, "works: %s\n", terminal.EscapeLine(t.Command))
	fmt.Fprintf(&b, "%s, %s, %s; %s, revision %s, in %s\n", core.Plural(len(t.Tools), "tool"), core.Plural(len(t.Prompts), "prompt"),
		core.Plural(len(t.Resources)+len(t.Templates), "resource"), t.Era, terminal.EscapeLine(t.Version), time.Duration(t.TookNs).Round(time.Millisecond))
	for _, w := range t.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", terminal.EscapeLine(w))
	}
	for _, tool := range t.Tools {
		about, _, _ := strings.Cut(tool.Description, "\n")
		fmt.Fprintln(&b, strings.TrimRight("  "+terminal.EscapeLine(tool.Name)+"  "+terminal.EscapeLine(about), " "))
		if schemas {
			fmt.Fprintln(&b, "    "+terminal.EscapeLine(tool.InputSchema))
		}
	}
	_, err := p.Stdout.Write([]byte(b.String()))
	return err
}
