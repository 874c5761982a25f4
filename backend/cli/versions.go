package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/drawbridge-mcp/drawbridge/backend/api"

	"github.com/spf13/cobra"
)

type versionOrder struct {
	Action  string `json:"action"`
	Version string `json:"version,omitempty"`
	Key     string `json:"key,omitempty"`
}

// versionSources describes the sources of versions.
var versionSources = map[string]string{
	"configuration": "configuration", "process": "running process", "cache": "newest in the cache", "server": "reported by the server",
	"container": "running container", "image": "resolved locally",
}

func (p *program) versions() *cobra.Command {
	cmd := &cobra.Command{
		Use: "versions", Short: "Show the package versions that servers run; pin, update and roll back", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var list api.List[api.ServerVersion]
			if done, err := p.fetch(cmd.Context(), http.MethodGet, "versions", nil, nil, &list); done || err != nil {
				return err
			}
			t := table{title: plural(len(list.Items), "package"), head: []string{"Server", "By", "Package", "Version", "Source", "Pinned", "Before"}}
			for _, v := range list.Items {
				pinned, before := "no", ""
				if v.Pinned {
					pinned = "yes"
				}
				if len(v.Earlier) > 0 {
					before = v.Earlier[0].Configured
				}
				t.add(v.Server, v.Launcher, v.Package, truncate(v.Version, 24), versionSources[v.Source], pinned, before)
			}
			return t.print(p.Stdout, p.Terminal())
		},
	}
	cmd.AddCommand(
		p.versionAct("check", "Ask the registry for the newest version"),
		p.versionAct("pin", "Write the running version to the configuration"),
		p.versionAct("rollback", "Restore the previous version in the configuration"),
		p.versionUpdate(),
	)
	return cmd
}

func (p *program) versionAct(word, short string) *cobra.Command {
	return &cobra.Command{
		Use: word + " SERVER", Short: short, Args: argCount(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var v api.VersionPlan
			if done, err := p.fetch(cmd.Context(), http.MethodPost, versionPath(args[0]), nil, versionOrder{Action: word}, &v); done || err != nil {
				return err
			}
			if word == "check" {
				_, err := fmt.Fprintln(p.Stdout, escapeLine(fmt.Sprintf("%s: latest version of %s: %s; running: %s (%s)", v.Server, v.Package, v.Latest, v.Version, versionSources[v.Source])))
				return err
			}
			p.printVersionChange(&v)
			return nil
		},
	}
}

func versionPath(server string) string { return "servers/" + url.PathEscape(server) + "/version" }

func (p *program) printVersionChange(v *api.VersionPlan) {
	fmt.Fprintln(p.Stdout, "- "+escapeLine(v.From))
	fmt.Fprintln(p.Stdout, "+ "+escapeLine(v.To))
}

func (p *program) versionUpdate() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "update SERVER [VERSION]", Short: "Start another version beside the running server and show how its tools differ; save it with --yes", Args: argCount(1, 2),
		Long: "Start another version alongside the running server, and show how its tools differ from the trusted ones. Nothing is changed without --yes. Without VERSION, the newest version in the registry is used.",
		RunE: func(cmd *cobra.Command, args []string) error { return p.updateVersion(cmd.Context(), args, yes) },
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "write the version to the configuration, and accept its tools as shown")
	return cmd
}

func (p *program) updateVersion(ctx context.Context, args []string, yes bool) error {
	order := versionOrder{Action: "plan"}
	if len(args) == 2 {
		order.Version = args[1]
	}
	d, err := p.daemon()
	if err != nil {
		return err
	}
	data, err := d.requestRaw(ctx, http.MethodPost, versionPath(args[0]), nil, order)
	if err != nil {
		return err
	}
	var v api.VersionPlan
	if err := decode(data, &v); err != nil {
		return err
	}
	if yes && v.Key != "" {
		changes := v.Changes
		if data, err = d.requestRaw(ctx, http.MethodPost, versionPath(args[0]), nil, versionOrder{Action: "apply", Key: v.Key}); err != nil {
			return err
		}
		if err := decode(data, &v); err != nil {
			return err
		}
		v.Changes = changes
	}
	if p.json {
		return p.document(json.RawMessage(data))
	}
	if v.Key == "" && !v.Applied {
		_, err := fmt.Fprintln(p.Stdout, escapeLine(v.Server+": "+v.Configured+" is already in use"))
		return err
	}
	p.printVersionChange(&v)
	if len(v.Changes) == 0 {
		fmt.Fprintln(p.Stdout, "Its tools are the same.")
	} else if err := p.printToolChanges(v.Changes); err != nil {
		return err
	}
	switch {
	case v.Applied:
		fmt.Fprintln(p.Stdout, "Saved. To undo: drawbridge versions rollback "+escapeLine(v.Server))
	case yes:
		return errors.New("cannot apply the update: the daemon did not confirm it")
	default:
		fmt.Fprintln(p.Stdout, "Nothing was changed. Save it with --yes.")
	}
	return nil
}
