package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/marketplace"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
)

// Installable is one server of the marketplace.
type Installable struct {
	Name        string                      `json:"name"`
	Title       string                      `json:"title"`
	Description string                      `json:"description"`
	Version     string                      `json:"version"`
	Website     string                      `json:"website"`
	Curated     bool                        `json:"curated" doc:"Whether it is part of Drawbridge"`
	Refused     string                      `json:"refused" doc:"Why it cannot be installed; empty if it can"`
	Label       string                      `json:"label" doc:"Default name"`
	Options     []marketplace.InstallOption `json:"options" nullable:"false"`
	Repository  string                      `json:"repository" doc:"Source repository, as stated by the publisher"`
	Installed   []string                    `json:"installed" nullable:"false" doc:"Ids of the servers that use this package or URL"`
}

// Directory lists the installable servers.
type Directory struct {
	Items       []Installable `json:"items" nullable:"false"`
	Next        string        `json:"next"`
	Total       int           `json:"total"`
	RefreshedAt time.Time     `json:"refreshedAt" doc:"Time of the last refresh; 0001-01-01T00:00:00Z if there was none"`
	Address     string        `json:"address" doc:"Address of the registry that a refresh uses"`
}

type directoryInput struct {
	Search string `query:"search" maxLength:"200"`
	Kind   string `query:"kind" enum:"npx,uvx,docker,dnx,address" doc:"Program that runs it, or address"`
	Only   string `query:"only" enum:"curated,installed,installable"`
}

type installBody struct {
	Name   string            `json:"name,omitempty" maxLength:"300" doc:"Name of a server of the directory"`
	Option int               `json:"option,omitempty" minimum:"0" doc:"Index in options"`
	Bundle string            `json:"bundle,omitempty" maxLength:"4096" doc:"Alternatively, the path of a .mcpb file on this machine"`
	Upload string            `json:"upload,omitempty" maxLength:"64" doc:"Alternatively, the id of an uploaded bundle"`
	Label  string            `json:"label,omitempty" maxLength:"64" doc:"Name of the server"`
	Values map[string]string `json:"values,omitempty" doc:"Form values by field key"`
	Entry  string            `json:"entry,omitempty" doc:"To install: the entry that the plan returned"`
}

type installInput struct{ Body installBody }

// Installation is the entry that would be written.
type Installation struct {
	Label   string              `json:"label"`
	Entry   string              `json:"entry" doc:"JSON text: the server's object for the configuration"`
	Command []string            `json:"command" nullable:"false" doc:"Command line of the server"`
	Secrets []string            `json:"secrets" nullable:"false" doc:"Names under which secrets are stored"`
	Fields  []marketplace.Field `json:"fields" nullable:"false" doc:"Form of a bundle"`
	Missing []string            `json:"missing" nullable:"false" doc:"Keys of required fields without a value; if there are any, entry is empty"`
	Bundle  *marketplace.About  `json:"bundle,omitempty"`
	Done    bool                `json:"done"`
	ID      string              `json:"id" doc:"Server id"`
}

func (a *API) registerDirectory(r *web.Router) {
	web.Op(r, "GET", "/api/v1/directory", "Servers that can be installed, at most 200 at once", a.listDirectory)
	web.Op(r, "POST", "/api/v1/directory/refresh", "Download the list of servers from the registry", a.refreshDirectory)
	web.Op(r, "POST", "/api/v1/directory/plan", "Preview an installation; nothing is changed", a.planInstall)
	web.Op(r, "POST", "/api/v1/directory/install", "Install a server as previewed: store its secrets, unpack its bundle and add its entry, which starts like any new server", a.install)
	web.Op(r, "POST", "/api/v1/directory/uploads", "Begin the upload of a bundle; it expires after 30 minutes", a.beginUpload)
	web.Op(r, "PUT", "/api/v1/directory/uploads/{id}", "Upload the next part of a bundle, at most 2 MiB", a.appendUpload)
	web.Op(r, "DELETE", "/api/v1/directory/uploads/{id}", "Discard an upload", a.forgetUpload)
	a.registerBackups(r)
}

