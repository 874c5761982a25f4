package cli

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/spf13/cobra"
)

func (p *program) checkSave() *cobra.Command {
	var calls recordedCallFilter
	var exact bool
	cmd := &cobra.Command{
		Use: "save NAME", Short: "Save the recorded tool calls of a session, a tag or a time range as a check", Args: argCount(1, 1),
		Long: "Save the recorded tool calls of a session, a tag or a time range as a new check. Each call must end as recorded: successfully or with an error of the same kind. With --exact, it must also return the recorded result.\n\n" +
			"Calls whose arguments were redacted or truncated, or are not a JSON object, are left out.",
		Example: "  drawbridge check save checkout --session ID\n  drawbridge check save checkout --from 10m --exact\n  drawbridge check run checkout --junit results.xml",
		RunE: func(cmd *cobra.Command, args []string) error {
			if calls == (recordedCallFilter{}) {
				return usageError{errors.New("select the calls with --session, --tag, --from or --to")}
			}
			filter := callFilter{session: calls.session, tag: calls.tag, from: calls.from, to: calls.to}
			query, err := p.query(cmd.Context(), filter)
			if err != nil {
				return err
			}
			order := map[string]any{"exact": exact}
			for key := range query {
				order[key] = query.Get(key)
			}
			return show(cmd.Context(), p, http.MethodPost, "checks/"+url.PathEscape(args[0]), nil, order, func(c api.CheckOfCalls) error {
				text := core.Plural(len(c.Steps), "step") + " saved"
				if c.Skipped > 0 {
					text += fmt.Sprintf("; %s left out: redacted, truncated or invalid arguments, or no response", core.Plural(c.Skipped, "call"))
				}
				if len(c.NotObjects) > 0 {
					text += "\nCalls whose arguments are not a JSON object: " + strings.Join(c.NotObjects, ", ")
				}
				_, err := fmt.Fprintln(p.Stdout, text)
				return err
			})
		},
	}
	calls.flags(cmd.Flags())
	cmd.Flags().BoolVar(&exact, "exact", false, "expect the recorded results, not only the outcomes")
	return cmd
}
