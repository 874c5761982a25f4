package history

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/backend/web"

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

func call(e *terminal.Env) *cobra.Command {
	var account string
	cmd := &cobra.Command{
		Use: "call SERVER TOOL [JSON]", Short: "Call a tool; exit with 1 if the tool reports an error", Args: terminal.ArgCount(1, 3),
		Long:    "Call a tool with a JSON object of arguments. Instead of SERVER TOOL, you can specify the name that clients show, such as SERVER__TOOL. If JSON is -, the arguments are read from standard input.",
		Example: `  drawbridge call demo add '{"a": 1, "b": 2}'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if args = e.SplitToolName(cmd.Context(), args); len(args) < 2 {
				return terminal.UsageError(fmt.Errorf("usage: %s", cmd.UseLine()))
			}
			arguments := json.RawMessage("{}")
			if len(args) == 3 {
				arguments = json.RawMessage(args[2])
				if args[2] == "-" {
					data, err := e.ReadInput(policy.MaxArguments)
					if core.CodeOf(err) == core.CodeValidation { // the daemon would refuse the request unread
						return argumentsTooLarge()
					} else if err != nil {
						return fmt.Errorf("cannot read the arguments: %w", err)
					}
					arguments = data
				}
			}
			if arguments = bytes.TrimSpace(arguments); !json.Valid(arguments) || arguments[0] != '{' {
				return terminal.UsageError(errors.New(`the arguments must be a JSON object, such as '{"text": "hello"}'`))
			}
			d := e.Daemon()
			data, err := d.RequestRaw(cmd.Context(), http.MethodPost, "call", nil, CallRequest{Server: args[0], Tool: args[1], Account: account, Arguments: web.JSON(arguments)})
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
			return printCall(e, doc, failure.Code)
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
func printCall(e *terminal.Env, doc callDocument, code core.Code) error {
	if e.JSON {
		if err := e.PrintJSON(doc); err != nil || doc.Success {
			return err
		}
		if err := callError(doc, code); code != "" {
			return err
		}
		return terminal.SilentError(callError(doc, code))
	}
	if !doc.Success {
		return callError(doc, code)
	}
	return printResult(e, doc)
}

// printResult prints a result once: the text, and structured content unless both are equivalent.
func printResult(e *terminal.Env, doc callDocument) error {
	text := doc.Output
	if e.Terminal() {
		text = terminal.EscapeText(text)
	}
	structured := len(doc.Data) > 0 && !bytes.Equal(bytes.TrimSpace(doc.Data), []byte("null"))
	if text != "" && !(structured && sameJSON(text, doc.Data)) {
		if _, err := fmt.Fprintln(e.Stdout, strings.TrimSuffix(text, "\n")); err != nil {
			return err
		}
	}
	if !structured || text != "" && isTextOnly(doc.Data, doc.Output) {
		return nil
	}
	pretty := indentJSON(doc.Data)
	if e.Terminal() {
		pretty = terminal.EscapeText(pretty)
	}
	_, err := io.WriteString(e.Stdout, pretty)
	return err
}

func callError(doc callDocument, code core.Code) error {
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
	if code = cmp.Or(object.Code, code); code != "" {
		return &core.Error{Code: code, Message: message, Hint: object.Hint}
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
