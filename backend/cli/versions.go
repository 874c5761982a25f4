package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/backend/trust"

	"github.com/spf13/cobra"
)

// versionSources describes the sources of versions.
var versionSources = map[string]string{
	"configuration": "configuration", "process": "running process", "cache": "newest in the cache", "server": "reported by the server",
	"container": "running container", "image": "resolved locally",
}

func (p *program) versions() *cobra.Command {
	cmd := &cobra.Command{
		Use: "versions", Short: "Show the package versions that servers run; pin, update and roll back", Args: terminal.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t := terminal.Table{Title: "%d packages", Head: []string{"Server", "Launcher", "Package", "Version", "Source", "Pinned", "Previous"}}
			return terminal.ShowList(cmd.Context(), &p.Env, "versions", nil, t, func(v api.ServerVersion) []string {
				pinned, before := "no", ""
				if v.Pinned {
					pinned = "yes"
				}
				if len(v.Earlier) > 0 {
					before = v.Earlier[0].Configured
				}
				return []string{v.Server, v.Launcher, v.Package, terminal.Truncate(v.Version, 24), versionSources[v.Source], pinned, before}
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
		Use: word + " SERVER", Short: short, Args: terminal.ArgCount(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return terminal.Show(cmd.Context(), &p.Env, http.MethodPost, versionPath(args[0]), nil, api.ChangeVersionInputBody{Action: word}, func(v api.VersionPlan) error {
				if word == "check" {
					_, err := fmt.Fprintln(p.Stdout, terminal.EscapeLine(fmt.Sprintf("%s: latest version of %s: %s; running: %s (%s)", v.Server, v.Package, v.Latest, v.Version, versionSources[v.Source])))
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
	fmt.Fprintln(p.Stdout, "- "+terminal.EscapeLine(v.From))
	fmt.Fprintln(p.Stdout, "+ "+terminal.EscapeLine(v.To))
}

// versionUpdateOptions describe an update to another version of a server.
type versionUpdateOptions struct {
	server, version string
	yes, compare    bool
	also            []string
}

func (p *program) versionUpdate() *cobra.Command {
	var o versionUpdateOptions
	cmd := &cobra.Command{
		Use: "update SERVER [VERSION]", Short: "Compare another version of a server with the current one, and switch to it after confirmation or with --yes", Args: terminal.ArgCount(1, 2),
		Long: "Start another version alongside the running server, and show how its tools differ from the trusted ones. Without VERSION, the newest version in the registry is used.\n\n" +
			"Then compare the instructions, capabilities, prompts and resources of both versions, send the same calls to both, and show how the results differ. The calls come from the saved checks and from the newest recorded calls to read-only tools, prompts and resources; calls with the same arguments are sent only once. " +
			"Values that differ between two runs of the current version, such as times, are not compared. Calls whose outcome varies between runs of the current version are not compared either. " +
			"Tools that are not marked read-only are not called, unless they are named with --also. The calls are not recorded.\n\n" +
			"In a terminal, the command asks whether to update. Otherwise, nothing is changed without --yes. With --yes, no calls are sent and the version is saved, unless --compare is also set. " +
			"With --yes --compare, calls are sent, and the version is saved only if nothing but tool definitions differs, no call failed, " +
			"and the results of at least half of the calls that were sent could be compared; otherwise the exit code is 1.",
		Example: "  drawbridge versions update files\n  drawbridge versions update files 2.1.0 --also run_query\n  drawbridge versions update files --yes --compare",
		RunE: func(cmd *cobra.Command, args []string) error {
			o.server = args[0]
			if len(args) == 2 {
				o.version = args[1]
			}
			if o.yes && !cmd.Flags().Changed("compare") {
				o.compare = false
			}
			return p.updateVersion(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.yes, "yes", false, "write the version to the configuration, and accept its tools as shown")
	f.BoolVar(&o.compare, "compare", true, "send recorded calls and checks to both versions, and compare the results")
	f.StringArrayVar(&o.also, "also", nil, "also send calls to this `TOOL`, which may have side effects; may be repeated")
	return cmd
}

func (p *program) updateVersion(ctx context.Context, o versionUpdateOptions) error {
	d, err := p.Daemon()
	if err != nil {
		return err
	}
	var v api.VersionPlan
	change := func(order api.ChangeVersionInputBody) (data []byte, err error) {
		if data, err = d.RequestRaw(ctx, http.MethodPost, versionPath(o.server), nil, order); err == nil {
			err = terminal.Decode(data, &v)
		}
		return data, err
	}
	data, err := change(api.ChangeVersionInputBody{Action: "plan", Version: o.version})
	if err != nil {
		return err
	}
	if v.Key == "" {
		if p.JSON {
			return p.PrintJSON(json.RawMessage(data))
		}
		_, err := fmt.Fprintln(p.Stdout, terminal.EscapeLine(v.Server+": "+v.Configured+" is already in use"))
		return err
	}
	if !p.JSON {
		p.printVersionChange(&v)
		if len(v.Changes) == 0 {
			fmt.Fprintln(p.Stdout, "Its tools are the same.")
		} else if err := trust.PrintChanges(&p.Env, v.Changes); err != nil {
			return err
		}
	}
	if o.compare {
		stop := p.showComparison(ctx, d, o.server)
		data, err = change(api.ChangeVersionInputBody{Action: "compare", Key: v.Key, Also: o.also})
		if stop(); err != nil {
			return err
		}
		if !p.JSON {
			if err := p.printComparison(v.Comparison); err != nil {
				return err
			}
		}
		if why := reasonNotToUpdate(v.Comparison); o.yes && why != "" {
			if p.JSON {
				err = p.PrintJSON(json.RawMessage(data))
			}
			return errors.Join(err, fmt.Errorf("not updated: %s; without --compare, the version is saved regardless", why))
		}
	}
	if !o.yes && !p.JSON && p.Attended() {
		if err := p.ConfirmOrFail("Update?", "nothing was changed"); err != nil {
			return err
		}
		o.yes = true
	}
	if !o.yes {
		if p.JSON {
			return p.PrintJSON(json.RawMessage(data))
		}
		_, err := fmt.Fprintln(p.Stdout, "Nothing was changed. Save the version with --yes.")
		return err
	}
	if data, err = change(api.ChangeVersionInputBody{Action: "apply", Key: v.Key}); err != nil {
		return err
	}
	switch {
	case p.JSON:
		return p.PrintJSON(json.RawMessage(data))
	case !v.Applied:
		return errors.New("cannot apply the update: the daemon did not confirm it")
	}
	_, err = fmt.Fprintln(p.Stdout, "Saved. To undo: drawbridge versions rollback "+terminal.EscapeLine(v.Server))
	return err
}

// reasonNotToUpdate returns why a comparison does not show that the results are the same, or "".
func reasonNotToUpdate(r *history.ComparisonReport) string {
	switch {
	case r != nil && r.Different+r.Failed > 0:
		return "some results differ, or some calls failed"
	case r == nil || !r.Enough:
		return "too few results could be compared (none, or fewer than half of the calls that were sent)"
	}
	return ""
}

// showComparison shows in a terminal how far the comparison of a server is, until stop is called.
func (p *program) showComparison(ctx context.Context, d *terminal.Daemon, server string) (stop func()) {
	if p.JSON || !p.Attended() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for shown := ""; ; {
			select {
			case <-ctx.Done():
				if shown != "" {
					fmt.Fprintln(p.Stderr)
				}
				return
			case <-tick.C:
			}
			v, err := terminal.Get[api.ServerVersion](ctx, d, versionPath(server), nil)
			if r := v.Comparing; err == nil && r != nil && r.Total > 0 {
				if text := fmt.Sprintf("Comparing: %d of %s", r.Finished, core.Plural(r.Total, "call")); text != shown {
					fmt.Fprint(p.Stderr, "\r"+text)
					shown = text
				}
			}
		}
	})
	return func() {
		cancel()
		done.Wait()
	}
}

// printComparison prints a table of the compared calls, the differences, and a summary.
func (p *program) printComparison(r *history.ComparisonReport) error {
	if r == nil || len(r.Calls) == 0 {
		_, err := fmt.Fprintln(p.Stdout, "There is nothing to compare.")
		return err
	}
	t := terminal.Table{Title: core.Plural(len(r.Calls), "comparison"), Head: []string{"Result", "Request", "Arguments", "Current", "New", "Check"}, Right: []bool{3: true, 4: true}}
	took := func(ns int64) string {
		if ns == 0 {
			return ""
		}
		return time.Duration(ns).Round(time.Millisecond).String()
	}
	for i := range r.Calls {
		c := &r.Calls[i]
		t.Add(shownResult(c.Result), terminal.Truncate(comparedName(c), 60), terminal.Truncate(c.Arguments, 40), took(c.OldNs), took(c.NewNs), c.Check)
	}
	if err := p.PrintTable(&t); err != nil {
		return err
	}
	for i := range r.Calls {
		c := &r.Calls[i]
		if c.Result == history.Alike && c.Reason == "" && len(c.Unstable) == 0 {
			continue
		}
		fmt.Fprintln(p.Stdout, terminal.EscapeLine(strings.TrimSpace(comparedName(c)+" "+terminal.Truncate(c.Arguments, 200))+": "+shownResult(c.Result)))
		if reason := c.Reason; reason != "" {
			if strings.HasPrefix(reason, "may have side effects") {
				reason += "; call it with --also " + c.Tool
			}
			fmt.Fprintln(p.Stdout, "    "+terminal.EscapeLine(reason))
		}
		for _, change := range c.Changes {
			fmt.Fprintln(p.Stdout, "    "+terminal.EscapeLine(change.Path)+" "+change.Kind)
			if change.Before != "" {
				fmt.Fprintln(p.Stdout, "      - "+terminal.EscapeLine(change.Before))
			}
			if change.After != "" {
				fmt.Fprintln(p.Stdout, "      + "+terminal.EscapeLine(change.After))
			}
		}
		if c.More > 0 {
			fmt.Fprintf(p.Stdout, "    and %d more\n", c.More)
		}
		if len(c.Unstable) > 0 {
			fmt.Fprintln(p.Stdout, "    not compared (differs between runs of the current version): "+terminal.EscapeLine(strings.Join(c.Unstable, ", ")))
		}
	}
	_, err := fmt.Fprintf(p.Stdout, "%d same, %d different, %d failed, %d slower, %d skipped\n", r.Alike, r.Different, r.Failed, r.Slower, r.Skipped)
	if err == nil && !r.Enough {
		_, err = fmt.Fprintln(p.Stdout, "Too few results could be compared to tell whether both versions behave the same.")
	}
	return err
}

// shownResult returns the word for the result of a comparison.
func shownResult(result string) string {
	if result == history.Alike {
		return "same"
	}
	return result
}

// comparedName names what was compared.
func comparedName(c *history.ComparedCall) string {
	switch {
	case c.Prompt != "":
		return "prompt " + c.Prompt
	case c.Resource != "":
		return "resource " + c.Resource
	case c.Definitions != "":
		return map[string]string{"server": "instructions and capabilities", "prompts": "list of prompts", "resources": "list of resources", "resourceTemplates": "list of resource templates"}[c.Definitions]
	}
	return c.Tool
}
