package api

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
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
	if err := a.ConfigEditor.Replace(ctx, text, etag); err != nil {
		return nil, err
	}
	return web.Reply(RestoredConfig{undo, etagOf(text)})
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
		err = a.ConfigEditor.Replace(ctx, []byte(in.Body.Text), etag)
	}
	return a.changedConfig(ctx, err)
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
	to, err := a.ConfigEditor.CheckRename(old.ID, in.Body.Name)
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
	_, warnings, err := a.ConfigEditor.Rename(ctx, old.ID, in.Body.Name)
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
	if err := a.History.RenameInChecks(ctx, old.ID, to); err != nil {
		a.Log.Warn("Cannot update a server's name in the saved checks", "server", old.ID, "error", err)
	}
	st, ok := a.Servers.Status(to)
	if !ok { // the configuration takes effect a moment later
		st = core.ServerStatus{ID: to, Label: in.Body.Name, State: core.StateStopped}
	}
	return web.Reply(RenamedServer{st, append([]string{}, warnings...)})
}

// ToolWithSettings is one tool of a server, visible to clients or not.
type ToolWithSettings struct {
	Tool        string       `json:"tool" doc:"The server's own name"`
	PublicName  string       `json:"publicName" doc:"Public name at the endpoint that combines all servers; empty if hidden"`
	Title       string       `json:"title"`
	Description string       `json:"description" doc:"Description of the server"`
	Shown       bool         `json:"shown"`
	HiddenBy    string       `json:"hiddenBy" enum:",enabled,includeTools,excludeTools,toolChanges" doc:"Configuration key that hides it"`
	ReadOnly    *bool        `json:"readOnly" doc:"As declared by the server; null if not declared"`
	Destructive *bool        `json:"destructive"`
	Idempotent  *bool        `json:"idempotent"`
	OpenWorld   *bool        `json:"openWorld"`
	Settings    ToolSettings `json:"settings" doc:"Settings of this tool in the configuration; empty values are unset"`
}

// ToolSettings are the keys of one tool in the configuration.
type ToolSettings struct {
	Enabled          bool            `json:"enabled"`
	Rename           string          `json:"rename"`
	Title            string          `json:"title"`
	Description      string          `json:"description"`
	Annotations      map[string]bool `json:"annotations" nullable:"false" doc:"What replaces the annotations of the server, such as readOnlyHint"`
	RequestTimeoutMs int64           `json:"requestTimeoutMs"`
	MaxRequestMs     int64           `json:"maxRequestMs"`
	CacheTTLMs       int64           `json:"cacheTtlMs"`
	Approval         string          `json:"approval" enum:",never,ask,deny,destructive"`
	AllowClients     []string        `json:"allowClients" nullable:"false"`
	ValidateInput    string          `json:"validateInput" enum:",off,reject"`
	Record           string          `json:"record" enum:",full,meta,off" doc:"Upper limit for the recording of its calls; overrides the server's setting"`
	RateLimit        *RateSetting    `json:"rateLimit"`
	Retry            *RetrySettings  `json:"retry"`
}

// RateSetting is a rate limit of the configuration.
type RateSetting struct {
	PerSecond float64 `json:"perSecond"`
	Burst     int     `json:"burst"`
	By        string  `json:"by" enum:"client,session"`
}

// RetrySettings configures retries.
type RetrySettings struct {
	Attempts int     `json:"attempts"`
	DelaysMs []int64 `json:"delaysMs" nullable:"false"`
}

// catalogOf returns the catalog of a server; nil if it was never listed.
func (a *API) catalogOf(server string) *core.Catalog {
	offers := a.Views.All().Offers()
	i := slices.IndexFunc(offers, func(o registry.Offer) bool { return o.Server == server })
	if i < 0 {
		return nil
	}
	return offers[i].Catalog
}

func (a *API) registerToolSettings(r *web.Router) {
	web.Op(r, "GET", "/api/v1/servers/{id}/tools", "All tools of a server, including hidden ones, with their settings", a.listToolSettings)
	web.Op(r, "POST", "/api/v1/servers/{id}/tools", "Change tool settings in the configuration, in a single edit", a.setTools)
}

func (a *API) listToolSettings(_ context.Context, in *web.ServerInput) (*web.Answer[web.List[ToolWithSettings]], error) {
	c, ok := a.ConfigEditor.Current().Server(in.ID)
	if !ok {
		return nil, web.ErrNoSuchServer
	}
	public := map[string]string{}
	for _, item := range a.Views.All().Items(core.Tools) {
		if item.Server == c.ID {
			public[item.Name] = item.Public
		}
	}
	list := web.List[ToolWithSettings]{Items: []ToolWithSettings{}}
	if catalog := a.catalogOf(c.ID); catalog != nil {
		for _, item := range catalog.Tools {
			one := toolSetting(item, c.Filter, public[item.Name])
			if one.Shown && a.withheld(c.ID, item.Name) {
				one.Shown, one.HiddenBy = false, "toolChanges"
			}
			list.Items = append(list.Items, one)
		}
	}
	return web.Reply(list)
}

