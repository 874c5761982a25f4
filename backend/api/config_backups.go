package api

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/danielgtaylor/huma/v2"
)

// ConfigBackup is a backup of the configuration file.
type ConfigBackup struct {
	Name    string    `json:"name"`
	At      time.Time `json:"at"`
	Bytes   int64     `json:"bytes"`
	Current bool      `json:"current" doc:"Whether it equals the current file"`
}

// ConfigBackupText is a backup with the changes that restoring it would make.
type ConfigBackupText struct {
	Name     string           `json:"name"`
	Text     string           `json:"text" doc:"Recognized secrets are redacted"`
	Diff     string           `json:"diff" doc:"Changes from the current file to the backup, with recognized secrets redacted; empty if they are equal"`
	Etag     string           `json:"etag" doc:"ETag of the current file"`
	Problems []config.Problem `json:"problems" nullable:"false" doc:"Problems in the backup"`
}

// RestoredConfig is the result of a restore.
type RestoredConfig struct {
	Backup string `json:"backup" doc:"Name of the backup of the previous file"`
	Etag   string `json:"etag" doc:"ETag of the current file"`
}

type copyInput struct {
	Name string `path:"name" maxLength:"60"`
}

type restoreConfigInput struct {
	Name string `path:"name" maxLength:"60"`
	Body struct {
		Etag string `json:"etag" maxLength:"64" doc:"ETag of the file that the change is based on"`
	}
}

func (a *API) registerBackups(doc huma.API) {
	op(a, doc, "GET", "/api/v1/config/backups", "Backups of the configuration file, newest first", a.listCopies)
	op(a, doc, "POST", "/api/v1/config/backups", "Back up the current configuration file", a.createConfigBackup)
	op(a, doc, "POST", "/api/v1/config/retention-preview", "Number of recorded calls that a new configuration would delete, because of shorter retention", a.previewRetention)
	op(a, doc, "GET", "/api/v1/config/backups/{name}", "A backup, and the changes that restoring it would make", a.getCopy)
	op(a, doc, "POST", "/api/v1/config/backups/{name}/restore", "Restore a backup; the current file is backed up first", a.restoreCopy)
}

func (a *API) listCopies(context.Context, *none) (*answer[List[ConfigBackup]], error) {
	all, err := a.Copies.List()
	if err != nil {
		return nil, err
	}
	_, _, etag, err := a.ConfigEditor.Text()
	if err != nil {
		return nil, err
	}
	out := List[ConfigBackup]{Items: []ConfigBackup{}}
	for _, c := range all {
		text, err := a.Copies.Read(c.Name)
		out.Items = append(out.Items, ConfigBackup{c.Name, c.At, c.Bytes, err == nil && etagOf(text) == etag})
	}
	return reply(out)
}

// backUpConfig makes a backup of the configuration file.
func (a *API) backUpConfig() (name string, text []byte, etag string, err error) {
	path, text, etag, err := a.ConfigEditor.Text()
	if err == nil {
		name, err = a.Copies.Create(path, text, time.Now())
	}
	if err != nil {
		return "", nil, "", &core.Error{Code: core.CodeUnavailable, Message: "cannot back up the configuration", Hint: "Check that the disk is not full. Nothing was changed.", Cause: err}
	}
	return name, text, etag, nil
}

func (a *API) createConfigBackup(context.Context, *none) (*answer[ConfigBackup], error) {
	name, text, _, err := a.backUpConfig()
	if err != nil {
		return nil, err
	}
	return reply(ConfigBackup{name, time.Now().UTC(), int64(len(text)), true})
}

func (a *API) readCopy(name string) ([]byte, error) {
	text, err := a.Copies.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, core.Errorf(core.CodeNotFound, "there is no such backup of the configuration")
	}
	return text, err
}

func (a *API) getCopy(_ context.Context, in *copyInput) (*answer[ConfigBackupText], error) {
	text, err := a.readCopy(in.Name)
	if err != nil {
		return nil, err
	}
	path, now, etag, err := a.ConfigEditor.Text()
	if err != nil {
		return nil, err
	}
	_, problems := config.Parse(path, text)
	return reply(ConfigBackupText{Name: in.Name, Text: clientconf.MaskSecrets(text), Diff: clientconf.Diff(path, now, text), Etag: etag, Problems: nonNil(problems)})
}

func (a *API) restoreCopy(ctx context.Context, in *restoreConfigInput) (*answer[RestoredConfig], error) {
	text, err := a.readCopy(in.Name)
	if err != nil {
		return nil, err
	}
	undo, _, etag, err := a.backUpConfig()
	if err != nil {
		return nil, err
	}
	if in.Body.Etag != etag {
		return nil, conflictError()
	}
	if err := a.ConfigEditor.Replace(ctx, text, etag); err != nil {
		return nil, err
	}
	return reply(RestoredConfig{undo, etagOf(text)})
}

func conflictError() error {
	return &core.Error{Code: core.CodeConflict, Retriable: true, Message: "the configuration has changed since the preview", Hint: "Nothing was written. Review it again."}
}

func etagOf(text []byte) string { return config.ETag(text) }
