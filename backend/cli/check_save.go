package cli

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/drawbridge-mcp/drawbridge/backend/api"

	"github.com/spf13/cobra"
)

func (p *program) checkSave() *cobra.Command {
	var order struct {
		Session string `json:"session"`
		Exact   bool   `json:"exact,omitempty"`
	}
	cmd := &cobra.Command{
		Use: "save NAME --session ID", Short: "Save the tool calls of a session as a check", Args: argCount(1, 1),
		Long: "Save the tool calls of a recorded session as a new check. Each call must end as recorded: successfully or with an error of the same kind. With --exact, it must also return the recorded result.\n\n" +
			"Calls whose arguments were redacted or truncated are left out.",
		Example: "  drawbridge check save checkout --session 3f2a\n  drawbridge check run checkout --junit results.xml",
		RunE: func(cmd *cobra.Command, args []string) error {
			return show(cmd.Context(), p, http.MethodPost, "checks/"+url.PathEscape(args[0]), nil, order, func(c api.SessionCheck) error {
				text := fmt.Sprintf("%s saved", plural(len(c.Steps), "step"))
				if c.Skipped > 0 {
					text += fmt.Sprintf("; %s left out: redacted or truncated arguments, or no response", plural(c.Skipped, "call"))
				}
				_, err := fmt.Fprintln(p.Stdout, text)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&order.Session, "session", "", "the `ID` of the session, which \"drawbridge history --json\" shows")
	cmd.Flags().BoolVar(&order.Exact, "exact", false, "expect the recorded results, not only the outcomes")
	_ = cmd.MarkFlagRequired("session")
	return cmd
}
