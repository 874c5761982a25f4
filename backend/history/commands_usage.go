package history

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/backend/web"

	"github.com/spf13/cobra"
)

func usage(e *terminal.Env) *cobra.Command {
	var client string
	var days int
	cmd := &cobra.Command{
		Use: "usage", Short: "Show what recorded sessions cost in each tool mode", Args: terminal.NoArgs,
		Long: "Show the estimated tokens of the newest sessions in each tool mode, with the tools as they are now: instructions and tool list in each turn, at most what has to be discovered, and the results. Calls without a session, of clients that speak revision 2026-07-28, are not priced.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			query := url.Values{"days": {strconv.Itoa(days)}}
			if client != "" {
				query.Set("client", client)
			}
			return terminal.Show(cmd.Context(), e, http.MethodGet, "usage/sessions", query, nil, func(list web.List[SessionCost]) error { return printSessionCosts(e, list) })
		},
	}
	cmd.Flags().StringVar(&client, "client", "", "only this `CLIENT`, by the name of its access token or application")
	cmd.Flags().IntVar(&days, "days", 30, "only sessions of the last `NUMBER` of days")
	return cmd
}

func printSessionCosts(e *terminal.Env, list web.List[SessionCost]) error {
	t := terminal.Table{Title: "Sessions", Head: []string{"First call", "Client", "Calls", "Tools", "All", "Search", "Deferred", "Results", "Now"}, Right: []bool{2: true, 3: true, 4: true, 5: true, 6: true, 7: true}, Wrap: true, Empty: "No session with tool calls has been recorded."}
	totals := map[string]int64{}
	var results int64
	for _, s := range list.Items {
		row := []string{e.Moment(s.At), cmp.Or(s.Client, s.Token, "-"), strconv.FormatInt(s.Calls, 10), strconv.Itoa(s.Tools)}
		for _, m := range s.Modes {
			totals[m.Mode] += m.Total
			row = append(row, strconv.FormatInt(m.Total, 10))
		}
		results += s.ResultTokens
		t.Add(append(row, strconv.FormatInt(s.ResultTokens, 10), s.Mode)...)
	}
	if err := e.PrintTable(&t); err != nil || len(list.Items) == 0 {
		return err
	}
	_, err := fmt.Fprintf(e.Stdout, "%s, in estimated tokens: all %d, search %d, deferred %d, of which results %d.\n", core.Plural(len(list.Items), "session"), totals["all"], totals["search"], totals["deferred"], results)
	return err
}
