package history

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/cassette"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// recordedCallFilter selects what is replayed or exported.
type recordedCallFilter struct{ session, account, tag, from, to string }

func (c *recordedCallFilter) flags(f *pflag.FlagSet) {
	f.StringVar(&c.session, "session", "", "only calls of the session with this `ID`, which \"drawbridge history --json\" shows, or last for the newest one")
	f.StringVar(&c.account, "account", "", "only calls that used this `ACCOUNT` of the server; required if the calls used several")
	f.StringVar(&c.tag, "tag", "", "only calls with this `TAG`")
	f.StringVar(&c.from, "from", "", "only calls since this `TIME`: 2026-01-31, 2026-01-31T10:00:00Z, or 2h for the last two hours")
	f.StringVar(&c.to, "to", "", "only calls before this `TIME`, in the format of --from")
}

// replay serves recorded calls, and writes cassettes.
func replay(e *terminal.Env) *cobra.Command {
	var calls recordedCallFilter
	var strict, nearest, passthrough, realtime bool
	cmd := &cobra.Command{
		Use: "replay FILE|SERVER", Short: "Serve a server's recorded calls as an MCP server on stdin and stdout",
		Long: "Serve a server's recorded calls as an MCP server on stdin and stdout: from a cassette, which needs no daemon, configuration or network, " +
			"or from the history of a running instance of Drawbridge.\n\n" +
			"A call receives the response recorded for the same tool and arguments; repeated calls receive the recorded responses in order, and then the last one again. " +
			"--strict (the default), --nearest and --passthrough, which needs a running instance of Drawbridge, say what a call that is not recorded receives.",
		Example: "  drawbridge replay calls.jsonl\n  drawbridge replay files --from 2h --nearest",
		Args:    terminal.ArgCount(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			rec, isFile, err := recording(cmd.Context(), e, args[0], calls)
			if err != nil {
				return err
			}
			if isFile && passthrough { // a file must not choose which server is called
				return terminal.UsageError(errors.New("--passthrough requires the name of a server, not a cassette"))
			}
			o := cassette.Options{Realtime: realtime}
			switch {
			case nearest:
				o.Misses = cassette.Nearest
			case passthrough:
				d := e.Daemon()
				o.Misses, o.Live = cassette.Passthrough, callLive(d, rec.Server)
			}
			served := make(chan error, 1)
			go func() { served <- cassette.NewPlayer(rec, o).Serve(cmd.Context(), e.Stdin, e.Stdout) }()
			select {
			case err := <-served:
				return err
			case <-cmd.Context().Done(): // a signal; a read of standard input cannot be interrupted
				return nil
			}
		},
	}
	f := cmd.Flags()
	calls.flags(f)
	f.BoolVar(&strict, "strict", false, "return an error for calls that are not recorded")
	f.BoolVar(&nearest, "nearest", false, "for calls that are not recorded, return the result of the most similar one")
	f.BoolVar(&passthrough, "passthrough", false, "send requests that are not recorded to the live server")
	f.BoolVar(&realtime, "realtime", false, "delay each response so that it takes as long as the recorded one, and send the recorded progress notifications")
	cmd.MarkFlagsMutuallyExclusive("strict", "nearest", "passthrough")
	cmd.AddCommand(replayExport(e))
	return cmd
}

func replayExport(e *terminal.Env) *cobra.Command {
	var calls recordedCallFilter
	cmd := &cobra.Command{
		Use: "export SERVER FILE", Short: "Write a server's recorded calls to a new cassette", Args: terminal.ArgCount(2, 2),
		Long: "Write a new cassette for \"drawbridge replay\" with the recorded calls to a server's tools, prompts and resources, and the latest version of its lists. FILE can be - for standard output.\n\n" +
			"Secrets that the history redacts are not written to the file. A call whose result was redacted or truncated is kept without its result and returns an error when it is served.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return exportCassette(cmd.Context(), e, args[0], calls, args[1])
		},
	}
	calls.flags(cmd.Flags())
	return cmd
}

