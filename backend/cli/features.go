package cli

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
)

// featuresDocument holds the used fields of GET features.
type featuresDocument struct {
	Token   string `json:"token"`
	Name    string `json:"name"`
	Era     string `json:"era"`
	Servers []struct {
		Server   string `json:"server"`
		Known    bool   `json:"known"`
		Features []struct {
			Name string `json:"name"`
			How  string `json:"how"`
		} `json:"features"`
	} `json:"servers"`
}

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
			var list items[featuresDocument]
			if done, err := p.fetch(cmd.Context(), http.MethodGet, "features", query, nil, &list); done || err != nil {
				return err
			}
			t := table{title: "Features", head: []string{"Client", "Era", "Server", "Client lacks", "Server lacks", "Drawbridge asks you"}}
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
						if len(lacks[how]) == 0 {
							return "-"
						}
						return strings.Join(lacks[how], ", ")
					}
					name := c.Name
					if name == "" {
						name = c.Token
					}
					t.add(name, c.Era, s.Server, cell("not client"), cell("not server"), cell("by person"))
				}
			}
			return t.print(p.Stdout, p.Terminal())
		},
	}
	cmd.Flags().StringVar(&client, "client", "", "only this `CLIENT`, by the name of its token or application")
	cmd.Flags().StringVar(&server, "server", "", "only this `SERVER`")
	return cmd
}
