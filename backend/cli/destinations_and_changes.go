package cli

import (
	"fmt"
	"net/http"
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
			return show(cmd.Context(), p, http.MethodGet, serverPath(args[0], "/destinations"), nil, nil, p.printDestinations)
		},
	}
}

func (p *program) printDestinations(d api.Destinations) error {
	if !d.Available {
		fmt.Fprintln(p.Stdout, escapeLine("Not available: "+d.Reason))
	}
	t := table{title: "%d destinations", head: []string{"Host", "Port", "Protocol", "Address", "First seen", "Last seen"}}
	for _, one := range d.Items {
		t.add(one.Host, strconv.Itoa(one.Port), one.Protocol, one.Address, localTime(one.FirstAt), localTime(one.LastAt))
	}
	return p.printTable(&t)
}

func (p *program) changes() *cobra.Command {
	days := 7
	cmd := &cobra.Command{
		Use: "changes [SERVER]", Short: "Show what changed this week: versions, definitions, new tools and new destinations", Args: argCount(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			query := serverQuery(args)
			query.Set("days", strconv.Itoa(days))
			t := table{title: "%d changes", head: []string{"Time", "Server", "Kind", "Name", "Action", "Detail"}}
			return showList(cmd.Context(), p, "recent-changes", query, t, func(c api.RecentChange) []string {
				return []string{localTime(c.At), c.Server, c.Kind, c.Name, c.Action, truncate(c.Detail, 80)}
			})
		},
	}
	cmd.Flags().IntVar(&days, "days", days, "show the changes of the last `NUMBER` days, at most 90")
	return cmd
}

func localTime(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }
