package cli

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/drawbridge-mcp/drawbridge/backend/api"

	"github.com/spf13/cobra"
)

// versionSources describes the sources of versions.
var versionSources = map[string]string{
	"configuration": "configuration", "process": "running process", "cache": "newest in the cache", "server": "reported by the server",
	"container": "running container", "image": "resolved locally",
}

func (p *program) versions() *cobra.Command {
	cmd := &cobra.Command{
		Use: "versions", Short: "Show the package versions that servers run; pin, update and roll back", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t := table{title: "%d packages", head: []string{"Server", "Launcher", "Package", "Version", "Source", "Pinned", "Previous"}}
			return showList(cmd.Context(), p, "versions", nil, t, func(v api.ServerVersion) []string {
				pinned, before := "no", ""
				if v.Pinned {
					pinned = "yes"
				}
				if len(v.Earlier) > 0 {
					before = v.Earlier[0].Configured
				}
				return []string{v.Server, v.Launcher, v.Package, truncate(v.Version, 24), versionSources[v.Source], pinned, before}
			})
		},
	}
	cmd.AddCommand(
		p.versionActionCommand("check", "Query the registry for the newest version"),
		p.versionActionCommand("pin", "Write the running version to the configuration"),
		p.versionActionCommand("rollback", "Restore the previous version in the configuration"),
		p.versionUpdate(),
	)
	return cmd
}

func (p *program) versionActionCommand(word, short string) *cobra.Command {
	return &cobra.Command{
		Use: word + " SERVER", Short: short, Args: argCount(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return show(cmd.Context(), p, http.MethodPost, versionPath(args[0]), nil, api.ChangeVersionInputBody{Action: word}, func(v api.VersionPlan) error {
				if word == "check" {
					_, err := fmt.Fprintln(p.Stdout, escapeLine(fmt.Sprintf("%s: latest version of %s: %s; running: %s (%s)", v.Server, v.Package, v.Latest, v.Version, versionSources[v.Source])))
					return err
				}
				p.printVersionChange(&v)
				return nil
			})
		},
	}
}

func versionPath(server string) string { return "servers/" + url.PathEscape(server) + "/version" }

func (p *program) printVersionChange(v *api.VersionPlan) {
	fmt.Fprintln(p.Stdout, "- "+escapeLine(v.From))
	fmt.Fprintln(p.Stdout, "+ "+escapeLine(v.To))
}
