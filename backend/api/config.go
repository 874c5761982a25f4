package api

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
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

func (a *API) registerBackups(r *web.Router) {
	web.Op(r, "GET", "/api/v1/config/backups", "Backups of the configuration file, newest first", a.listCopies)
	web.Op(r, "POST", "/api/v1/config/backups", "Back up the current configuration file", a.createConfigBackup)
	web.Op(r, "POST", "/api/v1/config/retention-preview", "Number of recorded calls that a new configuration would delete, because of shorter retention", a.previewRetention)
	web.Op(r, "GET", "/api/v1/config/backups/{name}", "A backup, and the changes that restoring it would make", a.getCopy)
	web.Op(r, "POST", "/api/v1/config/backups/{name}/restore", "Restore a backup; the current file is backed up first", a.restoreCopy)
}

func (a *API) listCopies(context.Context, *web.None) (*web.Answer[web.List[ConfigBackup]], error) {
	all, err := a.Copies.List()
	if err != nil {
		return nil, err
	}
	_, _, etag, err := a.ConfigEditor.Text()
	if err != nil {
		return nil, err
	}
	out := web.List[ConfigBackup]{Items: []ConfigBackup{}}
	for _, c := range all {
		text, err := a.Copies.Read(c.Name)
		out.Items = append(out.Items, ConfigBackup{c.Name, c.At, c.Bytes, err == nil && etagOf(text) == etag})
	}
	return web.Reply(out)
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

func (a *API) createConfigBackup(context.Context, *web.None) (*web.Answer[ConfigBackup], error) {
	name, text, _, err := a.backUpConfig()
	if err != nil {
		return nil, err
	}
	return web.Reply(ConfigBackup{name, time.Now().UTC(), int64(len(text)), true})
}

func (a *API) readCopy(name string) ([]byte, error) {
	text, err := a.Copies.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, core.Errorf(core.CodeNotFound, "there is no such backup of the configuration")
	}
	return text, err
}

func (a *API) getCopy(_ context.Context, in *copyInput) (*web.Answer[ConfigBackupText], error) {
	text, err := a.readCopy(in.Name)
	if err != nil {
		return nil, err
	}
	path, now, etag, err := a.ConfigEditor.Text()
	if err != nil {
		return nil, err
	}
	_, problems := config.Parse(path, text)
	return web.Reply(ConfigBackupText{Name: in.Name, Text: clientconf.MaskSecrets(text), Diff: clientconf.Diff(path, now, text), Etag: etag, Problems: web.NonNil(problems)})
}

func (a *API) restoreCopy(ctx context.Context, in *restoreConfigInput) (*web.Answer[RestoredConfig], error) {
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
	a.expectCommands(text)
	if err := a.ConfigEditor.Replace(ctx, text, etag); err != nil {
		return nil, err
	}
	return web.Reply(RestoredConfig{undo, etagOf(text)})
}

type reloadInput struct {
	Body *struct {
		Confirm string `json:"confirm,omitempty" maxLength:"64" doc:"A change that is held back, as the field held of its problem names it, or * for any: it is applied, unless the files have changed since"`
	}
}

func (a *API) reloadConfig(ctx context.Context, in *reloadInput) (*web.None, error) {
	confirm := ""
	if in.Body != nil {
		confirm = in.Body.Confirm
	}
	return &web.None{}, a.ConfigEditor.Sync(ctx, confirm)
}

func conflictError() error {
	return &core.Error{Code: core.CodeConflict, Retriable: true, Message: "the configuration has changed since the preview", Hint: "Nothing was written. Review it again."}
}

func etagOf(text []byte) string { return config.ETag(text) }

type configAnswer struct {
	ETag string `header:"ETag"`
	Body ConfigFile
}

func (a *API) getConfig(context.Context, *web.None) (*configAnswer, error) {
	path, text, etag, err := a.ConfigEditor.Text()
	if err != nil {
		return nil, &core.Error{Code: core.CodeUnavailable, Message: "cannot read the configuration file", Cause: err}
	}
	return &configAnswer{ETag: `"` + etag + `"`, Body: ConfigFile{Path: path, Text: string(text), ETag: etag, Problems: web.NonNil(a.ConfigEditor.Problems())}}, nil
}

type configInput struct {
	IfMatch string `header:"If-Match" maxLength:"200" doc:"ETag of the file that the edit is based on; required"`
	Body    struct {
		Text string `json:"text" maxLength:"2000000"`
	}
}

func (a *API) putConfig(ctx context.Context, in *configInput) (*configAnswer, error) {
	etag, err := ifMatch(in.IfMatch)
	if err == nil {
		a.expectCommands([]byte(in.Body.Text))
		err = a.ConfigEditor.Replace(ctx, []byte(in.Body.Text), etag)
	}
	return a.changedConfig(ctx, err)
}

// expectCommands announces the commands that a new text of the file adds or changes: the user has written
// them, so they need no notice. Approvals that the configuration requires are not affected.
func (a *API) expectCommands(text []byte) {
	c, _ := config.Parse(a.ConfigPath, text)
	if c == nil {
		return
	}
	was := a.ConfigEditor.Current()
	for i := range c.Servers {
		if old, known := was.Server(c.Servers[i].ID); !known || !old.Equal(c.Servers[i]) {
			a.Commands.ExpectCommand(&c.Servers[i])
		}
	}
}

