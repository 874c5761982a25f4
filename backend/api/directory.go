package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"drawbridge/backend/clientconf"
	"drawbridge/backend/directory"
	"drawbridge/backend/hub"
	"drawbridge/config"

	"github.com/danielgtaylor/huma/v2"
)

// Installable is one server of the directory.
type Installable struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Version     string          `json:"version"`
	Website     string          `json:"website"`
	Curated     bool            `json:"curated" doc:"It comes with Drawbridge"`
	Refused     string          `json:"refused" doc:"Why it cannot be installed; empty when it can"`
	Label       string          `json:"label" doc:"What it would be called"`
	Ways        []directory.Way `json:"ways" nullable:"false"`
}

// Directory is what can be installed.
type Directory struct {
	Items   []Installable `json:"items" nullable:"false"`
	Next    string        `json:"next"`
	Total   int           `json:"total"`
	TakenAt time.Time     `json:"takenAt" doc:"When the list was last refreshed; year 1 when it never was"`
	Address string        `json:"address" doc:"Where a refresh asks"`
}

type directoryInput struct {
	Search string `query:"search" maxLength:"200"`
}

type installBody struct {
	Name   string            `json:"name,omitempty" maxLength:"300" doc:"Of a server of the directory"`
	Way    int               `json:"way,omitempty" minimum:"0" doc:"Which of its ways"`
	Bundle string            `json:"bundle,omitempty" maxLength:"4096" doc:"Or the path of a .mcpb file on this machine"`
	Label  string            `json:"label,omitempty" maxLength:"64" doc:"What the server is to be called"`
	Values map[string]string `json:"values,omitempty" doc:"What was filled in, by the keys of the fields"`
	Entry  string            `json:"entry,omitempty" doc:"To install: the entry as the plan has shown it"`
}

type installInput struct{ Body installBody }

// Installation is what would be written.
type Installation struct {
	Label   string            `json:"label"`
	Entry   string            `json:"entry" doc:"JSON text: the server's object as it is written into the configuration"`
	Command []string          `json:"command" nullable:"false" doc:"What is run when the server starts"`
	Secrets []string          `json:"secrets" nullable:"false" doc:"Names under which secrets are stored"`
	Fields  []directory.Field `json:"fields" nullable:"false" doc:"What a bundle asks for"`
	Done    bool              `json:"done"`
}

func (a *API) registerDirectory(doc huma.API) {
	op(a, doc, "GET", "/api/v1/directory", "Servers that can be installed, at most 200 at once", a.listDirectory)
	op(a, doc, "POST", "/api/v1/directory/refresh", "Fetch the list of servers from the registry", a.refreshDirectory)
	op(a, doc, "POST", "/api/v1/directory/plan", "What an installation would write; nothing is changed", a.planInstall)
	op(a, doc, "POST", "/api/v1/directory/install", "Install: store the secrets, unpack a bundle, write the entry that the plan has shown. It is started as any new server is", a.install)
	op(a, doc, "GET", "/api/v1/share", "Servers, profiles and clients without secrets, to be given to others", a.share)
	op(a, doc, "POST", "/api/v1/share", "Add what somebody shared; servers that are there already stay", a.takeShared)
}

func (a *API) directory() (*directory.List, error) {
	if a.Directory == nil {
		return nil, hub.Errorf(hub.CodeUnavailable, "the directory is not in reach")
	}
	return a.Directory, nil
}

func (a *API) listDirectory(_ context.Context, in *directoryInput) (*answer[Directory], error) {
	d, err := a.directory()
	if err != nil {
		return nil, err
	}
	const most = 200
	all, taken := d.All()
	out := Directory{Items: []Installable{}, TakenAt: taken, Address: a.Files.Current().DirectoryURL}
	if out.Address == "" {
		out.Address = directory.DefaultAddress
	}
	words := strings.Fields(strings.ToLower(in.Search))
	for _, e := range all {
		r := e.Record
		text := strings.ToLower(r.Name + " " + r.Title + " " + r.Description)
		if slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			continue
		}
		if out.Total++; len(out.Items) == most {
			continue
		}
		one := Installable{Name: r.Name, Title: r.Title, Description: r.Description, Version: r.Version, Website: r.WebsiteURL, Curated: e.Curated, Refused: e.Refused, Ways: []directory.Way{}}
		if r.Repository != nil && one.Website == "" {
			one.Website = r.Repository.URL
		}
		if e.Refused == "" {
			one.Label, one.Ways = r.Label(), r.Ways()
		}
		out.Items = append(out.Items, one)
	}
	return reply(out)
}