// recording reads a cassette if source is a file, and the history of the server source otherwise.
func recording(ctx context.Context, e *terminal.Env, source string, calls recordedCallFilter) (rec *cassette.Recording, isFile bool, err error) {
	f, err := cassette.Open(source)
	info, _ := os.Stat(source) // a folder can have the name of a server
	if (errors.Is(err, os.ErrNotExist) || info != nil && info.IsDir()) && !strings.ContainsAny(source, `/\`) && filepath.Ext(source) != ".jsonl" {
		d := e.Daemon()
		if d.Err != nil {
			return nil, false, fmt.Errorf("cannot find file %q, and cannot read the history: %w", source, d.Err)
		}
		rec, err = recordedCalls(ctx, d, source, calls)
		return rec, false, err
	}
	if err != nil {
		return nil, true, fmt.Errorf("cannot open the cassette: %w", err)
	}
	defer f.Close()
	if calls != (recordedCallFilter{}) {
		return nil, true, terminal.UsageError(fmt.Errorf("--session, --account, --tag, --from and --to apply only to the history of a server, but %s is a file", source))
	}
	if rec, err = cassette.Read(f); err != nil {
		return nil, true, fmt.Errorf("cannot read the cassette %s: %w", source, err)
	}
	return rec, true, nil
}

func recordedCalls(ctx context.Context, d *terminal.Daemon, server string, calls recordedCallFilter) (*cassette.Recording, error) {
	if err := resolveSession(ctx, d, &calls.session, server); err != nil {
		return nil, err
	}
	filter := callFilter{server: server, session: calls.session, account: calls.account, tag: calls.tag, from: calls.from, to: calls.to}
	query, err := filter.query()
	if err != nil {
		return nil, err
	}
	query.Set("format", "cassette")
	resp, err := d.Send(ctx, http.MethodGet, "export", query, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	rec, err := cassette.Read(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("cannot read the recorded calls: %w", err)
	}
	return rec, nil
}

// callLive returns a function that sends requests to a server as a client, with its approvals.
func callLive(d *terminal.Daemon, server string) func(context.Context, string, string, json.RawMessage) (core.Reply, error) {
	return func(ctx context.Context, method, _ string, params json.RawMessage) (core.Reply, error) {
		said, err := terminal.Request[LiveReply](ctx, d, http.MethodPost, "live-call", url.Values{}, LiveRequest{Server: server, Method: method, Params: string(params)})
		return core.Reply{Result: json.RawMessage(said.Result), Error: json.RawMessage(said.Error)}, err
	}
}

func exportCassette(ctx context.Context, e *terminal.Env, server string, calls recordedCallFilter, path string) error {
	d := e.Daemon()
	rec, err := recordedCalls(ctx, d, server, calls)
	if err != nil {
		return err
	}
	return writeCassette(e, rec, path)
}

// writeCassette writes rec to a new file, or to standard output if path is "-", and says what it
// contains.
func writeCassette(e *terminal.Env, rec *cassette.Recording, path string) error {
	if path == "-" {
		w := bufio.NewWriter(e.Stdout)
		if err := errors.Join(rec.Write(w), w.Flush()); err != nil {
			return fmt.Errorf("cannot write the cassette: %w", err)
		}
		return printExported(e, e.Stderr, rec, "standard output")
	}
	if err := newCassetteFile(rec, path); err != nil {
		return err
	}
	return printExported(e, e.Stdout, rec, path)
}

func newCassetteFile(rec *cassette.Recording, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("cannot write the cassette: %w", err)
	}
	w := bufio.NewWriter(f)
	err = rec.Write(w)
	if err = errors.Join(err, w.Flush(), f.Close()); err != nil {
		return errors.Join(fmt.Errorf("cannot write the cassette: %w", err), os.Remove(path))
	}
	return nil
}

func printExported(e *terminal.Env, to io.Writer, rec *cassette.Recording, path string) error {
	if e.JSON && to == e.Stdout {
		return e.PrintJSON(map[string]any{"file": path, "tools": len(rec.Tools), "calls": rec.End.Calls, "unavailable": rec.End.Unavailable, "omitted": rec.End.Skipped, "redacted": rec.Redacted()})
	}
	text := fmt.Sprintf("%s and %s written to %s\n", core.Plural(rec.End.Calls, "call"), core.Plural(len(rec.Tools), "tool"), path)
	if n := rec.End.Unavailable; n > 0 {
		text += fmt.Sprintf("%s written without a result: redacted or truncated\n", core.Plural(n, "call"))
	}
	if n := rec.End.Skipped; n > 0 {
		text += fmt.Sprintf("%s skipped: no response, or arguments that were redacted or truncated\n", core.Plural(n, "call"))
	}
	if n := rec.Redacted(); n > 0 {
		text += fmt.Sprintf("Secrets were redacted in %s of tools, prompts, resources and the server\n", core.Plural(n, "definition"))
	}
	_, err := io.WriteString(to, text)
	return err
}