func (a *API) listDirectory(_ context.Context, in *directoryInput) (*web.Answer[Directory], error) {
	const most = 200
	all, taken := a.Directory.All()
	out := Directory{Items: []Installable{}, RefreshedAt: taken, Address: a.ConfigEditor.Current().DirectoryURL}
	if out.Address == "" {
		out.Address = marketplace.DefaultAddress
	}
	words := strings.Fields(strings.ToLower(in.Search))
	running := a.packages()
	for _, e := range all {
		r := e.Record
		text := strings.ToLower(r.Name + " " + r.Title + " " + r.Description)
		if slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			continue
		}
		installed := running.serversOf(r)
		switch {
		case in.Kind != "" && !slices.ContainsFunc(r.Launchers(), func(k string) bool { return k == in.Kind }),
			in.Only == "curated" && !e.Curated, in.Only == "installed" && len(installed) == 0, in.Only == "installable" && e.Refused != "":
			continue
		}
		if out.Total++; len(out.Items) == most {
			continue
		}
		one := Installable{Name: r.Name, Title: r.Title, Description: r.Description, Version: r.Version, Website: r.WebsiteURL, Curated: e.Curated, Refused: e.Refused, Options: []marketplace.InstallOption{}, Installed: web.NonNil(installed)}
		if r.Repository != nil {
			one.Repository = r.Repository.URL
		}
		if e.Refused == "" {
			one.Label, one.Options = r.Label(), r.Options()
		}
		out.Items = append(out.Items, one)
	}
	return web.Reply(out)
}

func (a *API) refreshDirectory(ctx context.Context, _ *web.None) (*web.Answer[Directory], error) {
	if _, err := a.Directory.Refresh(ctx, a.ConfigEditor.Current().DirectoryURL); err != nil {
		return nil, err
	}
	return a.listDirectory(ctx, &directoryInput{})
}

// planInstallation returns the plan of an installation, with the bundle if it is one.
func (a *API) planInstallation(in installBody) (plan *marketplace.Plan, bundle *marketplace.Bundle, err error) {
	if in.Bundle == "" && in.Upload == "" {
		e, err := a.Directory.Find(in.Name)
		if err != nil {
			return nil, nil, err
		}
		plan, err = e.Record.Install(in.Option, in.Label, in.Values)
		return plan, nil, err
	}
	var src []byte
	if in.Upload != "" {
		src, err = a.uploads.Read(in.Upload)
	} else {
		src, err = readBundle(in.Bundle)
	}
	if err != nil {
		return nil, nil, err
	}
	if bundle, err = marketplace.ReadBundle(src); err != nil {
		return nil, nil, err
	}
	plan, err = bundle.Install(a.BundleFolder, in.Label, in.Values)
	return plan, bundle, err
}

func readBundle(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, core.Errorf(core.CodeNotFound, "there is no file %q", path)
	case !info.Mode().IsRegular():
		return nil, core.Errorf(core.CodeValidation, "%q is not a file", path)
	case info.Size() > marketplace.MaxBundle:
		return nil, core.Errorf(core.CodeValidation, "the bundle is larger than %d MiB", marketplace.MaxBundle>>20)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, &core.Error{Code: core.CodeUnavailable, Message: "cannot read the bundle", Cause: err}
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, marketplace.MaxBundle+1))
}

func (a *API) installation(plan *marketplace.Plan, bundle *marketplace.Bundle) Installation {
	out := Installation{Command: []string{}, Secrets: []string{}, Fields: []marketplace.Field{}, Missing: []string{}}
	if bundle != nil {
		about := bundle.About(a.BundleFolder)
		out.Label, out.Fields, out.Bundle = bundle.Manifest.Name, bundle.Fields, &about
	}
	if plan == nil {
		return out
	}
	out.Label, out.Command, out.ID = plan.Label, web.NonNil(plan.Command), core.Slug(plan.Label)
	var entry bytes.Buffer
	_ = json.Indent(&entry, plan.Entry, "", "  ")
	out.Entry = entry.String()
	for name := range plan.Secrets {
		out.Secrets = append(out.Secrets, name)
	}
	slices.Sort(out.Secrets)
	return out
}

// planInstall returns the entry that would be written, or the fields that are still required.
func (a *API) planInstall(_ context.Context, in *installInput) (*web.Answer[Installation], error) {
	plan, bundle, err := a.planInstallation(in.Body)
	var wanted *marketplace.MissingFields
	if errors.As(err, &wanted) {
		out := a.installation(nil, bundle)
		out.Missing = wanted.Keys
		return web.Reply(out)
	}
	if err != nil {
		return nil, err
	}
	return web.Reply(a.installation(plan, bundle))
}

