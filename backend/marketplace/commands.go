package marketplace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/backend/trust"

	"github.com/spf13/cobra"
)

var versionSources = map[string]string{
	"configuration": "configuration", "process": "running process", "cache": "newest in the cache", "server": "reported by the server",
	"container": "running container", "image": "resolved locally",
}

// Commands adds the commands about the versions of servers.
func Commands(e *terminal.Env, root *cobra.Command) {
	root.AddCommand(versions(e))
}

func versions(e *terminal.Env) *cobra.Command {
	var check string
	cmd := &cobra.Command{
		Use: "versions", Short: "Show the package versions that servers run, and update them", Args: terminal.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if check != "" {
				return changeVersion(cmd.Context(), e, check, "check")
			}
			t := terminal.Table{Title: "%d packages", Head: []string{"Server", "Version", "Pinned", "Previous", "Source", "Package"}, Keep: []bool{0: true, 1: true, 2: true}, Wrap: true}
			return terminal.ShowList(cmd.Context(), e, "versions", nil, t, func(v ServerVersion) []string {
				pinned, before := "no", ""
				if v.Pinned {
					pinned = "yes"
				}
				if len(v.Earlier) > 0 {
					before = v.Earlier[0].Configured
				}
				return []string{v.Server, v.ShownVersion(), pinned, before, versionSources[v.Source], v.Launcher + " " + v.Package}
			})
		},
	}
	cmd.Flags().StringVar(&check, "check", "", "query the registry for the newest version of this `SERVER`")
	cmd.AddCommand(versionUpdate(e))
	return cmd
}

// ShownVersion returns the running version, and the newest one if it is known and another one.
func (v *ServerVersion) ShownVersion() string {
	text := terminal.Truncate(v.Version, 24)
	if v.Latest != "" && v.Latest != v.Version && v.Launcher == NPX {
		text += " (" + terminal.Truncate(v.Latest, 24) + " available)"
	}
	return text
}

func changeVersion(ctx context.Context, e *terminal.Env, server, action string) error {
	return terminal.Show(ctx, e, http.MethodPost, versionPath(server), nil, ChangeVersionInputBody{Action: action}, func(v VersionPlan) error {
		if action == "check" {
			_, err := fmt.Fprintln(e.Stdout, terminal.EscapeLine(fmt.Sprintf("%s: latest version of %s: %s; running: %s (%s)", v.Server, v.Package, v.Latest, v.Version, versionSources[v.Source])))
			return err
		}
		printVersionChange(e, &v)
		return nil
	})
}

func versionPath(server string) string { return "servers/" + url.PathEscape(server) + "/version" }

func printVersionChange(e *terminal.Env, v *VersionPlan) {
	fmt.Fprintln(e.Stdout, "- "+terminal.EscapeLine(v.From))
	fmt.Fprintln(e.Stdout, "+ "+terminal.EscapeLine(v.To))
}

type versionUpdateOptions struct {
	server, version string
	yes, compare    bool
	also            []string
}

func versionUpdate(e *terminal.Env) *cobra.Command {
	var o versionUpdateOptions
	var pin, rollback bool
	cmd := &cobra.Command{
		Use: "update SERVER [VERSION]", Short: "Compare another version of a server, and switch to it", Args: terminal.ArgCount(1, 2),
		Long: "Start another version, by default the newest in the registry, alongside the running server, and show how its tools differ from the trusted ones.\n\n" +
			"Then compare instructions, capabilities, prompts and resources, and send the same calls to both versions: those of the saved checks, and the newest recorded ones, each once. " +
			"Only read-only tools and those named with --also are called. What varies between two runs of the current version, such as times, is not compared. Nothing is recorded.\n\n" +
			"In a terminal, the command asks whether to update. Otherwise, nothing is changed without --yes, which saves the version without sending calls. " +
			"With --yes --compare, the version is saved only if nothing but tool definitions differs, no call failed, and at least half of the calls could be compared; otherwise the exit code is 1.",
		Example: "  drawbridge versions update files\n  drawbridge versions update files 2.1.0 --also run_query\n  drawbridge versions update files --yes --compare",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case pin && len(args) == 1:
				return changeVersion(cmd.Context(), e, args[0], "pin")
			case rollback && len(args) == 1:
				return changeVersion(cmd.Context(), e, args[0], "rollback")
			case pin || rollback:
				return terminal.UsageError(errors.New("--pin and --rollback take no VERSION"))
			}
			o.server = args[0]
			if len(args) == 2 {
				o.version = args[1]
			}
			if o.yes && !cmd.Flags().Changed("compare") {
				o.compare = false
			}
			return updateVersion(cmd.Context(), e, o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&pin, "pin", false, "only write the running version to the configuration")
	f.BoolVar(&rollback, "rollback", false, "only restore the previous version in the configuration")
	cmd.MarkFlagsMutuallyExclusive("pin", "rollback")
	f.BoolVar(&o.yes, "yes", false, "write the version to the configuration, and accept its tools as shown")
	f.BoolVar(&o.compare, "compare", true, "send recorded calls and checks to both versions, and compare the results")
	f.StringArrayVar(&o.also, "also", nil, "also send calls to this `TOOL`, which may have side effects; may be repeated")
	return cmd
}

