package cli

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/api"

	"github.com/spf13/cobra"
)

func (p *program) destinations() *cobra.Command {
	return &cobra.Command{
		Use: "destinations SERVER", Short: "Show the hosts and ports that a server connects to", Args: argCount(1, 1),
		Long: `Show the hosts and ports that the processes of a server connect to.

Connections are sampled every few seconds (Linux), so short ones may be missing. The number of bytes is not known.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var d api.Destinations
			if done, err := p.fetch(cmd.Context(), http.MethodGet, "servers/"+url.PathEscape(args[0])+"/destinations", nil, nil, &d); done || err != nil {
				return err
			}
			if !d.Available {
				fmt.Fprintln(p.Stdout, escapeLine("Not available: "+d.Reason))
			}
			t := table{title: plural(len(d.Items), "destination"), head: []string{"Host", "Port", "Protocol", "Address", "First seen", "Last seen"}}
			for _, one := range d.Items {
				t.add(one.Host, strconv.Itoa(one.Port), one.Protocol, one.Address, localTime(one.FirstAt), localTime(one.LastAt))
			}
			return t.print(p.Stdout, p.Terminal())
		},
	}
}

func (p *program) changes() *cobra.Command {
	days := 7
	cmd := &cobra.Command{
		Use: "changes [SERVER]", Short: "Show what changed this week: versions, definitions, new tools and new destinations", Args: argCount(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			query := serverQuery(args)
			query.Set("days", strconv.Itoa(days))
			var list api.List[api.RecentChange]
			if done, err := p.fetch(cmd.Context(), http.MethodGet, "recent-changes", query, nil, &list); done || err != nil {
				return err
			}
			t := table{title: plural(len(list.Items), "change"), head: []string{"Time", "Server", "Kind", "Name", "Action", "Detail"}}
			for _, c := range list.Items {
				t.add(localTime(c.At), c.Server, c.Kind, c.Name, c.Action, truncate(c.Detail, 80))
			}
			return t.print(p.Stdout, p.Terminal())
		},
	}
	cmd.Flags().IntVar(&days, "days", days, "show the changes of the last `NUMBER` days, at most 90")
	return cmd
}

func localTime(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }
