package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"drawbridge/config"

	"github.com/spf13/cobra"
)

func absolute(path string) (string, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("cannot find %q: %w", path, err)
	}
	return full, nil
}

// share prints what can be given to others.
func (p *program) share() *cobra.Command {
	return &cobra.Command{
		Use: "export [FILE]", Short: "Write servers and profiles without secrets, to be given to others", Args: between(0, 1),
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

// take adds what somebody shared.
func (p *program) take() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Add servers and profiles that somebody exported; secrets are asked for", Args: between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.runImport(cmd.Context(), args[0], yes) },
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask; secrets are given later with drawbridge secret set")
	return cmd
}

func (p *program) runImport(ctx context.Context, path string, yes bool) error {
	src, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("cannot read the export: %w", err)
	}
	var file struct {
		Servers  map[string]json.RawMessage `json:"mcpServers"`
		Profiles map[string]json.RawMessage `json:"profiles"`
		Needs    []string                   `json:"needs"`
	}
	if err := json.Unmarshal(src, &file); err != nil {
		return fmt.Errorf("cannot read the export: %w", err)
	}
	secrets := map[string]string{}
	if !yes && !p.json {
		for label, entry := range file.Servers {
			fmt.Fprintf(p.Stdout, "%s: %s\n", line(label), line(string(entry)))
		}
		if err := p.ask("Add these servers?"); err != nil {
			return err
		}
		for _, name := range file.Needs {
			value, err := p.readSecret("Value of " + line(name) + " (empty: later): ")
			if err != nil || value == "" {
				continue
			}
			secrets[name] = value
		}
	}
	var taken struct{ Added, Skipped, Missing []string }
	body := map[string]any{"mcpServers": file.Servers, "profiles": file.Profiles, "secrets": secrets}
	if file.Profiles == nil {
		delete(body, "profiles")
	}
	if done, err := p.fetch(ctx, http.MethodPost, "share", nil, body, &taken); done || err != nil {
		return err
	}
	text := "Added: " + strings.Join(taken.Added, ", ")
	if len(taken.Skipped) > 0 {
		text += "; there already: " + strings.Join(taken.Skipped, ", ")
	}
	if len(taken.Missing) > 0 {
		text += "; still needed, with drawbridge secret set: " + strings.Join(taken.Missing, ", ")
	}
	_, err = fmt.Fprintln(p.Stdout, line(text))
	return err
}

// keptBackups is how many copies of the configuration are kept.
const keptBackups = 20

// backup copies the main configuration file, and puts a copy back.
func (p *program) backup() *cobra.Command {
	cmd := &cobra.Command{
		Use: "backup", Short: "Keep a copy of the configuration file; backup restore puts one back", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			main, dir, err := p.backupPlaces()
			if err != nil {
				return err
			}
			path, err := keepCopy(main, dir, time.Now())
			if err != nil {
				return err
			}
			return p.say(map[string]string{"file": path}, "Kept as "+path+".")
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use: "restore [FILE]", Short: "Put a copy of the configuration back, the newest without a name; what is there is kept first", Args: between(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			main, dir, err := p.backupPlaces()
			if err != nil {
				return err
			}
			from := ""
			if len(args) > 0 {
				from = args[0]
			} else if all, _ := filepath.Glob(filepath.Join(dir, "config-*")); len(all) > 0 {
				from = slices.Max(all)
			} else {
				return fmt.Errorf("there is no copy in %s", dir)
			}
			src, err := os.ReadFile(from)
			if err != nil {
				return fmt.Errorf("cannot read the copy: %w", err)
			}
			if c, problems := config.Parse(main, src); c == nil {
				return fmt.Errorf("the copy is no valid configuration: %w", config.Problems(problems))
			}
			if _, err := keepCopy(main, dir, time.Now()); err != nil && !os.IsNotExist(err) {
				return err
			}
			half := main + ".new"
			if err := os.WriteFile(half, src, 0o600); err != nil {
				return fmt.Errorf("cannot write the configuration: %w", err)
			}
			if err := os.Rename(half, main); err != nil {
				return fmt.Errorf("cannot write the configuration: %w", err)
			}
			return p.say(map[string]string{"file": from}, from+" is the configuration now.")
		},
	})
	return cmd
}

func (p *program) backupPlaces() (main, dir string, err error) {
	folders, err := p.folders()
	if err != nil {
		return "", "", err
	}
	return config.SourcesFor("", folders, p.Getenv).Main(), filepath.Join(folders.Data, "backups"), nil
}

// keepCopy copies the file into dir under the time, and drops the oldest copies.
func keepCopy(file, dir string, now time.Time) (string, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("cannot make the folder for copies: %w", err)
	}
	path := filepath.Join(dir, "config-"+now.UTC().Format("20060102-150405.000")+filepath.Ext(file))
	if err := os.WriteFile(path, src, 0o600); err != nil {
		return "", fmt.Errorf("cannot write the copy: %w", err)
	}
	all, _ := filepath.Glob(filepath.Join(dir, "config-*"))
	slices.Sort(all)
	for _, old := range all[:max(0, len(all)-keptBackups)] {
		_ = os.Remove(old)
	}
	return path, nil
}
