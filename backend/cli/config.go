package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/spf13/cobra"
)

// backup makes and restores backups of the main configuration file and of the history.
func (p *program) backup() *cobra.Command {
	var calls string
	cmd := &cobra.Command{
		Use: "backup", Short: "Back up the configuration or the history; \"backup restore\" restores both", Args: terminal.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if calls != "" {
				path, err := filepath.Abs(calls)
				if err != nil {
					return err
				}
				return terminal.Show(cmd.Context(), &p.Env, http.MethodPost, "history/backup", nil, map[string]string{"path": path}, func(file history.BackupFile) error {
					_, err := fmt.Fprintln(p.Stdout, terminal.EscapeLine(file.Path))
					return err
				})
			}
			main, copies, err := p.backupPlaces()
			if err != nil {
				return err
			}
			src, err := os.ReadFile(main)
			if err != nil {
				return err
			}
			path, err := createConfigBackup(main, src, copies)
			if err != nil {
				return err
			}
			return p.PrintSentence(map[string]string{"file": path}, "Backed up as "+path+".")
		},
	}
	cmd.Flags().StringVar(&calls, "history", "", "back up the history to this new `FILE` instead")
	cmd.AddCommand(p.backupRestore())
	return cmd
}

// isDatabase reports whether a file is a database: a backup of the history.
func isDatabase(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	const magic = "SQLite format 3\x00"
	head := make([]byte, len(magic))
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == magic
}

// restoreHistory restores a backup of the history while no daemon runs.
func (p *program) restoreHistory(ctx context.Context, file string) error {
	folders, err := p.Folders()
	if err != nil {
		return err
	}
	aside, err := history.Restore(ctx, folders, file)
	if err != nil {
		return err
	}
	text := "The history was restored from " + file + "."
	if aside != "" {
		text += " The previous history was kept as " + aside + "."
	}
	return p.PrintSentence(map[string]string{"file": file, "aside": aside}, text)
}

func (p *program) backupRestore() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "restore [FILE]", Short: "Restore a backup of the configuration or of the history", Args: terminal.ArgCount(0, 1),
		Long: "Restore a backup of the configuration, by default the newest, or a backup of the history, for which Drawbridge must not be running. The current file is kept. In a terminal, the command asks for confirmation if the backup has lower history limits, because older calls would be deleted permanently.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && isDatabase(args[0]) {
				return p.restoreHistory(cmd.Context(), args[0])
			}
			main, copies, err := p.backupPlaces()
			if err != nil {
				return err
			}
			from, src, err := findCopy(copies, args)
			if err != nil {
				return err
			}
			next, problems := config.Parse(main, src)
			if next == nil {
				return fmt.Errorf("the backup is not a valid configuration: %w", config.Problems(problems))
			}
			before, err := os.ReadFile(main)
			existed := err == nil
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("cannot read the configuration: %w", err)
			}
			if !yes && !p.JSON && p.Attended() {
				if err := p.confirmRetention(cmd.Context(), historySettings(main, before, existed), next.History, src); err != nil {
					return err
				}
			}
			if existed {
				if _, err := createConfigBackup(main, before, copies); err != nil {
					return err
				}
			}
			if err := config.ReplaceFile(cmd.Context(), main, before, existed, src); err != nil {
				return fmt.Errorf("cannot restore the backup: %w", err)
			}
			if err := p.SyncConfig(cmd.Context(), config.AnyETag); err != nil {
				return err
			}
			return p.PrintSentence(map[string]string{"file": from}, "The configuration was restored from "+from+".")
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for confirmation")
	return cmd
}

// confirmRetention asks for confirmation if the configuration src would delete calls. A running
// daemon knows how many; without one, it asks whenever src reduces retention.
func (p *program) confirmRetention(ctx context.Context, was, next config.History, src []byte) error {
	if !next.KeepsLess(was) {
		return nil
	}
	const otherwise = "nothing was changed"
	if d, err := p.Daemon(); err == nil {
		gone, err := terminal.Request[history.RetentionPreview](ctx, d, http.MethodPost, "config/retention-preview", nil, map[string]string{"text": string(src)})
		if err == nil {
			if gone.Calls == 0 {
				return nil
			}
			return p.ConfirmOrFail("This backup has lower history limits. "+history.DescribePreview(gone)+"\nRestore it?", otherwise)
		}
	}
	return p.ConfirmOrFail("This backup has lower history limits: Drawbridge will permanently delete older calls.\nRestore it?", otherwise)
}

// historySettings returns the history settings of the configuration file with the content src. An
// invalid file is treated as one that keeps everything.
func historySettings(file string, src []byte, existed bool) config.History {
	if !existed {
		src = []byte("{}") // the defaults
	}
	now, _ := config.Parse(file, src)
	if now == nil {
		return config.History{}
	}
	return now.History
}

func (p *program) backupPlaces() (main string, copies config.Backups, err error) {
	folders, err := p.Folders()
	if err != nil {
		return "", config.Backups{}, err
	}
	return p.Sources(folders).Main(), config.BackupsOf(folders.Data), nil
}

