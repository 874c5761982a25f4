package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/cassette"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/spf13/cobra"
)

// replay serves a cassette, and writes cassettes.
func (p *program) replay() *cobra.Command {
	cmd := &cobra.Command{
		Use: "replay FILE", Short: "Serve recorded calls of a server from a cassette, as an MCP server on stdin and stdout",
		Long: "Serve recorded calls of a server from a cassette, as an MCP server on stdin and stdout. It needs no daemon, configuration or network.\n\n" +
			"A call gets the recorded result of the same tool and arguments; repeated calls get the results in the order of recording, then the last one. " +
			"A call that is not recorded gets an error.",
		Args: argCount(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := os.Open(args[0])
			if err != nil {
				return fmt.Errorf("cannot open the cassette: %w", err)
			}
			c, err := cassette.Read(f)
			f.Close()
			if err != nil {
				return fmt.Errorf("cannot read the cassette %s: %w", args[0], err)
			}
			return c.Serve(p.Stdin, p.Stdout)
		},
	}
	var session string
	export := &cobra.Command{
		Use: "export SERVER FILE", Short: "Write the recorded tool calls of a server to a new cassette", Args: argCount(2, 2),
		Long: "Write the recorded tool calls of a server, and its tools as they are now, to a new cassette for \"drawbridge replay\".\n\n" +
			"Secrets that the history redacts are not in the file. A call whose result was redacted or truncated is kept without the result and gets an error when served.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.exportCassette(cmd.Context(), args[0], session, args[1])
		},
	}
	export.Flags().StringVar(&session, "session", "", "only calls of the session with this `ID`, which \"drawbridge history --json\" shows")
	cmd.AddCommand(export)
	return cmd
}

func (p *program) exportCassette(ctx context.Context, server, session, path string) error {
	d, err := p.daemon()
	if err != nil {
		return err
	}
	header := cassette.Header{Version: cassette.Version, Server: server, Tools: []json.RawMessage{}}
	tools, err := get[api.List[api.Tool]](ctx, d, "tools", url.Values{"server": {server}})
	if err != nil {
		return err
	}
	for _, t := range tools.Items {
		tool, err := ownDefinition(&t)
		if err != nil {
			return err
		}
		header.Tools = append(header.Tools, tool)
	}
	if len(header.Tools) == 0 {
		return fmt.Errorf("no tools of %q are known; start it with \"drawbridge start\" first", server)
	}
	calls, left, err := d.recordedCalls(ctx, server, session)
	if err != nil {
		return err
	}
	if len(calls) == 0 {
		return errors.New("no recorded tool call can be exported; \"drawbridge history\" shows what is recorded")
	}
	var content bytes.Buffer
	e := json.NewEncoder(&content)
	e.SetEscapeHTML(false)
	if err := e.Encode(header); err != nil {
		return err
	}
	unavailable := 0
	for _, c := range calls {
		if c.Unavailable != "" {
			unavailable++
		}
		if err := e.Encode(c); err != nil {
			return err
		}
	}
	if _, err := cassette.Read(bytes.NewReader(content.Bytes())); err != nil {
		return fmt.Errorf("the calls do not fit into a cassette; use --session: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("cannot write the cassette: %w", err)
	}
	w := bufio.NewWriter(f)
	_, err = io.Copy(w, &content)
	if err = errors.Join(err, w.Flush(), f.Close()); err != nil {
		return errors.Join(fmt.Errorf("cannot write the cassette: %w", err), os.Remove(path))
	}
	if p.json {
		return p.document(map[string]any{"file": path, "tools": len(header.Tools), "calls": len(calls), "unavailable": unavailable, "omitted": left})
	}
	fmt.Fprintf(p.Stdout, "%s and %s written to %s\n", plural(len(calls), "call"), plural(len(header.Tools), "tool"), path)
	if unavailable > 0 {
		fmt.Fprintf(p.Stdout, "%d of them without their result, because it was redacted or truncated\n", unavailable)
	}
	if left > 0 {
		fmt.Fprintf(p.Stdout, "%s skipped: no response, or arguments that were redacted or truncated\n", plural(left, "call"))
	}
	return nil
}

// ownDefinition returns the definition of a tool with the server's own name of it, and all other
// bytes unchanged.
func ownDefinition(t *api.Tool) (json.RawMessage, error) {
	var name core.Span
	err := wire.Members([]byte(t.Raw), func(m wire.Member) error {
		if string(m.Name) == "name" {
			name = m.Value
		}
		return nil
	})
	if err != nil || name.Empty() {
		return nil, fmt.Errorf("the definition of %q cannot be read", t.Tool)
	}
	return wire.Splice(nil, []byte(t.Raw), wire.Edit{Span: name, With: wire.AppendString(nil, t.Tool)}), nil
}

// recordedCalls returns the tool calls of a server, oldest first, and the number of those that
// cannot be served.
func (d *daemon) recordedCalls(ctx context.Context, server, session string) (calls []cassette.Call, left int, err error) {
	query := url.Values{"server": {server}, "limit": {"200"}}
	if session != "" {
		query.Set("session", session)
	}
	for {
		page, err := get[api.List[api.Call]](ctx, d, "calls", query)
		if err != nil {
			return nil, 0, err
		}
		for _, item := range page.Items {
			if item.Method != "tools/call" || item.FromServer {
				continue
			}
			full, err := get[api.CallDetail](ctx, d, "calls/"+item.ID, nil)
			if err != nil {
				return nil, 0, err
			}
			call := cassette.Call{Tool: full.Tool, Arguments: full.Arguments, Result: full.Result, Error: full.Error}
			switch {
			case full.ArgumentsCut != nil || strings.Contains(full.Arguments, redact.Mark) || full.Result == "" && full.Error == "":
				left++
				continue
			case full.ReplyCut != nil:
				call = cassette.Call{Tool: full.Tool, Arguments: full.Arguments, Unavailable: "the recorded result is truncated"}
			case strings.Contains(full.Result+full.Error, redact.Mark):
				call = cassette.Call{Tool: full.Tool, Arguments: full.Arguments, Unavailable: "the recorded result contains redacted secrets"}
			}
			calls = append(calls, call)
		}
		if page.Next == "" {
			slices.Reverse(calls)
			return calls, left, nil
		}
		query.Set("before", page.Next)
	}
}