func (a *API) refreshDirectory(ctx context.Context, _ *none) (*answer[Directory], error) {
	d, err := a.directory()
	if err != nil {
		return nil, err
	}
	if _, err := d.Refresh(ctx, a.Files.Current().DirectoryURL); err != nil {
		return nil, err
	}
	return a.listDirectory(ctx, &directoryInput{})
}

// planned makes the plan of an installation, with the bundle when it is one. With
// draft, what is missing makes no error: the form is about to be filled in.
func (a *API) planned(in installBody) (plan *directory.Plan, bundle *directory.Bundle, err error) {
	if in.Bundle == "" {
		d, err := a.directory()
		if err != nil {
			return nil, nil, err
		}
		e, err := d.Find(in.Name)
		if err != nil {
			return nil, nil, err
		}
		plan, err = e.Record.Install(in.Way, in.Label, in.Values)
		return plan, nil, err
	}
	src, err := readBundle(in.Bundle)
	if err != nil {
		return nil, nil, err
	}
	if bundle, err = directory.ReadBundle(src); err != nil {
		return nil, nil, err
	}
	plan, err = bundle.Install(a.Bundles, in.Label, in.Values)
	return plan, bundle, err
}

func readBundle(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, hub.Errorf(hub.CodeNotFound, "there is no file %q", path)
	case !info.Mode().IsRegular():
		return nil, hub.Errorf(hub.CodeValidation, "%q is no file", path)
	case info.Size() > directory.MaxBundle:
		return nil, hub.Errorf(hub.CodeValidation, "the bundle is larger than %d MiB", directory.MaxBundle>>20)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, &hub.Error{Code: hub.CodeUnavailable, Message: "the bundle cannot be read", Cause: err}
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, directory.MaxBundle+1))
}

func installation(plan *directory.Plan, bundle *directory.Bundle) Installation {
	out := Installation{Label: plan.Label, Command: full(plan.Command), Secrets: []string{}, Fields: []directory.Field{}}
	var entry bytes.Buffer
	_ = json.Indent(&entry, plan.Entry, "", "  ")
	out.Entry = entry.String()
	for name := range plan.Secrets {
		out.Secrets = append(out.Secrets, name)
	}
	slices.Sort(out.Secrets)
	if bundle != nil {
		out.Fields = bundle.Fields
	}
	return out
}

func (a *API) planInstall(_ context.Context, in *installInput) (*answer[Installation], error) {
	plan, bundle, err := a.planned(in.Body)
	if err != nil && bundle != nil && len(in.Body.Values) == 0 { // the form of the bundle, to begin with
		return reply(Installation{Label: bundle.Manifest.Name, Command: []string{}, Secrets: []string{}, Fields: bundle.Fields})
	}
	if err != nil {
		return nil, err
	}
	return reply(installation(plan, bundle))
}

func (a *API) install(ctx context.Context, in *installInput) (*answer[Installation], error) {
	plan, bundle, err := a.planned(in.Body)
	if err != nil {
		return nil, err
	}
	out := installation(plan, bundle)
	if in.Body.Entry != out.Entry {
		return nil, &hub.Error{Code: hub.CodeConflict, Message: "what would be written is not what was shown", Hint: "Look at the entry once more, then install it."}
	}
	id := hub.Slug(plan.Label)
	if _, taken := a.Files.Current().Server(id); taken {
		return nil, hub.Errorf(hub.CodeConflict, "there is already a server %q: give this one another name", id)
	}
	if bundle != nil {
		if err := bundle.Unpack(a.Bundles); err != nil {
			return nil, err
		}
	}
	if err := a.keepSecrets(ctx, plan.Secrets); err != nil {
		return nil, err
	}
	if a.Commands != nil {
		a.Commands.Expect(id)
	}
	if err := a.Files.Add(ctx, plan.Label, plan.Entry); err != nil {
		return nil, err
	}
	out.Done = true
	return reply(out)
}