// ifMatch returns the etag of the required header If-Match.
func ifMatch(header string) (string, error) {
	if etag := strings.Trim(header, `" `); etag != "" {
		return etag, nil
	}
	return "", &web.ErrorDocument{
		Title: http.StatusText(http.StatusPreconditionRequired), Status: http.StatusPreconditionRequired, Code: core.CodeValidation,
		Detail: "the header If-Match is missing", Hint: "Read the file first and send its etag.",
	}
}

// changedConfig answers a change of the file that depends on If-Match.
func (a *API) changedConfig(ctx context.Context, err error) (*configAnswer, error) {
	if core.CodeOf(err) == core.CodeConflict {
		p := web.Problem(err)
		p.Status, p.Title = http.StatusPreconditionFailed, http.StatusText(http.StatusPreconditionFailed)
		return nil, p
	}
	if err != nil {
		return nil, err
	}
	return a.getConfig(ctx, nil)
}

type patchConfigInput struct {
	IfMatch string `header:"If-Match" maxLength:"200" doc:"ETag of the file that the edit is based on, or * for any in a dry run; required"`
	Body    struct {
		Edits  []config.Edit `json:"edits" minItems:"1" maxItems:"1000" nullable:"false"`
		DryRun bool          `json:"dryRun" required:"false" doc:"Write nothing, and return the text that would be written with its problems"`
	}
}

func (a *API) patchConfig(ctx context.Context, in *patchConfigInput) (*configAnswer, error) {
	etag, err := ifMatch(in.IfMatch)
	if err != nil || !in.Body.DryRun {
		if err == nil {
			if text, _, fault := a.ConfigEditor.TryPatch(in.Body.Edits, etag); fault == nil {
				a.expectCommands(text)
			}
			err = a.ConfigEditor.Patch(ctx, in.Body.Edits, etag)
		}
		return a.changedConfig(ctx, err)
	}
	text, problems, err := a.ConfigEditor.TryPatch(in.Body.Edits, etag)
	answer, err := a.changedConfig(ctx, err)
	if err == nil {
		answer.Body.Text, answer.Body.Problems = string(text), web.NonNil(problems)
	}
	return answer, err
}

type renameInput struct {
	ID   string `path:"id" maxLength:"256" server:"name" doc:"Server id or name"`
	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"64" doc:"New name in the configuration"`
	}
}

// RenamedServer is a server after it was renamed.
type RenamedServer struct {
	core.ServerStatus
	Warnings []string `json:"renameWarnings" nullable:"false" doc:"References to the old name that were not changed"`
}

// renameServer renames a server in the configuration. Its history is renamed before it starts under
// the new name, and renamed back if the file cannot be written.
func (a *API) renameServer(ctx context.Context, in *renameInput) (*web.Answer[RenamedServer], error) {
	old, ok := a.Servers.Status(in.ID)
	if !ok {
		return nil, web.ErrNoSuchServer
	}
	to, err := a.Renamer.CheckRename(old.ID, in.Body.Name)
	if err != nil {
		return nil, err
	}
	back := func(context.Context) error { return nil }
	if to != old.ID {
		move := func() error {
			back, err = a.History.Store.RenameServer(ctx, old.ID, to)
			return err
		}
		if err := a.Trust.Rename(ctx, old.ID, to, move); err != nil {
			return nil, err
		}
		a.Commands.SuppressCommandNotice(to) // its command was approved under the old name
	}
	if to != old.ID && (old.Transport == core.HTTP || old.Transport == core.SSE) {
		if err := a.Logins.Rename(ctx, old.ID, to); err != nil {
			a.Log.Warn("Cannot move the sign-in tokens of a renamed server", "server", old.ID, "error", err) // it will request a new one
		} else {
			undo := back
			back = func(ctx context.Context) error { return errors.Join(a.Logins.Rename(ctx, to, old.ID), undo(ctx)) }
		}
	}
	_, warnings, err := a.Renamer.Rename(ctx, old.ID, in.Body.Name)
	if err != nil {
		if _, done := a.Servers.Status(to); !done {
			if undone := back(context.WithoutCancel(ctx)); undone != nil {
				a.Log.Error("Cannot revert the new server name in the history", "server", old.ID, "error", undone)
			}
		}
		return nil, err
	}
	if to != old.ID {
		a.Observer.Renamed(old.ID, to)
	}
	warnings = append(warnings, a.Clients.RenameServer(ctx, old.ID, to, in.Body.Name)...)
	if err := a.History.RenameInChecks(ctx, old.ID, to); err != nil {
		a.Log.Warn("Cannot update a server's name in the saved checks", "server", old.ID, "error", err)
	}
	st, ok := a.Servers.Status(to)
	if !ok { // the configuration takes effect a moment later
		st = core.ServerStatus{ID: to, Label: in.Body.Name, State: core.StateStopped}
	}
	return web.Reply(RenamedServer{st, append([]string{}, warnings...)})
}

// serverID returns the id of the server with the name or id text; text itself if there is none.
func (a *API) serverID(text string) (string, error) {
	if text == "" {
		return text, nil
	}
	if _, ok := a.Servers.Status(text); ok {
		return text, nil
	}
	statuses := a.Servers.Statuses()
	names := make([]core.ServerIdentity, len(statuses))
	for i := range statuses {
		names[i] = core.ServerIdentity{ID: statuses[i].ID, Label: statuses[i].Label}
	}
	id, err := core.FindServer(names, text)
	if id == "" {
		id = text
	}
	return id, err
}