// findCopy returns the selected backup: a file, the name of a backup, or the latest.
func findCopy(copies config.Backups, args []string) (from string, src []byte, err error) {
	if len(args) > 0 {
		if src, err = copies.Read(args[0]); err == nil {
			return filepath.Join(copies.Dir, args[0]), src, nil
		}
		if src, err = os.ReadFile(args[0]); err != nil {
			code := core.CodeInternal
			if errors.Is(err, fs.ErrNotExist) {
				code = core.CodeNotFound
			}
			return "", nil, &core.Error{Code: code, Message: "cannot read the backup", Hint: "The backups are in " + copies.Dir + ".", Cause: err}
		}
		return args[0], src, nil
	}
	all, err := copies.List()
	if err != nil {
		return "", nil, err
	}
	if len(all) == 0 {
		return "", nil, fmt.Errorf("there is no backup in %s", copies.Dir)
	}
	src, err = copies.Read(all[0].Name)
	return filepath.Join(copies.Dir, all[0].Name), src, err
}

// createConfigBackup makes a backup of the configuration file, whose content is src.
func createConfigBackup(file string, src []byte, copies config.Backups) (path string, err error) {
	name, err := copies.Create(file, src, time.Now())
	return filepath.Join(copies.Dir, name), err
}

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
			return p.printProblems(sources)
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "the configuration `FILE` to check instead of the default ones")
	cmd.Flags().BoolVar(&apply, "apply", false, "apply the change that the running Drawbridge holds back")
	return cmd
}

// applyHeldConfig applies the change of the files as they are now that the daemon holds back.
func (p *program) applyHeldConfig(ctx context.Context) error {
	d, err := p.Daemon()
	if err != nil {
		return err
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
			fmt.Fprintf(p.Stdout, "%s does not exist: there are no servers.\n", sources.Main())
		default:
			fmt.Fprintf(p.Stdout, "%s is valid: %s.\n", sources.Main(), core.Plural(count, "server"))
		}
	}
	if bad {
		return terminal.SilentError(errors.New("the configuration has errors"))
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

// serverEntry is a server in the form of the configuration.
type serverEntry struct {
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	URL     string   `json:"url,omitempty"`
}

func (p *program) remove() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "remove SERVER", Short: "Remove a server and the secrets that only it used; its calls stay in the history", Args: terminal.ArgCount(1, 1),
		RunE: p.OnDaemon(func(ctx context.Context, d *terminal.Daemon, args []string) error {
			own := secretsOnlyOf(ctx, d, args[0])
			if err := d.Change(ctx, http.MethodDelete, terminal.ServerPath(args[0], ""), nil); err != nil {
				return err
			}
			text := args[0] + ": removed"
			if names := strings.Join(own, ", "); names != "" {
				text += ", with the secrets that only it used: " + names
				if !yes && !p.JSON && p.Attended() && p.ConfirmOrFail(terminal.EscapeLine("Delete the secrets that only it used, too ("+names+")? They cannot be restored."), "") != nil {
					own, text = nil, args[0]+": removed; to delete its secrets: drawbridge secret rm NAME"
				}
			}
			for _, name := range own {
				if err := d.Change(ctx, http.MethodDelete, "secrets/"+url.PathEscape(name), nil); err != nil {
					return err
				}
			}
			return p.PrintSentence(map[string]any{"removed": args[0], "secrets": append([]string{}, own...)}, terminal.EscapeLine(text))
		}),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask before the secrets that only the server used are deleted")
	return cmd
}

// secretsOnlyOf returns the names of the secrets that only this server refers to.
func secretsOnlyOf(ctx context.Context, d *terminal.Daemon, server string) (names []string) {
	list, err := terminal.Get[secret.Secrets](ctx, d, "secrets", nil)
	if err != nil {
		return nil // they stay, and are listed as not used
	}
	id := d.ServerID(ctx, server)
	for _, s := range list.Items {
		if slices.Equal(s.Servers, []string{id}) {
			names = append(names, s.Name)
		}
	}
	return names
}

func (p *program) rename() *cobra.Command {
	return &cobra.Command{
		Use: "rename SERVER NAME", Short: "Rename a server; its history is kept", Args: terminal.ArgCount(2, 2),
		Long: `Rename a server; its history is kept.

The server is restarted under the new name. Profiles, argument rules, saved checks, recorded calls and trusted
tools are kept. Rules that refer to it by a pattern that cannot be changed are listed as warnings.
The public names of its tools change, so rules in a client's own settings that name them must be updated.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			body := map[string]string{"name": args[1]}
			return terminal.Show(cmd.Context(), &p.Env, http.MethodPost, terminal.ServerPath(args[0], "/rename"), nil, body, func(s api.RenamedServer) error {
				for _, w := range s.Warnings {
					fmt.Fprintln(p.Stderr, terminal.EscapeLine("Warning: "+w))
				}
				_, err := fmt.Fprintln(p.Stdout, terminal.EscapeLine(args[0]+": renamed to "+terminal.DisplayName(s.ServerStatus)))
				return err
			})
		},
	}
}