// keepSecrets stores secrets under names that are free, or hold the same value.
func (a *API) keepSecrets(ctx context.Context, values map[string]string) error {
	if len(values) == 0 {
		return nil
	}
	s, err := a.secrets()
	if err != nil {
		return err
	}
	for name, value := range values {
		if old, err := s.Get(ctx, name); err == nil && old != value {
			return hub.Errorf(hub.CodeConflict, "there is another secret called %q: give the server another name, or remove that secret", name)
		}
	}
	return s.SetAll(ctx, values)
}

// Shared is what is given to others. It is a configuration file, too.
type Shared struct {
	Drawbridge string          `json:"drawbridge" doc:"The version that wrote it"`
	Servers    map[string]JSON `json:"mcpServers" nullable:"false"`
	Profiles   map[string]JSON `json:"profiles,omitempty"`
	Needs      []string        `json:"needs" nullable:"false" doc:"Names of secrets that whoever takes it has to give"`
}

// Taken is what became of what was shared.
type Taken struct {
	Added   []string `json:"added" nullable:"false"`
	Skipped []string `json:"skipped" nullable:"false" doc:"There was one of that name"`
	Missing []string `json:"missing" nullable:"false" doc:"Secrets that nobody has given yet"`
}

func (a *API) share(context.Context, *none) (*answer[Shared], error) {
	_, text, _, err := a.Files.Text()
	if err != nil {
		return nil, err
	}
	raw, err := config.ServersOf(text)
	if err != nil {
		return nil, hub.Errorf(hub.CodeUnavailable, "the configuration cannot be read: %v", err)
	}
	out := Shared{Drawbridge: a.Version, Servers: map[string]JSON{}, Profiles: map[string]JSON{}, Needs: []string{}}
	for label, entry := range raw {
		plain, names, err := clientconf.Shareable(label, entry)
		if err != nil {
			return nil, hub.Errorf(hub.CodeUnavailable, "the server %q cannot be shared", label)
		}
		out.Servers[label] = JSON(plain)
		out.Needs = append(out.Needs, names...)
	}
	for _, p := range a.Files.Current().Profiles {
		p.Folders = nil // of this machine
		out.Profiles[p.Name] = entryOf(p)
	}
	slices.Sort(out.Needs)
	out.Needs = slices.Compact(out.Needs)
	return reply(out)
}

type sharedInput struct {
	Body struct {
		Servers  map[string]JSON   `json:"mcpServers"`
		Profiles map[string]JSON   `json:"profiles,omitempty"`
		Secrets  map[string]string `json:"secrets,omitempty" doc:"Values by name, to be stored"`
	}
}

func (a *API) takeShared(ctx context.Context, in *sharedInput) (*answer[Taken], error) {
	if len(in.Body.Servers) > 200 || len(in.Body.Profiles) > 200 {
		return nil, hub.Errorf(hub.CodeValidation, "too much at once: at most 200 servers and profiles")
	}
	for name := range in.Body.Secrets {
		if in.Body.Secrets[name] == "" {
			delete(in.Body.Secrets, name)
		}
	}
	if err := a.keepSecrets(ctx, in.Body.Secrets); err != nil {
		return nil, err
	}
	out := Taken{Added: []string{}, Skipped: []string{}, Missing: []string{}}
	for _, label := range sortedNames(in.Body.Servers) {
		if _, taken := a.Files.Current().Server(hub.Slug(label)); taken {
			out.Skipped = append(out.Skipped, label)
			continue
		}
		if a.Commands != nil {
			a.Commands.Expect(hub.Slug(label))
		}
		if err := a.Files.Add(ctx, label, []byte(in.Body.Servers[label])); err != nil {
			return nil, err
		}
		out.Added = append(out.Added, label)
	}
	for _, name := range sortedNames(in.Body.Profiles) {
		if _, taken := a.Files.Current().Profile(name); taken {
			out.Skipped = append(out.Skipped, "profile "+name)
			continue
		}
		if err := a.Reach.SetProfile(ctx, name, json.RawMessage(in.Body.Profiles[name])); err != nil {
			return nil, err
		}
		out.Added = append(out.Added, "profile "+name)
	}
	used := config.SecretsOf(a.Files.Current())
	for name := range used {
		if a.Secrets == nil {
			out.Missing = append(out.Missing, name)
		} else if _, err := a.Secrets.Get(ctx, name); err != nil {
			out.Missing = append(out.Missing, name)
		}
	}
	slices.Sort(out.Missing)
	return reply(out)
}

func sortedNames(m map[string]JSON) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