func toolSetting(item core.Item, f *config.Filter, public string) ToolWithSettings {
	var about struct {
		Title       string `json:"title"`
		Description string `json:"description"`
		Annotations struct {
			Title       string `json:"title"`
			ReadOnly    *bool  `json:"readOnlyHint"`
			Destructive *bool  `json:"destructiveHint"`
			Idempotent  *bool  `json:"idempotentHint"`
			OpenWorld   *bool  `json:"openWorldHint"`
		} `json:"annotations"`
	}
	_ = json.Unmarshal(item.Raw, &about) // untrusted data: invalid fields stay empty
	s := ToolWithSettings{
		Tool: item.Name, PublicName: public, Title: about.Title, Description: about.Description,
		ReadOnly: about.Annotations.ReadOnly, Destructive: about.Annotations.Destructive, Idempotent: about.Annotations.Idempotent, OpenWorld: about.Annotations.OpenWorld,
		HiddenBy: f.HiddenBy(item.Name), Settings: ToolSettings{Enabled: true, AllowClients: []string{}, Annotations: map[string]bool{}},
	}
	if s.Title == "" {
		s.Title = about.Annotations.Title
	}
	s.Shown = s.HiddenBy == ""
	if f == nil {
		return s
	}
	t := f.Tools[item.Name]
	s.Settings = ToolSettings{
		Enabled: !t.Disabled, Rename: t.Rename, Title: t.Title, Description: t.Description, Annotations: maps.Clone(t.Annotations),
		RequestTimeoutMs: t.RequestTimeout.Milliseconds(), MaxRequestMs: t.MaxRequest.Milliseconds(), CacheTTLMs: t.CacheTTL.Milliseconds(),
		Approval: t.Approval, AllowClients: web.NonNil(t.AllowClients), ValidateInput: t.ValidateInput, Record: t.Record,
	}
	if s.Settings.Annotations == nil {
		s.Settings.Annotations = map[string]bool{}
	}
	if r := t.RateLimit; r != nil {
		s.Settings.RateLimit = &RateSetting{r.PerSecond, r.Burst, r.By}
	}
	if r := t.Retry; r != nil {
		s.Settings.Retry = &RetrySettings{Attempts: r.Attempts, DelaysMs: []int64{}}
		for _, d := range r.Delays {
			s.Settings.Retry.DelaysMs = append(s.Settings.Retry.DelaysMs, d.Milliseconds())
		}
	}
	return s
}

type setToolsInput struct {
	ID   string `path:"id" maxLength:"256" server:"name" doc:"Server id or name"`
	Body struct {
		Tools []string            `json:"tools" minItems:"1" maxItems:"5000" nullable:"false" doc:"The server's own names for the tools"`
		Set   map[string]web.JSON `json:"set" doc:"Keys to change, as in the configuration; null removes a key"`
	}
}

// toolKeys are the settings that can be changed.
var toolKeys = []string{
	"enabled", "rename", "title", "description", "annotations", "requestTimeoutMs", "maxRequestMs", "cacheTtlMs",
	"approval", "allowClients", "validateInput", "record", "rateLimit", "retry",
}

func (a *API) setTools(ctx context.Context, in *setToolsInput) (*web.Answer[web.List[ToolWithSettings]], error) {
	invalid := func(field, message string) error {
		return &core.Error{Code: core.CodeValidation, Message: "the request is not valid",
			Fields: []core.FieldError{{Field: field, Error: message}}}
	}
	set := make(map[string]json.RawMessage, len(in.Body.Set))
	for key, value := range in.Body.Set {
		if !slices.Contains(toolKeys, key) {
			return nil, invalid("body.set", "contains an unknown key")
		}
		set[key] = json.RawMessage(value)
	}
	if slices.Contains(in.Body.Tools, "") {
		return nil, invalid("body.tools", "contains an empty name")
	}
	if err := a.ConfigEditor.SetTools(ctx, in.ID, in.Body.Tools, set); err != nil {
		return nil, err
	}
	list, err := a.listToolSettings(ctx, &web.ServerInput{ID: in.ID})
	if err != nil {
		return nil, err
	}
	known := make(map[string]ToolWithSettings, len(list.Body.Items))
	for _, t := range list.Body.Items {
		known[t.Tool] = t
	}
	c, _ := a.ConfigEditor.Current().Server(in.ID)
	changed := web.List[ToolWithSettings]{Items: []ToolWithSettings{}}
	for _, name := range in.Body.Tools {
		t, ok := known[name]
		if !ok { // the server does not offer it at the moment
			t = toolSetting(core.Item{Name: name}, c.Filter, "")
		}
		changed.Items = append(changed.Items, t)
	}
	return web.Reply(changed)
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

// withheld reports whether a tool is hidden from clients because its definition changed.
func (a *API) withheld(server, tool string) bool {
	view, ok := a.Views.Server(server)
	if !ok {
		return false
	}
	_, held := view.Withheld(core.Tools, tool)
	return held
}