func (a *API) install(ctx context.Context, in *installInput) (*web.Answer[Installation], error) {
	plan, bundle, err := a.planInstallation(in.Body)
	if err != nil {
		return nil, err
	}
	out := a.installation(plan, bundle)
	if in.Body.Entry != out.Entry {
		return nil, &core.Error{Code: core.CodeConflict, Message: "the entry has changed since you reviewed it", Hint: "Review the entry again, then install it."}
	}
	id := core.Slug(plan.Label)
	if _, taken := a.ConfigEditor.Current().Server(id); taken {
		return nil, core.Errorf(core.CodeConflict, "a server named %q already exists: choose another name", id)
	}
	if bundle != nil {
		if err := bundle.Unpack(a.BundleFolder); err != nil {
			return nil, err
		}
		a.uploads.Forget(in.Body.Upload)
	}
	if err := a.keepSecrets(ctx, plan.Secrets); err != nil {
		return nil, err
	}
	a.CommandApprovals.SuppressCommandNotice(id)
	if err := a.ConfigEditor.Add(ctx, plan.Label, plan.Entry); err != nil {
		return nil, err
	}
	out.Done = true
	return web.Reply(out)
}

type uploadInput struct {
	Body struct {
		Size int64 `json:"size" minimum:"1" doc:"File size in bytes"`
	}
}

type partInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body struct {
		Offset int64  `json:"offset" minimum:"0"`
		Part   []byte `json:"part" doc:"base64"`
	}
}

type uploadIDInput struct {
	ID string `path:"id" maxLength:"64"`
}

// Upload is a bundle that is being uploaded.
type Upload struct {
	ID       string `json:"id"`
	Received int64  `json:"received" doc:"Bytes received; offset of the next part"`
}

func (a *API) beginUpload(_ context.Context, in *uploadInput) (*web.Answer[Upload], error) {
	if a.BundleFolder == "" {
		return nil, core.Errorf(core.CodeUnavailable, "bundles are not available")
	}
	id, err := a.uploads.Begin(in.Body.Size)
	if err != nil {
		return nil, err
	}
	return web.Reply(Upload{ID: id})
}

func (a *API) appendUpload(_ context.Context, in *partInput) (*web.Answer[Upload], error) {
	got, err := a.uploads.Append(in.ID, in.Body.Offset, in.Body.Part)
	if err != nil {
		return nil, err
	}
	return web.Reply(Upload{in.ID, got})
}

func (a *API) forgetUpload(_ context.Context, in *uploadIDInput) (*web.None, error) {
	a.uploads.Forget(in.ID)
	return &web.None{}, nil
}

// packageIndex maps packages and URLs to the servers of the configuration that use them.
type packageIndex map[string][]string

func (a *API) packages() packageIndex {
	all := packageIndex{}
	for _, s := range a.ConfigEditor.Current().Servers {
		key := ""
		if spec, ok := marketplace.Find(&s); ok {
			key = spec.Launcher + " " + spec.Package
		} else if s.URL != "" {
			key = strings.TrimSuffix(s.URL, "/")
		}
		if key != "" {
			all[key] = append(all[key], s.ID)
		}
	}
	return all
}

// serversOf returns the servers that run a package of r or use one of its URLs.
func (p packageIndex) serversOf(r *marketplace.Record) (ids []string) {
	for _, one := range r.Packages {
		launcher := map[string]string{"npm": marketplace.NPX, "pypi": marketplace.UVX, "oci": marketplace.Image}[one.RegistryType]
		ids = append(ids, p[launcher+" "+one.NameWithoutVersion()]...)
	}
	for _, one := range r.Remotes {
		ids = append(ids, p[strings.TrimSuffix(one.URL, "/")]...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// keepSecrets stores secrets under names that are free or already hold the same value.
func (a *API) keepSecrets(ctx context.Context, values map[string]string) error {
	if len(values) == 0 {
		return nil
	}
	for name, value := range values {
		if old, err := a.Secrets.Get(ctx, name); err == nil && old != value {
			return core.Errorf(core.CodeConflict, "a secret named %q already exists: choose another name for the server, or remove that secret", name)
		}
	}
	return a.Secrets.SetAll(ctx, values)
}
