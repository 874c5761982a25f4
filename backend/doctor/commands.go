package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/spf13/cobra"
)

// Commands adds the commands that find problems.
func Commands(e *terminal.Env, root *cobra.Command) { root.AddCommand(doctor(e)) }

func doctor(e *terminal.Env) *cobra.Command {
	var fix, output string
	var asReport, yes bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check for problems with servers and clients", Args: terminal.NoArgs,
		Long: "Check for problems with servers and clients, and suggest solutions. Findings with a name in brackets can\nbe fixed with doctor --fix NAME.\n\n" +
			"With --report, write a zip file for a bug report: versions, states, the findings, the last log lines, and the configuration with masked secrets. The contents are listed first. Nothing is sent. With --json, the contents are printed and nothing is written.",
		Example: "  drawbridge doctor\n  drawbridge doctor --report --yes --output report.zip",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asReport {
				return report(cmd.Context(), e, output, yes)
			}
			findings, err := examineWith(cmd.Context(), e, fix)
			if err != nil {
				return err
			}
			wrong := 0
			for _, f := range findings {
				if f.Level == Problem {
					wrong++
				}
			}
			if e.JSON {
				if err := e.PrintJSON(web.List[Finding]{Items: findings}); err != nil {
					return err
				}
			} else {
				printFindings(e, findings)
			}
			if wrong > 0 {
				return terminal.SilentError(fmt.Errorf("%d problems", wrong))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&fix, "fix", "", "fix the finding with this `NAME`, then check again")
	cmd.Flags().BoolVar(&asReport, "report", false, "write a zip file for a bug report, without secrets")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "with --report: do not ask for confirmation")
	cmd.Flags().StringVarP(&output, "output", "o", "", "with --report: the `FILE` to write; an existing file is not overwritten")
	return cmd
}

func printFindings(e *terminal.Env, findings []Finding) {
	marks := map[Level]string{OK: "ok     ", Warning: "warning", Problem: "PROBLEM"}
	for _, f := range findings {
		fmt.Fprintf(e.Stdout, "%s  %s %s: %s\n", marks[f.Level], f.Check, terminal.EscapeLine(f.Subject), terminal.EscapeLine(f.Message))
		if f.Fix != "" {
			fmt.Fprintf(e.Stdout, "         %s\n", terminal.EscapeLine(f.Fix))
		}
		if f.Action != "" {
			fmt.Fprintf(e.Stdout, "         [%s] %s\n", terminal.EscapeLine(f.ID), terminal.EscapeLine(f.Action))
		}
	}
}

// examineWith runs the checks, after it applied the fix with the given id unless "". It uses the
// running daemon, which knows more.
func examineWith(ctx context.Context, e *terminal.Env, fix string) ([]Finding, error) {
	if e.DaemonRuns() {
		found, err := askDaemon(ctx, e, fix)
		if core.CodeOf(err) != core.CodeNotFound || fix != "" {
			return found, err
		}
	}
	o, err := localOptions(ctx, e)
	if err != nil {
		return nil, err
	}
	if fix != "" {
		if err := Fix(ctx, o, fix); err != nil {
			return nil, err
		}
		if o, err = localOptions(ctx, e); err != nil {
			return nil, err
		}
	}
	return Examine(ctx, o), nil
}

func askDaemon(ctx context.Context, e *terminal.Env, fix string) ([]Finding, error) {
	d := e.Daemon()
	method, path := http.MethodGet, "doctor"
	if fix != "" {
		method, path = http.MethodPost, "doctor/"+url.PathEscape(fix)
	}
	list, err := terminal.Request[web.List[Finding]](ctx, d, method, path, nil, nil)
	return list.Items, err
}

// localOptions holds what can be checked without a daemon.
func localOptions(ctx context.Context, e *terminal.Env) (o Options, err error) {
	folders, err := e.Folders()
	if err != nil {
		return o, err
	}
	current, err := e.Sources(folders).Load()
	if current == nil {
		current = config.Default()
	}
	if problems, ok := errors.AsType[config.Problems](err); ok {
		current.Problems = problems
	} else if err != nil {
		return o, err
	}
	c, err := clientconf.Open(e)
	if err != nil {
		return o, err
	}
	process.SetLoginLimit(current.Global.LoginShellTimeout)
	o = Local(ctx, current, e.Getenv)
	o.Clients = c.List()
	o.Restore = func(ctx context.Context, key string) error {
		_, err := c.Restore(ctx, key, clientconf.TokenOf(e))
		return err
	}
	vault, err := secret.StoreOf(e)
	if err == nil {
		_ = o.addSecrets(ctx, vault) // without it, no secret is reported as missing
	}
	return o, err
}

// report writes the file for a bug report, after listing its contents.
func report(ctx context.Context, e *terminal.Env, output string, yes bool) error {
	files, err := collect(ctx, e)
	if err != nil {
		return err
	}
	t := terminal.Table{Title: "Contents", Head: []string{"File", "Bytes"}, Right: []bool{false, true}}
	err = terminal.PrintList(e, files, t, func(f File) []string { return []string{f.Name, fmt.Sprint(f.Bytes)} })
	if err != nil || e.JSON {
		return err
	}
	now := time.Now()
	if output == "" {
		output = BundleName(now)
	}
	if err := e.Confirm(yes, "Write "+output+"?"); err != nil {
		return err
	}
	if err := writeBundle(output, files, now); err != nil {
		return err
	}
	path, err := filepath.Abs(output)
	fmt.Fprintln(e.Stdout, "Written: "+terminal.EscapeLine(path)+"\nReview the file before you share it.")
	return err
}

func writeBundle(path string, files []File, now time.Time) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("cannot write the zip: %w", err)
	}
	if err := WriteZip(f, files, now); err != nil {
		f.Close()
		return fmt.Errorf("cannot write the zip: %w", err)
	}
	return f.Close()
}

// collect requests the bundle from the running daemon, or builds a smaller one without it.
func collect(ctx context.Context, e *terminal.Env) ([]File, error) {
	if e.DaemonRuns() {
		d := e.Daemon()
		list, err := terminal.Get[web.List[File]](ctx, d, "diagnostics", nil)
		if core.CodeOf(err) != core.CodeNotFound {
			return list.Items, err
		}
	}
	folders, err := e.Folders()
	if err != nil {
		return nil, err
	}
	o := localBundle(ctx, folders, e.Sources(folders), e.Getenv)
	o.Version, o.Redact, o.Documents = e.Version, redact.Text, map[string]any{"running": false}
	if tokens, err := loopback.NewTokens(folders.Data, nil); err == nil {
		list, err := tokens.ListWithSecrets()
		if err != nil {
			return nil, err
		}
		for _, t := range list {
			o.Secrets = append(o.Secrets, t.Token)
		}
	}
	if vault, err := secret.StoreOf(e); err == nil {
		if st := vault.Status(ctx); !st.Locked {
			all, err := vault.List(ctx)
			if err != nil {
				return nil, err
			}
			for _, e := range all {
				if v, err := vault.Get(ctx, e.Name); err == nil {
					o.Secrets = append(o.Secrets, v)
				}
			}
		}
	}
	if patient, err := localOptions(ctx, e); err == nil {
		o.Documents["doctor"] = Examine(ctx, patient)
	}
	return Bundle(o), nil
}
