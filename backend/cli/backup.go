package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
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
	if d := p.Daemon(); d.Err == nil {
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
