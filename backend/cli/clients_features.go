package cli

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/api"

	"github.com/spf13/cobra"
)

func (p *program) clientsFeatures() *cobra.Command {
	query := url.Values{}
	var client, server string
	cmd := &cobra.Command{
		Use: "features", Short: "Show which MCP features work between each connected client and server", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if client != "" {
				query.Set("client", client)
			}
			if server != "" {
				query.Set("server", server)
			}
			return show(cmd.Context(), p, http.MethodGet, "features", query, nil, p.printFeatures)
		},
	}
	cmd.Flags().StringVar(&client, "client", "", "only this `CLIENT`, by the name of its token or application")
	cmd.Flags().StringVar(&server, "server", "", "only this `SERVER`")
	return cmd
}

func (p *program) printFeatures(list api.List[api.ClientFeatures]) error {
	t := table{title: "Features", head: []string{"Client", "Era", "Server", "Not supported by client", "Not offered by server", "With your approval"}}
	for _, c := range list.Items {
		for _, s := range c.Servers {
			lacks := map[string][]string{}
			for _, f := range s.Features {
				lacks[f.How] = append(lacks[f.How], f.Name)
			}
			cell := func(how string) string {
				if !s.Known {
					return "not known yet"
				}
				return cmp.Or(strings.Join(lacks[how], ", "), "-")
			}
			t.add(cmp.Or(c.Name, c.Token), string(c.Era), s.Server, cell("not client"), cell("not server"), cell("with approval"))
		}
	}
	return p.printTable(&t)
}
