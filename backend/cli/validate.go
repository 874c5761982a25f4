package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/spf13/cobra"
)

func (p *program) validate() *cobra.Command {
	var file string
	var apply bool
	cmd := &cobra.Command{
		Use: "validate [FILE]", Short: "Validate the configuration; exit with 1 if it has errors", Args: terminal.ArgCount(0, 1),
		Long: "Validate the configuration; exit with 1 if it has errors.\n\nA change of the files that would stop all servers is held back, because it is more often a mistake than a wish: --apply applies it.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if apply {
				return p.applyHeldConfig(cmd.Context())
			}
			folders, err := p.Folders()
			if err != nil {
				return err
			}
			sources := config.SourcesFor(file, folders, p.Getenv)
			if sources.File == "" {
				sources = p.Sources(folders)
			}
			if len(args) == 1 {
				sources = config.Sources{File: args[0]}
			}
			return p.printProblems(cmd.Context(), sources)
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "the configuration `FILE` to check instead of the default ones")
	cmd.Flags().BoolVar(&apply, "apply", false, "apply the change that the running Drawbridge holds back")
	return cmd
}

// applyHeldConfig applies the change of the files as they are now that the daemon holds back.
func (p *program) applyHeldConfig(ctx context.Context) error {
	d := p.Daemon()
	if d.Err != nil {
		return d.Err
	}
	refused := p.SyncConfig(ctx, "")
	if refused == nil {
		return p.PrintSentence(map[string]string{"applied": ""}, "No change is held back.")
	}
	s, err := terminal.Get[api.Status](ctx, d, "status", nil)
	if err != nil {
		return err
	}
	for _, problem := range s.Problems {
		if problem.Held != "" {
			if err := p.SyncConfig(ctx, problem.Held); err != nil {
				return err
			}
			return p.PrintSentence(map[string]string{"applied": problem.Held}, "The changed configuration is in use.")
		}
	}
	return refused
}

// printProblems prints the problems of the configuration. Warnings alone are not a failure.
func (p *program) printProblems(ctx context.Context, sources config.Sources) error {
	c, err := sources.Load()
	problems := []config.Problem{}
	count := 0
	switch refused, ok := errors.AsType[config.Problems](err); {
	case ok:
		problems = refused
	case err != nil:
		return err
	default:
		problems = append(append(problems, c.Problems...), c.UnsetVariables(p.lookupVariable)...)
		count = len(c.Servers)
	}
	bad := config.HasErrors(problems)
	if p.JSON {
		err := p.PrintJSON(map[string]any{"path": sources.Main(), "valid": !bad, "servers": count, "problems": problems})
		if err != nil {
			return err
		}
	} else {
		for _, one := range problems {
			fmt.Fprintln(p.Stdout, terminal.EscapeLine(one.String()))
		}
		switch _, err := os.Stat(sources.Main()); {
		case bad:
		case errors.Is(err, fs.ErrNotExist) && sources.JSON == "" && len(c.Files) == 0:
			fmt.Fprintf(p.Stdout, "%s does not exist: there are no servers.\n", terminal.EscapeLine(sources.Main()))
		default:
			fmt.Fprintf(p.Stdout, "%s is valid: %s.\n", terminal.EscapeLine(sources.Main()), core.Plural(count, "server"))
		}
		for _, one := range p.heldProblems(ctx, sources) {
			fmt.Fprintln(p.Stdout, terminal.EscapeLine("It is not in use: "+one.Message+" ("+one.Suggestion+")"))
		}
	}
	if bad {
		return terminal.SilentError(errors.New("the configuration has errors"))
	}
	return nil
}

// heldProblems returns the change of sources that a running daemon holds back, if any.
func (p *program) heldProblems(ctx context.Context, sources config.Sources) []config.Problem {
	folders, err := p.Folders()
	if err != nil || !p.DaemonRuns() || p.Sources(folders).Main() != sources.Main() {
		return nil
	}
	_ = p.SyncConfig(ctx, "") // it may have been saved just now; its status says why it is not in use
	s, err := terminal.Get[api.Status](ctx, p.Daemon(), "status", nil)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(s.Problems, func(one config.Problem) bool { return one.Held == "" || one.File != sources.Main() })
}

// lookupVariable reports whether a variable is set. If the environment cannot tell, an empty value
// is treated as unset.
func (p *program) lookupVariable(name string) (string, bool) {
	if v := p.Getenv(name); v != "" {
		return v, true
	}
	return os.LookupEnv(name)
}
