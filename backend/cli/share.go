package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

func absolutePath(path string) (string, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("cannot find %q: %w", path, err)
	}
	return full, nil
}

// share prints a file for other users.
func (p *program) share() *cobra.Command {
	return &cobra.Command{
		Use: "export [FILE]", Short: "Export servers and profiles without secrets, for sharing", Args: argCount(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := p.daemon()
			if err != nil {
				return err
			}
			raw, err := d.requestRaw(cmd.Context(), http.MethodGet, "share", nil, nil)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				_, err := fmt.Fprintf(p.Stdout, "%s\n", raw)
				return err
			}
			if err := os.WriteFile(args[0], append(raw, '\n'), 0o600); err != nil {
				return fmt.Errorf("cannot write the export: %w", err)
			}
			return p.printSentence(map[string]string{"file": args[0]}, "Written to "+args[0]+".")
		},
	}
}

// importShared imports a shared file.
func (p *program) importShared() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Import servers and profiles from an export; asks for missing secrets", Args: argCount(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.runSharedImport(cmd.Context(), args[0], yes) },
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation or for secrets; secrets can be set later with drawbridge secret set")
	return cmd
}

// sharedPlanDocument describes the changes of importing a shared file.
type sharedPlanDocument struct {
	Servers []struct {
		Label, State, Reason, URL   string
		Command, Secrets, Variables []string
	}
	Profiles                                  []struct{ Name, State, Reason string }
	Diff, Backup                              string
	MissingSecrets, StoredSecrets, NewSecrets []string
}

// maxShared is larger than any export, in bytes.
const maxShared = 1 << 20

func (p *program) runSharedImport(ctx context.Context, path string, yes bool) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("cannot read the export: %w", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("cannot read the export: %s is not a file", path)
	case info.Size() > maxShared:
		return fmt.Errorf("cannot read the export: it is larger than %d KiB", maxShared>>10)
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("cannot read the export: %w", err)
	}
	d, err := p.daemon()
	if err != nil {
		return err
	}
	body := map[string]any{"text": string(src)}
	raw, err := d.requestRaw(ctx, http.MethodPost, "share/plan", nil, body)
	if err != nil {
		return err
	}
	var plan sharedPlanDocument
	if err := json.Unmarshal(raw, &plan); err != nil {
		return err
	}
	if p.json && !yes {
		_, err := fmt.Fprintf(p.Stdout, "%s\n", raw)
		return err
	}
	if !p.json {
		p.printSharedPlan(plan)
	}
	if plan.Diff == "" {
		return errors.New("the file contains nothing new")
	}
	secrets := map[string]string{}
	if !yes {
		if err := p.confirm("Import this?"); err != nil {
			return err
		}
		for _, name := range plan.MissingSecrets {
			value, err := p.readSecret("Value of " + escapeLine(name) + " (leave empty to set it later): ")
			if err != nil || value == "" {
				continue
			}
			secrets[name] = value
		}
	}
	body["diff"], body["secrets"], body["storedSecrets"] = plan.Diff, secrets, plan.StoredSecrets
	var taken sharedPlanDocument
	if done, err := p.fetch(ctx, http.MethodPost, "share", nil, body, &taken); done || err != nil {
		return err
	}
	text := "Done. To undo: drawbridge backup restore " + taken.Backup
	if len(taken.MissingSecrets) > 0 {
		text += ". Secrets still to be set with drawbridge secret set: " + strings.Join(taken.MissingSecrets, ", ")
	}
	_, err = fmt.Fprintln(p.Stdout, escapeLine(text))
	return err
}

// printSharedPlan prints the changes of a shared file: complete commands with their environment.
func (p *program) printSharedPlan(plan sharedPlanDocument) {
	for _, s := range plan.Servers {
		text := s.Label + ": "
		switch s.State {
		case "exists":
			text += "already exists; not changed"
		case "rejected":
			text += "is not imported: " + s.Reason
		default:
			var does []string
			if len(s.Command) > 0 {
				words := make([]string, len(s.Command))
				for i, word := range s.Command {
					words[i] = strconv.Quote(word)
				}
				does = append(does, "runs "+strings.Join(words, " "))
			}
			if s.URL != "" {
				does = append(does, "connects to "+s.URL)
			}
			text += strings.Join(does, ", ")
			if len(s.Variables) > 0 {
				text += "; gets the variables " + strings.Join(s.Variables, ", ")
			}
		}
		fmt.Fprintln(p.Stdout, escapeLine(text))
	}
	for _, one := range plan.Profiles {
		text := map[string]string{"new": "is new", "exists": "already exists; not changed", "rejected": "is not imported: " + one.Reason}[one.State]
		fmt.Fprintln(p.Stdout, escapeLine("Profile "+one.Name+" "+text))
	}
	if len(plan.StoredSecrets) > 0 {
		fmt.Fprintln(p.Stdout, escapeLine("These servers would get secrets that you have stored: "+strings.Join(plan.StoredSecrets, ", ")))
	}
	for _, one := range strings.Split(plan.Diff, "\n") {
		text := strings.TrimLeft(one[min(1, len(one)):], " \t")
		fmt.Fprintln(p.Stdout, one[:len(one)-len(text)]+escapeLine(text)) // the diff keeps its indentation
	}
}
