package cli

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
	"github.com/drawbridge-mcp/drawbridge/backend/doctor"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/spf13/cobra"
)

func (p *program) doctor() *cobra.Command {
	var fix string
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check for problems with servers and clients", Args: terminal.NoArgs,
		Long: "Check for problems with servers and clients, and suggest solutions. Findings with a name in brackets can\nbe fixed with doctor --fix NAME.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			findings, err := p.examine(cmd.Context(), fix)
			if err != nil {
				return err
			}
			wrong := 0
			for _, f := range findings {
				if f.Level == doctor.Problem {
					wrong++
				}
			}
			if p.JSON {
				if err := p.PrintJSON(web.List[doctor.Finding]{Items: findings}); err != nil {
					return err
				}
			} else {
				p.printFindings(findings)
			}
			if wrong > 0 {
				return terminal.SilentError(fmt.Errorf("%d problems", wrong))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&fix, "fix", "", "fix the finding with this `NAME`, then check again")
	return cmd
}

func (p *program) printFindings(findings []doctor.Finding) {
	marks := map[doctor.Level]string{doctor.OK: "ok     ", doctor.Warning: "warning", doctor.Problem: "PROBLEM"}
	for _, f := range findings {
		fmt.Fprintf(p.Stdout, "%s  %s %s: %s\n", marks[f.Level], f.Check, terminal.EscapeLine(f.Subject), terminal.EscapeLine(f.Message))
		if f.Fix != "" {
			fmt.Fprintf(p.Stdout, "         %s\n", terminal.EscapeLine(f.Fix))
		}
		if f.Action != "" {
			fmt.Fprintf(p.Stdout, "         [%s] %s\n", terminal.EscapeLine(f.ID), terminal.EscapeLine(f.Action))
		}
	}
}

// examine runs the checks, after it applied the fix with the given id unless "". It uses the
// running daemon, which knows more.
func (p *program) examine(ctx context.Context, fix string) ([]doctor.Finding, error) {
	if p.DaemonRuns() {
		found, err := p.askDaemon(ctx, fix)
		if core.CodeOf(err) != core.CodeNotFound || fix != "" {
			return found, err
		}
	}
	o, err := p.doctorOptions(ctx)
	if err != nil {
		return nil, err
	}
	if fix != "" {
		if err := doctor.Fix(ctx, o, fix); err != nil {
			return nil, err
		}
		if o, err = p.doctorOptions(ctx); err != nil {
			return nil, err
		}
	}
	return doctor.Examine(ctx, o), nil
}

func (p *program) askDaemon(ctx context.Context, fix string) ([]doctor.Finding, error) {
	d, err := p.Daemon()
	if err != nil {
		return nil, err
	}
	method, path := http.MethodGet, "doctor"
	if fix != "" {
		method, path = http.MethodPost, "doctor/"+url.PathEscape(fix)
	}
	list, err := terminal.Request[web.List[doctor.Finding]](ctx, d, method, path, nil, nil)
	return list.Items, err
}

// doctorOptions holds what can be checked without a daemon.
func (p *program) doctorOptions(ctx context.Context) (o doctor.Options, err error) {
	folders, err := p.Folders()
	if err != nil {
		return o, err
	}
	current, err := p.Sources(folders).Load()
	if current == nil {
		current = config.Default()
	}
	if problems, ok := errors.AsType[config.Problems](err); ok {
		current.Problems = problems
	} else if err != nil {
		return o, err
	}
	c, err := clientconf.Open(&p.Env)
	if err != nil {
		return o, err
	}
	path := p.Getenv("PATH")
	process.SetLoginLimit(current.Global.LoginShellTimeout)
	login, noLogin := process.LoginEnv(ctx)
	if noLogin == nil && login["PATH"] != "" {
		path = login["PATH"]
	}
	o = doctor.Options{
		Config: current, Getenv: p.Getenv, Clients: c.List(), Listening: doctor.Listening, Docker: doctor.CheckDocker,
		LookPath: func(program string) (string, error) { return process.Resolve(program, path) }, LoginShellError: noLogin,
		Restore: func(ctx context.Context, key string) error {
			_, err := c.Restore(ctx, key, clientconf.TokenOf(&p.Env))
			return err
		},
	}
	vault, err := secret.StoreOf(&p.Env)
	if err != nil {
		return o, err
	}
	st := vault.Status(ctx)
	o.KeyringLocked, o.VaultProblem, o.Unlock = st.Locked, st.Notice, vault.Unlock
	if all, err := vault.List(ctx); err == nil {
		o.MissingSecrets = config.ReferencedSecrets(current)
		for _, e := range all {
			delete(o.MissingSecrets, e.Name)
		}
	}
	return o, nil
}

