package cli

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/api"

	"github.com/spf13/cobra"
)

// install installs a server of the marketplace, or a bundle.
func (p *program) install() *cobra.Command {
	var name string
	var option int
	var values []string
	var yes bool
	cmd := &cobra.Command{
		Use: "install NAME | FILE.mcpb", Short: "Install a server from the directory, or a bundle", Args: argCount(1, 1),
		Long:    "Install a server from the directory or from a bundle. The new entry is shown first. Installing adds it to the configuration; the server then starts like any other.",
		Example: "  drawbridge install io.github.modelcontextprotocol/server-filesystem --set arg.0=/home/me/notes",
		RunE: func(cmd *cobra.Command, args []string) error {
			body := map[string]any{"label": name}
			if strings.HasSuffix(args[0], ".mcpb") || strings.HasSuffix(args[0], ".dxt") {
				path, err := filepath.Abs(args[0])
				if err != nil {
					return err
				}
				body["bundle"] = path
			} else {
				body["name"], body["option"] = args[0], option
			}
			given := map[string]string{}
			for _, v := range values {
				key, value, ok := strings.Cut(v, "=")
				if !ok {
					return usageError{fmt.Errorf("--set requires KEY=VALUE, not %q", v)}
				}
				given[key] = value
			}
			body["values"] = given
			d, err := p.daemon()
			if err != nil {
				return err
			}
			raw, err := d.requestRaw(cmd.Context(), http.MethodPost, "directory/plan", nil, body)
			if err != nil {
				return err
			}
			var plan api.Installation
			if err := decode(raw, &plan); err != nil {
				return err
			}
			if plan.Entry == "" {
				return fmt.Errorf("%s requires %s: set it with --set KEY=VALUE", escapeLine(args[0]), escapeLine(strings.Join(plan.Missing, ", ")))
			}
			if !yes {
				if p.json {
					return p.printRaw(raw)
				}
				fmt.Fprintf(p.Stdout, "%s would be added to the configuration:\n%s\n", escapeLine(plan.Label), plan.Entry)
				if len(plan.Secrets) > 0 {
					fmt.Fprintf(p.Stdout, "Secrets that would be stored: %s\n", escapeLine(strings.Join(plan.Secrets, ", ")))
				}
				if err := p.confirm(yes, "Install it?"); err != nil {
					return err
				}
			}
			body["entry"] = plan.Entry
			return p.requestChange(cmd.Context(), http.MethodPost, "directory/install", body, escapeLine(plan.Label)+" is installed.")
		},
	}
	f := cmd.Flags()
	f.StringVar(&name, "name", "", "the `NAME` of the new server")
	f.IntVar(&option, "option", 0, "the index (`NUMBER`) of the package or URL to use, starting at 0")
	f.StringArrayVar(&values, "set", nil, "configure the package with `KEY=VALUE`; may be repeated")
	f.BoolVar(&yes, "yes", false, "do not ask for confirmation")
	return cmd
}
