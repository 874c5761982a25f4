package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"drawbridge/backend/hub"
	"drawbridge/backend/serverlog"
)

// callLimit is how long a call from the command line may take: the server's own limits come first.
const callLimit = 15 * time.Minute

func (c *commands) callCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "call SERVER TOOL [JSON]",
		Short: "Call a tool and print what it says",
		Long: "Calls a tool of a server with arguments as a JSON object, and records the call as any other.\n" +
			"Text goes to the output as it is, structured content as YAML. A tool error exits with 1.",
		Example: `  drawbridge call demo add '{"a": 1, "b": 2}'`,
		Args:    usage(cobra.RangeArgs(2, 3)),
		RunE: func(cmd *cobra.Command, args []string) error {
			arguments := json.RawMessage(`{}`)
			if len(args) == 3 {
				arguments = json.RawMessage(args[2])
			}
			var object map[string]json.RawMessage
			if json.Unmarshal(arguments, &object) != nil || object == nil {
				return usageError{fmt.Errorf("the arguments are no JSON object, such as '{\"path\": \"/tmp\"}'")}
			}
			return c.call(cmd.Context(), args[0], args[1], arguments)
		},
	}
}

func (c *commands) call(ctx context.Context, server, tool string, arguments json.RawMessage) error {
	d, err := c.daemon()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	raw, err := d.ask(ctx, http.MethodPost, "/api/v1/call", nil, map[string]any{"server": server, "tool": tool, "arguments": arguments})
	if err != nil {
		return err
	}
	var result struct {
		Success bool            `json:"success"`
		Output  string          `json:"output"`
		Data    json.RawMessage `json:"data"`
		Error   json.RawMessage `json:"error"`
		Raw     json.RawMessage `json:"raw"`
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return fmt.Errorf("cannot read the answer of Drawbridge: %w", err)
	}
	if c.json {
		if err := c.printJSON(result); err != nil {
			return err
		}
	} else if result.Success {
		fmt.Fprint(c.Stdout, withNewline(c.safe(result.Output)))
		if hasValue(result.Data) {
			text, err := yaml.JSONToYAML(result.Data)
			if err != nil {
				text = result.Data
			}
			fmt.Fprint(c.Stdout, withNewline(c.safe(string(text))))
		}
	} else {
		fmt.Fprint(c.Stderr, withNewline("drawbridge: "+c.safe(errorText(result.Error, result.Output))))
	}
	if !result.Success {
		return errFailed
	}
	return nil
}

func hasValue(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// errorText is what an error says: a string, or the message of an object.
func errorText(raw json.RawMessage, otherwise string) string {
	var text string
	if json.Unmarshal(raw, &text) == nil && text != "" {
		return text
	}
	var object struct {
		Message string `json:"message"`
		Detail  string `json:"detail"`
	}
	if json.Unmarshal(raw, &object) == nil {
		if object.Message != "" {
			return object.Message
		}
		if object.Detail != "" {
			return object.Detail
		}
	}
	return otherwise
}

// safe neutralises what a server could do to a terminal, line by line. A pipe gets
// the text as it is.
func (c *commands) safe(text string) string {
	if !c.Terminal {
		return text
	}
	return eachLine(text, serverlog.Clean)
}

func (c *commands) toolsCommand() *cobra.Command {
	var server string
	cmd := &cobra.Command{
		Use: "tools", Aliases: []string{"list-tools"}, Short: "List the tools of all servers", Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := c.daemon()
			if err != nil {
				return err
			}
			query := url.Values{}
			if server != "" {
				query.Set("server", server)
			}
			var list struct {
				Items []struct{ Name, Server, Tool, Description string } `json:"items"`
			}
			raw, err := d.get(cmd.Context(), "/api/v1/tools", query, &list)
			if err != nil {
				return err
			}
			if c.json {
				_, err = fmt.Fprintln(c.Stdout, string(raw))
				return err
			}
			t := table{title: "Tools", head: []string{"Name", "Server", "Description"}}
			for _, item := range list.Items {
				t.rows = append(t.rows, []string{serverlog.Clean(item.Name), item.Server, short(serverlog.Clean(item.Description), 72)})
			}
			_, err = fmt.Fprint(c.Stdout, t.String(c.Terminal))
			return err
		},
	}
	cmd.Flags().StringVar(&server, "server", "", "only the tools of this server")
	return cmd
}

func (c *commands) historyCommand() *cobra.Command {
	var limit int
	filters := map[string]*string{}
	cmd := &cobra.Command{
		Use: "history", Short: "List recorded calls, newest first", Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := c.daemon()
			if err != nil {
				return err
			}
			query := url.Values{"limit": {fmt.Sprint(limit)}}
			for name, value := range filters {
				if *value != "" {
					query.Set(name, *value)
				}
			}
			var list struct {
				Items []struct {
					ID, Client, Server, Tool, Method string
					At                               time.Time
					Outcome                          hub.Outcome
					Reason                           string
					TookNs                           int64 `json:"tookNs"`
				} `json:"items"`
			}
			raw, err := d.get(cmd.Context(), "/api/v1/calls", query, &list)
			if err != nil {
				return err
			}
			if c.json {
				_, err = fmt.Fprintln(c.Stdout, string(raw))
				return err
			}
			t := table{title: "Calls", head: []string{"Time", "Client", "Server", "Call", "Outcome", "Took", "ID"}}
			for _, call := range list.Items {
				what := call.Tool
				if call.Method != "tools/call" {
					what = call.Method + " " + call.Tool
				}
				t.rows = append(t.rows, []string{call.At.Local().Format("01-02 15:04:05"), serverlog.Clean(call.Client), call.Server,
					short(serverlog.Clean(what), 48), string(call.Outcome), took(time.Duration(call.TookNs)), call.ID})
			}
			_, err = fmt.Fprint(c.Stdout, t.String(c.Terminal))
			return err
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 50, "how many calls, at most 500")
	for name, text := range map[string]string{
		"server": "only calls of this server", "client": "only calls of this client", "tool": "only calls of this tool",
		"outcome": "only calls that ended so: ok, tool_error, protocol_error, timeout, cancelled, rejected", "q": "only calls that hold this text",
	} {
		filters[name] = cmd.Flags().String(name, "", text)
	}
	return cmd
}

// took writes a duration with three digits at most.
func took(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}