func (p *program) diagnostics() *cobra.Command {
	var yes bool
	var output string
	cmd := &cobra.Command{
		Use: "diagnostics", Short: "Write a zip file for a bug report, without secrets, after listing its contents", Args: terminal.NoArgs,
		Long: "Write a zip file for a bug report: versions, states, the findings of \"drawbridge doctor\", the last log lines, and the configuration with\n" +
			"masked secrets. The contents are listed first. Nothing is sent. With --json, the contents are printed and nothing is written.",
		Example: "  drawbridge diagnostics\n  drawbridge diagnostics --yes --output report.zip",
		RunE: func(cmd *cobra.Command, _ []string) error {
			files, err := p.collect(cmd.Context())
			if err != nil {
				return err
			}
			t := terminal.Table{Title: "Contents", Head: []string{"File", "Bytes"}, Right: []bool{false, true}}
			err = terminal.PrintList(&p.Env, files, t, func(f doctor.File) []string { return []string{f.Name, fmt.Sprint(f.Bytes)} })
			if err != nil || p.JSON {
				return err
			}
			now := time.Now()
			if output == "" {
				output = doctor.BundleName(now)
			}
			if err := p.Confirm(yes, "Write "+output+"?"); err != nil {
				return err
			}
			if err := writeBundle(output, files, now); err != nil {
				return err
			}
			path, err := filepath.Abs(output)
			fmt.Fprintln(p.Stdout, "Written: "+terminal.EscapeLine(path)+"\nReview the file before you share it.")
			return err
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for confirmation")
	cmd.Flags().StringVarP(&output, "output", "o", "", "the `FILE` to write; an existing file is not overwritten")
	return cmd
}

func writeBundle(path string, files []doctor.File, now time.Time) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("cannot write the zip: %w", err)
	}
	if err := doctor.WriteZip(f, files, now); err != nil {
		f.Close()
		return fmt.Errorf("cannot write the zip: %w", err)
	}
	return f.Close()
}

// collect requests the bundle from the running daemon, or builds a smaller one without it.
func (p *program) collect(ctx context.Context) ([]doctor.File, error) {
	if p.DaemonRuns() {
		d, err := p.Daemon()
		if err != nil {
			return nil, err
		}
		list, err := terminal.Get[web.List[doctor.File]](ctx, d, "diagnostics", nil)
		if core.CodeOf(err) != core.CodeNotFound {
			return list.Items, err
		}
	}
	folders, err := p.Folders()
	if err != nil {
		return nil, err
	}
	paths, _ := p.Sources(folders).Paths() // an unreadable folder omits its files
	admin, _ := loopback.ReadAdminToken(folders.Data)
	o := doctor.BundleOptions{
		Version: p.Version, Now: time.Now(), Folders: folders, Config: paths, Home: p.Getenv("HOME"), Getenv: process.Lookup(ctx, p.Getenv),
		Secrets: []string{admin}, Redact: p.Redact, Documents: map[string]any{"running": false},
	}
	if tokens, err := loopback.NewTokens(folders.Data, nil); err == nil {
		list, err := tokens.ListWithSecrets()
		if err != nil {
			return nil, err
		}
		for _, t := range list {
			o.Secrets = append(o.Secrets, t.Token)
		}
	}
	if vault, err := secret.StoreOf(&p.Env); err == nil {
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
	if patient, err := p.doctorOptions(ctx); err == nil {
		o.Documents["doctor"] = doctor.Examine(ctx, patient)
	}
	return doctor.Bundle(o), nil
}
