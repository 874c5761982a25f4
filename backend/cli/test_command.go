package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/spf13/cobra"
)

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
			var t supervisor.TestResult
			if err := p.tryServer(cmd.Context(), body, &t); err != nil {
				return err
			}
			if len(args) > 0 && clientconf.IsURL(args[0]) {
				address, _, _ := strings.Cut(args[0], "?")
				t.Error = strings.Replace(t.Error, `server "server"`, address, 1)
			}
			if !p.JSON {
				if err := p.printTrial(&t, schemas); err != nil {
					return err
				}
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
// daemon would use. With --json, it prints the result.
func (p *program) tryServer(ctx context.Context, request any, to *supervisor.TestResult) error {
	folders, err := p.Folders()
	if err != nil {
		return err
	}
	var data []byte
	if _, running, notFound := loopback.FindDaemon(folders.Data); running || notFound != nil || p.TryServer == nil {
		data, err = p.Daemon().RequestRaw(ctx, http.MethodPost, "test", nil, request)
	} else {
		data, err = p.tryHere(ctx, folders, request)
	}
	if err == nil && p.JSON {
		err = p.PrintRaw(data)
	}
	if err != nil {
		return err
	}
	return terminal.Decode(data, to)
}

func (p *program) tryHere(ctx context.Context, folders config.Folders, request any) ([]byte, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	if !p.JSON {
		fmt.Fprintln(p.Stderr, "Drawbridge is not running: this command starts the server itself.")
	}
	return p.TryServer(ctx, ServeOptions{Folders: folders, Sources: config.SourcesFor("", folders, p.Getenv)}, body)
}

func (p *program) printTrial(t *supervisor.TestResult, schemas bool) error {
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
			if len(t.Log) == 1 && strings.HasSuffix(t.Error, l) {
				break
			}
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
