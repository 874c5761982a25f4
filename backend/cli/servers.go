package cli

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/spf13/cobra"
)

// serverEntry is a server in the form of the configuration.
type serverEntry struct {
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	URL     string   `json:"url,omitempty"`
}

func (p *program) remove() *cobra.Command {
	return &cobra.Command{
		Use: "remove SERVER", Short: "Remove a server from the configuration; its calls stay in the history", Args: argCount(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := p.daemon()
			if err != nil {
				return err
			}
			if _, err := d.requestRaw(cmd.Context(), http.MethodDelete, "servers/"+url.PathEscape(args[0]), nil, nil); err != nil {
				return err
			}
			if p.json {
				return p.document(struct {
					Removed string `json:"removed"`
				}{args[0]})
			}
			_, err = fmt.Fprintln(p.Stdout, escapeLine(args[0]+": removed"))
			return err
		},
	}
}

func (p *program) rename() *cobra.Command {
	return &cobra.Command{
		Use: "rename SERVER NAME", Short: "Rename a server; its history is kept", Args: argCount(2, 2),
		Long: `Rename a server; its history is kept.

The server is restarted under the new name. Profiles, saved checks, recorded calls and trusted tools are kept.
The public names of its tools change, so rules in a client's own settings that name them must be updated.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var s core.ServerStatus
			body := struct {
				Name string `json:"name"`
			}{args[1]}
			if done, err := p.fetch(cmd.Context(), http.MethodPost, "servers/"+url.PathEscape(args[0])+"/rename", nil, body, &s); done || err != nil {
				return err
			}
			_, err := fmt.Fprintln(p.Stdout, escapeLine(args[0]+": is now "+displayName(s)))
			return err
		},
	}
}