func updateVersion(ctx context.Context, e *terminal.Env, o versionUpdateOptions) error {
	d := e.Daemon()
	var v VersionPlan
	change := func(order ChangeVersionInputBody) (data []byte, err error) {
		if data, err = d.RequestRaw(ctx, http.MethodPost, versionPath(o.server), nil, order); err == nil {
			err = terminal.Decode(data, &v)
		}
		return data, err
	}
	data, err := change(ChangeVersionInputBody{Action: "plan", Version: o.version})
	if err != nil {
		return err
	}
	if v.Key == "" {
		if e.JSON {
			return e.PrintJSON(json.RawMessage(data))
		}
		_, err := fmt.Fprintln(e.Stdout, terminal.EscapeLine(v.Server+": "+v.Configured+" is already in use"))
		return err
	}
	if !e.JSON {
		printVersionChange(e, &v)
		if len(v.Changes) == 0 {
			fmt.Fprintln(e.Stdout, "Its tools are the same.")
		} else if err := trust.PrintChanges(e, v.Changes); err != nil {
			return err
		}
		if v.Tokens != v.TokensThen {
			fmt.Fprintf(e.Stdout, "Context of its tools: about %d tokens before, %d after\n", v.Tokens, v.TokensThen)
		}
	}
	if o.compare {
		if !e.JSON && e.Attended() {
			fmt.Fprintln(e.Stderr, "Comparing, for at most 5 minutes.")
		}
		if data, err = change(ChangeVersionInputBody{Action: "compare", Key: v.Key, Also: o.also}); err != nil {
			return err
		}
		if !e.JSON {
			if err := printComparison(e, v.Comparison); err != nil {
				return err
			}
		}
		if why := reasonNotToUpdate(v.Comparison); o.yes && why != "" {
			if e.JSON {
				err = e.PrintJSON(json.RawMessage(data))
			}
			return errors.Join(err, fmt.Errorf("not updated: %s; without --compare, the version is saved regardless", why))
		}
	}
	if !o.yes && !e.JSON && e.Attended() {
		if err := e.ConfirmOrFail("Update?", "nothing was changed"); err != nil {
			return err
		}
		o.yes = true
	}
	if !o.yes {
		if e.JSON {
			return e.PrintJSON(json.RawMessage(data))
		}
		_, err := fmt.Fprintln(e.Stdout, "Nothing was changed. Save the version with --yes.")
		return err
	}
	if data, err = change(ChangeVersionInputBody{Action: "apply", Key: v.Key}); err != nil {
		return err
	}
	switch {
	case e.JSON:
		return e.PrintJSON(json.RawMessage(data))
	case !v.Applied:
		return errors.New("cannot apply the update: the daemon did not confirm it")
	}
	_, err = fmt.Fprintln(e.Stdout, "Saved. To undo: drawbridge versions update --rollback "+terminal.EscapeLine(v.Server))
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

// printComparison prints a table of the compared calls, the differences, and a summary.
func printComparison(e *terminal.Env, r *history.ComparisonReport) error {
	if r == nil || len(r.Calls) == 0 {
		_, err := fmt.Fprintln(e.Stdout, "There is nothing to compare.")
		return err
	}
	t := terminal.Table{Title: core.Plural(len(r.Calls), "comparison"), Head: []string{"Result", "Request", "Arguments", "Check"}, Keep: []bool{true}}
	for i := range r.Calls {
		c := &r.Calls[i]
		t.Add(shownResult(c.Result), terminal.Truncate(comparedName(c), 60), terminal.Truncate(c.Arguments, 40), c.Check)
	}
	if err := e.PrintTable(&t); err != nil {
		return err
	}
	for i := range r.Calls {
		c := &r.Calls[i]
		if c.Result == history.Alike && c.Reason == "" && len(c.Unstable) == 0 {
			continue
		}
		fmt.Fprintln(e.Stdout, terminal.EscapeLine(strings.TrimSpace(comparedName(c)+" "+terminal.Truncate(c.Arguments, 200))+": "+shownResult(c.Result)))
		if reason := c.Reason; reason != "" {
			if strings.HasPrefix(reason, "may have side effects") {
				reason += "; call it with --also " + c.Tool
			}
			fmt.Fprintln(e.Stdout, "    "+terminal.EscapeLine(reason))
		}
		for _, change := range c.Changes {
			fmt.Fprintln(e.Stdout, "    "+terminal.EscapeLine(change.Path)+" "+change.Kind)
			if change.Before != "" {
				fmt.Fprintln(e.Stdout, "      - "+terminal.EscapeLine(change.Before))
			}
			if change.After != "" {
				fmt.Fprintln(e.Stdout, "      + "+terminal.EscapeLine(change.After))
			}
		}
		if c.More > 0 {
			fmt.Fprintf(e.Stdout, "    and %d more\n", c.More)
		}
		if len(c.Unstable) > 0 {
			fmt.Fprintln(e.Stdout, "    not compared (differs between runs of the current version): "+terminal.EscapeLine(strings.Join(c.Unstable, ", ")))
		}
	}
	_, err := fmt.Fprintf(e.Stdout, "%d same, %d different, %d failed, %d skipped\n", r.Alike, r.Different, r.Failed, r.Skipped)
	if err == nil && !r.Enough {
		_, err = fmt.Fprintln(e.Stdout, "Too few results could be compared to tell whether both versions behave the same.")
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

// AddFromDirectory adds the flags of the directory to the command add. What it returns searches the
// directory, or installs the entry or the bundle that the only argument names.
func AddFromDirectory(e *terminal.Env, cmd *cobra.Command) func(ctx context.Context, words []string, named bool) (handled bool, added string, err error) {
	var o installOptions
	var search, refresh bool
	f := cmd.Flags()
	f.BoolVar(&search, "search", false, "list the servers in the directory that match the arguments")
	f.BoolVar(&refresh, "refresh", false, "update the directory from the registry")
	f.StringVar(&o.name, "name", "", "the `NAME` of the server from the directory")
	f.IntVar(&o.option, "option", 0, "the index (`NUMBER`) of the package or URL in the directory to use, starting at 0")
	f.StringArrayVar(&o.values, "set", nil, "configure the package from the directory with `KEY=VALUE`; may be repeated")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	return func(ctx context.Context, words []string, named bool) (bool, string, error) {
		switch {
		case refresh:
			return true, "", e.RequestChange(ctx, http.MethodPost, "directory/refresh", nil, "The list was updated.")
		case search:
			query := url.Values{"search": {strings.Join(words, " ")}}
			return true, "", terminal.Show(ctx, e, http.MethodGet, "directory", query, nil, func(list Directory) error { return printDirectory(e, list) })
		case named:
			added, err := install(ctx, e, words[0], o)
			return true, added, err
		}
		return false, "", nil
	}
}

type installOptions struct {
	name   string
	option int
	values []string
	yes    bool
}

// install installs an entry of the directory or a bundle. The new entry is shown first. It returns its name, or ""
// if only the entry was printed.
func install(ctx context.Context, e *terminal.Env, source string, o installOptions) (added string, err error) {
	body := map[string]any{"label": o.name}
	if strings.HasSuffix(source, ".mcpb") || strings.HasSuffix(source, ".dxt") {
		path, err := filepath.Abs(source)
		if err != nil {
			return "", err
		}
		body["bundle"] = path
	} else {
		body["name"], body["option"] = source, o.option
	}
	given := map[string]string{}
	for _, v := range o.values {
		key, value, ok := strings.Cut(v, "=")
		if !ok {
			return "", terminal.UsageError(fmt.Errorf("--set requires KEY=VALUE, not %q", v))
		}
		given[key] = value
	}
	body["values"] = given
	d := e.Daemon()
	raw, err := d.RequestRaw(ctx, http.MethodPost, "directory/plan", nil, body)
	if err != nil {
		return "", err
	}
	var plan Installation
	if err := terminal.Decode(raw, &plan); err != nil {
		return "", err
	}
	if plan.Entry == "" {
		return "", fmt.Errorf("%s requires %s: set it with --set KEY=VALUE", terminal.EscapeLine(source), terminal.EscapeLine(strings.Join(plan.Missing, ", ")))
	}
	if !o.yes {
		if e.JSON {
			return "", e.PrintRaw(raw)
		}
		fmt.Fprintf(e.Stdout, "%s would be added to the configuration:\n%s\n", terminal.EscapeLine(plan.Label), plan.Entry)
		if len(plan.Secrets) > 0 {
			fmt.Fprintf(e.Stdout, "Secrets that would be stored: %s\n", terminal.EscapeLine(strings.Join(plan.Secrets, ", ")))
		}
		if err := e.Confirm(o.yes, "Install it?"); err != nil {
			return "", err
		}
	}
	body["entry"] = plan.Entry
	return plan.Label, e.RequestChange(ctx, http.MethodPost, "directory/install", body, terminal.EscapeLine(plan.Label)+" is installed.")
}

func printDirectory(e *terminal.Env, list Directory) error {
	t := terminal.Table{Title: "%d servers", Head: []string{"Name", "Description"}, Keep: []bool{true}, Wrap: true, Empty: "No server matches."}
	for _, one := range list.Items {
		about := one.Description
		if one.Refused != "" {
			about = "cannot be installed: " + one.Refused
		}
		t.Add(one.Name, about)
	}
	return e.PrintTable(&t)
}
