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

func absolute(path string) (string, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("cannot find %q: %w", path, err)
	}
	return full, nil
}

// share prints a file for other users.
func (p *program) share() *cobra.Command {
	return &cobra.Command{
		Use: "export [FILE]", Short: "Export servers and profiles without secrets, for sharing", Args: between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := p.daemon()
			if err != nil {
				return err
			}
			raw, err := d.raw(cmd.Context(), http.MethodGet, "share", nil, nil)
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
			return p.say(map[string]string{"file": args[0]}, "Written to "+args[0]+".")
		},
	}
}

// take imports a shared file.
func (p *program) take() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Import servers and profiles from an export; asks for missing secrets", Args: between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.runImport(cmd.Context(), args[0], yes) },
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask; secrets can be set later with drawbridge secret set")
	return cmd
}

// takingDocument describes the changes of importing a shared file.
type takingDocument struct {
	Servers []struct {
		Label, State, Why, URL      string
		Command, Secrets, Variables []string
	}
	Profiles            []struct{ Name, State, Why string }
	Diff, Undo          string
	Needs, Uses, Stored []string
}

// maxShared is larger than any export, in bytes.
const maxShared = 1 << 20

func (p *program) runImport(ctx context.Context, path string, yes bool) error {
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
	raw, err := d.raw(ctx, http.MethodPost, "share/plan", nil, body)
	if err != nil {
		return err
	}
	var plan takingDocument
	if err := json.Unmarshal(raw, &plan); err != nil {
		return err
	}
	if p.json && !yes {
		_, err := fmt.Fprintf(p.Stdout, "%s\n", raw)
		return err
	}
	if !p.json {
		p.showTaking(plan)
	}
	if plan.Diff == "" {
		return errors.New("nothing in the file is new")
	}
	secrets := map[string]string{}
	if !yes {
		if err := p.ask("Import this?"); err != nil {
			return err
		}
		for _, name := range plan.Needs {
			value, err := p.readSecret("Value of " + line(name) + " (empty: later): ")
			if err != nil || value == "" {
				continue
			}
			secrets[name] = value
		}
	}
	body["diff"], body["secrets"], body["uses"] = plan.Diff, secrets, plan.Uses
	var taken takingDocument
	if done, err := p.fetch(ctx, http.MethodPost, "share", nil, body, &taken); done || err != nil {
		return err
	}
	text := "Done. To undo: drawbridge backup restore " + taken.Undo
	if len(taken.Needs) > 0 {
		text += "; still needed, with drawbridge secret set: " + strings.Join(taken.Needs, ", ")
	}
	_, err = fmt.Fprintln(p.Stdout, line(text))
	return err
}

// showTaking prints the changes of a shared file: complete commands with their environment.
func (p *program) showTaking(plan takingDocument) {
	for _, s := range plan.Servers {
		text := s.Label + ": "
		switch s.State {
		case "there":
			text += "exists already and is not changed"
		case "refused":
			text += "is not imported: " + s.Why
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
		fmt.Fprintln(p.Stdout, line(text))
	}
	for _, one := range plan.Profiles {
		text := map[string]string{"new": "is new", "there": "exists already and is not changed", "refused": "is not imported: " + one.Why}[one.State]
		fmt.Fprintln(p.Stdout, line("Profile "+one.Name+" "+text))
	}
	if len(plan.Uses) > 0 {
		fmt.Fprintln(p.Stdout, line("These servers would get secrets that you have stored: "+strings.Join(plan.Uses, ", ")))
	}
	for _, one := range strings.Split(plan.Diff, "\n") {
		text := strings.TrimLeft(one[min(1, len(one)):], " \t")
		fmt.Fprintln(p.Stdout, one[:len(one)-len(text)]+line(text)) // the diff keeps its indentation
	}
}
