package cli

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/api"

	"github.com/spf13/cobra"
)

// directory lists installable servers.
func (p *program) directory() *cobra.Command {
	cmd := &cobra.Command{
		Use: "directory [WORDS...]", Short: "List servers that can be installed", Args: argCount(0, 20),
		RunE: func(cmd *cobra.Command, args []string) error {
			query := url.Values{"search": {strings.Join(args, " ")}}
			return show(cmd.Context(), p, http.MethodGet, "directory", query, nil, p.printDirectory)
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use: "refresh", Short: "Update the list from the registry", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.requestChange(cmd.Context(), http.MethodPost, "directory/refresh", nil, "The list was updated.")
		},
	})
	return cmd
}

func (p *program) printDirectory(list api.Directory) error {
	for _, one := range list.Items {
		text := one.Name + "  " + one.Description
		if one.Refused != "" {
			text = one.Name + "  cannot be installed: " + one.Refused
		}
		if _, err := fmt.Fprintln(p.Stdout, escapeLine(text)); err != nil {
			return err
		}
	}
	return nil
}
