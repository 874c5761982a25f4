package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/doctor"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/spf13/cobra"
)

func (p *program) doctor() *cobra.Command {
	var fix string
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check for problems with servers and clients", Args: noArgs,
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
			if p.json {
				if err := p.printJSON(api.List[doctor.Finding]{Items: findings}); err != nil {
					return err
				}
			} else {
				p.printFindings(findings)
			}
			if wrong > 0 {
				return silentError{fmt.Errorf("%d problems", wrong)}
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
		fmt.Fprintf(p.Stdout, "%s  %s %s: %s\n", marks[f.Level], f.Check, escapeLine(f.Subject), escapeLine(f.Message))
		if f.Fix != "" {
			fmt.Fprintf(p.Stdout, "         %s\n", escapeLine(f.Fix))
		}
		if f.Action != "" {
			fmt.Fprintf(p.Stdout, "         [%s] %s\n", escapeLine(f.ID), escapeLine(f.Action))
		}
	}
}

// examine runs the checks, after it applied the fix with the given id unless "". It uses the
// running daemon, which knows more.
func (p *program) examine(ctx context.Context, fix string) ([]doctor.Finding, error) {
	if p.isDaemonRunning() {
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
	d, err := p.daemon()
	if err != nil {
		return nil, err
	}
	method, path := http.MethodGet, "doctor"
	if fix != "" {
		method, path = http.MethodPost, "doctor/"+url.PathEscape(fix)
	}
	list, err := request[api.List[doctor.Finding]](ctx, d, method, path, nil, nil)
	return list.Items, err
}

// doctorOptions holds what can be checked without a daemon.
func (p *program) doctorOptions(ctx context.Context) (o doctor.Options, err error) {
	folders, err := p.folders()
	if err != nil {
		return o, err
	}
	current, err := p.sources(folders).Load()
	if current == nil {
		current = config.Default()
	}
	if problems, ok := errors.AsType[config.Problems](err); ok {
		current.Problems = problems
	} else if err != nil {
		return o, err
	}
	c, err := p.connector()
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
			_, err := c.Restore(ctx, key, p.tokenOf)
			return err
		},
	}
	vault, err := p.openSecretStore()
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
