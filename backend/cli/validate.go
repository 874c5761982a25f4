package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/spf13/cobra"
)

func (p *program) validate() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "validate [FILE]", Short: "Validate the configuration; exit with 1 if it has errors", Args: argCount(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			folders, err := p.folders()
			if err != nil {
				return err
			}
			sources := config.SourcesFor(file, folders, p.Getenv)
			if sources.File == "" {
				sources = p.sources(folders)
			}
			if len(args) == 1 {
				sources = config.Sources{File: args[0]}
			}
			return p.printProblems(sources)
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "the configuration `FILE` to check instead of the default ones")
	return cmd
}

// printProblems prints the problems of the configuration. Warnings alone are not a failure.
func (p *program) printProblems(sources config.Sources) error {
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
	if p.json {
		err := p.printJSON(map[string]any{"path": sources.Main(), "valid": !bad, "servers": count, "problems": problems})
		if err != nil {
			return err
		}
	} else {
		for _, one := range problems {
			fmt.Fprintln(p.Stdout, escapeLine(one.String()))
		}
		switch _, err := os.Stat(sources.Main()); {
		case bad:
		case errors.Is(err, fs.ErrNotExist) && sources.JSON == "" && len(c.Files) == 0:
			fmt.Fprintf(p.Stdout, "%s does not exist: there are no servers.\n", sources.Main())
		default:
			fmt.Fprintf(p.Stdout, "%s is valid: %s.\n", sources.Main(), core.Plural(count, "server"))
		}
	}
	if bad {
		return silentError{errors.New("the configuration has errors")}
	}
	return nil
}

// lookupVariable reports whether a variable is set. If the environment cannot tell, an empty value
// is treated as unset.
func (p *program) lookupVariable(name string) (string, bool) {
	if v := p.Getenv(name); v != "" {
		return v, true
	}
	return os.LookupEnv(name)
}
