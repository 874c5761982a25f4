package cli

import (
	"context"
	"fmt"
	"net/http"

	"github.com/drawbridge-mcp/drawbridge/backend/api"

	"github.com/spf13/cobra"
)

// serverEntry is a server in the form of the configuration.
type serverEntry struct {
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	URL     string   `json:"url,omitempty"`
}

func (p *program) remove() *cobra.Command {
	cmd := &cobra.Command{
		Use: "remove SERVER", Short: "Remove a server from the configuration; its calls stay in the history", Args: argCount(1, 1),
		RunE: p.onDaemon(func(ctx context.Context, d *daemon, args []string) error {
			if err := d.change(ctx, http.MethodDelete, serverPath(args[0], ""), nil); err != nil {
				return err
			}
			return p.printSentence(map[string]string{"removed": args[0]}, escapeLine(args[0]+": removed"))
		}),
	}
	cmd.Flags().BoolP("yes", "y", false, "accepted as in other commands: remove never asks for confirmation")
	return cmd
}

func (p *program) rename() *cobra.Command {
	return &cobra.Command{
		Use: "rename SERVER NAME", Short: "Rename a server; its history is kept", Args: argCount(2, 2),
		Long: `Rename a server; its history is kept.

The server is restarted under the new name. Profiles, argument rules, saved checks, recorded calls and trusted
tools are kept. Rules that refer to it by a pattern that cannot be changed are listed as warnings.
The public names of its tools change, so rules in a client's own settings that name them must be updated.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			body := map[string]string{"name": args[1]}
			return show(cmd.Context(), p, http.MethodPost, serverPath(args[0], "/rename"), nil, body, func(s api.RenamedServer) error {
				for _, w := range s.Warnings {
					fmt.Fprintln(p.Stderr, escapeLine("Warning: "+w))
				}
				_, err := fmt.Fprintln(p.Stdout, escapeLine(args[0]+": renamed to "+displayName(s.ServerStatus)))
				return err
			})
		},
	}
}
