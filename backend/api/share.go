package api

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/marketplace"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"
	"github.com/drawbridge-mcp/drawbridge/backend/reload"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/danielgtaylor/huma/v2"
)

const (
	maxShared = 200     // servers and profiles
	maxFile   = 1 << 20 // bytes of a shared file
)

// Shared is a file for other users. It is also a valid configuration file.
type Shared struct {
	Drawbridge     string          `json:"drawbridge" doc:"Version of Drawbridge that wrote the file"`
	Servers        map[string]JSON `json:"mcpServers" nullable:"false"`
	Profiles       map[string]JSON `json:"profiles,omitempty"`
	MissingSecrets []string        `json:"missingSecrets" nullable:"false" doc:"Names of the secrets that the recipient has to provide"`
}

// SharedServer is a server of a shared file with the effects of importing it.
type SharedServer struct {
	Label     string   `json:"label"`
	State     string   `json:"state" enum:"new,exists,rejected"`
	Reason    string   `json:"reason" doc:"Why it is rejected"`
	Command   []string `json:"command" nullable:"false" doc:"Command line"`
	URL       string   `json:"url" doc:"Alternatively, the address"`
	Secrets   []string `json:"secrets" nullable:"false" doc:"Names of the secrets that it uses"`
	Variables []string `json:"variables" nullable:"false" doc:"Names of the environment variables of this computer that it uses"`
}

// SharedProfile is a profile of a shared file.
type SharedProfile struct {
	Name   string `json:"name"`
	State  string `json:"state" enum:"new,exists,rejected"`
	Reason string `json:"reason"`
}

// SharedImport describes the changes of importing a shared file, planned or made.
type SharedImport struct {
	Servers        []SharedServer  `json:"servers" nullable:"false"`
	Profiles       []SharedProfile `json:"profiles" nullable:"false"`
	Diff           string          `json:"diff" doc:"Changes to the configuration file, with recognized secrets redacted; empty if nothing changes"`
	MissingSecrets []string        `json:"missingSecrets" nullable:"false" doc:"Secrets that new servers refer to and that are not stored"`
	StoredSecrets  []string        `json:"storedSecrets" nullable:"false" doc:"Stored secrets that new servers would get"`
	Done           bool            `json:"done"`
	NewSecrets     []string        `json:"newSecrets" nullable:"false" doc:"Secrets that were stored by this import"`
	Backup         string          `json:"backup" doc:"Backup of the previous configuration"`
	Etag           string          `json:"etag" doc:"ETag of the configuration file after the change"`
}

type sharedImportInput struct {
	Body struct {
		Text          string            `json:"text" maxLength:"1048576" doc:"Complete text of the shared file"`
		Secrets       map[string]string `json:"secrets,omitempty" doc:"Values of the secrets to store, by name"`
		Diff          string            `json:"diff,omitempty" doc:"To import: the diff that the plan returned"`
		StoredSecrets []string          `json:"storedSecrets,omitempty" doc:"To import: the stored secrets that it may use, as the plan returned them"`
	}
}

func (a *API) registerSharing(doc huma.API) {
	op(a, doc, "GET", "/api/v1/share", "Export servers and profiles without secrets, to share them", a.share)
	op(a, doc, "POST", "/api/v1/share/plan", "Preview the import of a shared file; nothing is changed", a.planSharedImport)
	op(a, doc, "POST", "/api/v1/share", "Import a shared file as previewed: everything new, or nothing. The configuration is backed up first", a.importShared)
}

func (a *API) share(context.Context, *none) (*answer[Shared], error) {
	_, text, _, err := a.Files.Text()
	if err != nil {
		return nil, err
	}
	raw, err := config.ServersOf(text)
	if err != nil {
		return nil, core.Errorf(core.CodeUnavailable, "the configuration cannot be read: %v", err)
	}
	out := Shared{Drawbridge: a.Version, Servers: map[string]JSON{}, Profiles: map[string]JSON{}, MissingSecrets: []string{}}
	// Values that only the store identifies as secrets.
	known := func(text string) bool { said := a.Redact(text); return said != text && said != redact.Text(text) }
	for label, entry := range raw {
		plain, names, err := clientconf.ReplaceSecrets(label, entry, known)
		if err != nil {
			return nil, core.Errorf(core.CodeUnavailable, "the server %q cannot be shared", label)
		}
		out.Servers[label] = JSON(plain)
		out.MissingSecrets = append(out.MissingSecrets, names...)
	}
	for _, p := range a.Files.Current().Profiles {
		p.Folders = nil // of this machine
		out.Profiles[p.Name] = profileEntry(p)
	}
	slices.Sort(out.MissingSecrets)
	out.MissingSecrets = slices.Compact(out.MissingSecrets)
	return reply(out)
}

// sharedChange is a shared file with the changes it would make.
type sharedChange struct {
	SharedImport
	path          string
	before, after []byte
	etag          string
	ids           []string // of the new servers
}

// sharedFile is a parsed shared file.
type sharedFile struct {
	Servers  map[string]json.RawMessage `json:"mcpServers"`
	Profiles map[string]json.RawMessage `json:"profiles"`
}

// readShared parses an untrusted file within limits.
func readShared(text string) (*sharedFile, error) {
	if len(text) > maxFile {
		return nil, core.Errorf(core.CodeValidation, "the file is larger than %d KiB", maxFile>>10)
	}
	if err := marketplace.Strict("the file", []byte(text)); err != nil {
		return nil, err
	}
	file := &sharedFile{}
	if err := json.Unmarshal([]byte(text), file); err != nil {
		return nil, core.Errorf(core.CodeValidation, "the file is not a Drawbridge export: its servers or profiles are not objects")
	}
	switch {
	case len(file.Servers)+len(file.Profiles) == 0:
		return nil, core.Errorf(core.CodeValidation, "the file contains neither servers nor profiles")
	case len(file.Servers) > maxShared || len(file.Profiles) > maxShared:
		return nil, core.Errorf(core.CodeValidation, "the file contains too many entries: at most %d servers and profiles", maxShared)
	}
	return file, nil
}

func (a *API) sharedChange(ctx context.Context, text string) (*sharedChange, error) {
	file, err := readShared(text)
	if err != nil {
		return nil, err
	}
	t := &sharedChange{SharedImport: SharedImport{Servers: []SharedServer{}, Profiles: []SharedProfile{}, MissingSecrets: []string{}, StoredSecrets: []string{}, NewSecrets: []string{}}}
	if t.path, t.before, t.etag, err = a.Files.Text(); err != nil {
		return nil, err
	}
	document, err := reload.NewDocument(t.before)
	if err != nil {
		return nil, err
	}
	secrets := map[string]bool{}
	taken := map[string]bool{}
	for _, label := range slices.Sorted(maps.Keys(file.Servers)) {
		one, id := a.sharedServer(label, file.Servers[label], taken)
		if one.State == "new" {
			if err := document.Add(label, file.Servers[label]); err != nil {
				one.State, one.Reason = "rejected", errorText(err)
			} else {
				taken[id], t.ids = true, append(t.ids, id)
				for _, name := range one.Secrets {
					secrets[name] = true
				}
			}
		}
		t.Servers = append(t.Servers, one)
	}
	for _, name := range slices.Sorted(maps.Keys(file.Profiles)) {
		one := SharedProfile{Name: truncateName(name), State: "new"}
		if _, there := a.Files.Current().Profile(name); there {
			one.State = "exists"
		} else if !core.ValidServerID(name) {
			one.State, one.Reason = "rejected", "this is not a valid name for a profile"
		} else if err := document.SetObject("profiles", name, file.Profiles[name]); err != nil {
			one.State, one.Reason = "rejected", errorText(err)
		}
		t.Profiles = append(t.Profiles, one)
	}
	t.after = document.Bytes()
	t.Diff = clientconf.Diff(t.path, t.before, t.after)
	for name := range secrets {
		if a.Secrets == nil {
			t.MissingSecrets = append(t.MissingSecrets, name)
		} else if _, err := a.Secrets.Get(ctx, name); err != nil {
			t.MissingSecrets = append(t.MissingSecrets, name)
		} else {
			t.StoredSecrets = append(t.StoredSecrets, name)
		}
	}
	slices.Sort(t.MissingSecrets)
	slices.Sort(t.StoredSecrets)
	return t, nil
}

// sharedServer describes the effects of importing one server. Servers are parsed separately, so
// that an invalid one does not affect others.
func (a *API) sharedServer(label string, entry json.RawMessage, taken map[string]bool) (one SharedServer, id string) {
	one = SharedServer{Label: truncateName(label), State: "new", Command: []string{}, Secrets: []string{}, Variables: []string{}}
	refuse := func(why string) (SharedServer, string) {
		one.State, one.Reason = "rejected", why
		return one, ""
	}
	if id = core.Slug(label); id == "" || len(label) > 64 || strings.ContainsFunc(label, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return refuse("this is not a valid name for a server")
	}
	name, err := json.Marshal(label)
	if err != nil {
		return refuse("this is not a valid name for a server")
	}
	alone := []byte(`{"mcpServers":{` + string(name) + `:` + string(entry) + `}}`)
	c, problems := config.Parse("shared.json", alone)
	for _, p := range problems {
		if !p.Warning {
			return refuse(p.Message)
		}
	}
	if c == nil || len(c.Servers) != 1 {
		return refuse("this is not a valid server entry")
	}
	s := c.Servers[0]
	one.URL = s.URL
	if s.Command != "" {
		one.Command = append([]string{s.Command}, s.Args...)
	} else if s.Docker.Image != "" {
		one.Command = append([]string{s.Docker.Image}, s.Args...)
	}
	secrets, variables := config.References(entry)
	one.Secrets, one.Variables = nonNil(secrets), nonNil(append(variables, s.InheritEnv...))
	if _, there := a.Files.Current().Server(id); there {
		one.State = "exists"
	} else if taken[id] {
		return refuse("another server in the file has the same id")
	}
	return one, id
}

// truncateName truncates an untrusted name.
func truncateName(name string) string {
	if len(name) > 100 {
		return strings.ToValidUTF8(name[:100], "") + "…"
	}
	return name
}

func (a *API) planSharedImport(ctx context.Context, in *sharedImportInput) (*answer[SharedImport], error) {
	t, err := a.sharedChange(ctx, in.Body.Text)
	if err != nil {
		return nil, err
	}
	return reply(t.SharedImport)
}

func (a *API) importShared(ctx context.Context, in *sharedImportInput) (*answer[SharedImport], error) {
	t, err := a.sharedChange(ctx, in.Body.Text)
	if err != nil {
		return nil, err
	}
	switch {
	case t.Diff == "":
		return nil, core.Errorf(core.CodeConflict, "the file contains nothing new")
	case in.Body.Diff != t.Diff, !slices.Equal(in.Body.StoredSecrets, t.StoredSecrets) && len(in.Body.StoredSecrets)+len(t.StoredSecrets) > 0:
		return nil, conflictError()
	}
	values := map[string]string{}
	for name, value := range in.Body.Secrets {
		if value == "" {
			continue
		}
		if !slices.Contains(t.MissingSecrets, name) {
			return nil, core.Errorf(core.CodeValidation, "nothing in the file refers to the secret %q", truncateName(name))
		}
		values[name] = value
	}
	undo, _, _, err := a.copyConfig()
	if err != nil {
		return nil, err
	}
	if err := a.keepSecrets(ctx, values); err != nil {
		return nil, err
	}
	for _, id := range t.ids {
		a.Commands.Expect(id)
	}
	if err := a.Files.Replace(ctx, t.after, t.etag); err != nil {
		if len(values) > 0 { // nothing refers to them
			_, _ = a.Secrets.Remove(ctx, slices.Collect(maps.Keys(values))...)
		}
		return nil, err
	}
	t.Done, t.Backup, t.Etag, t.NewSecrets = true, undo, etagOf(t.after), nonNil(slices.Sorted(maps.Keys(values)))
	t.MissingSecrets = slices.DeleteFunc(t.MissingSecrets, func(name string) bool { return values[name] != "" })
	return reply(t.SharedImport)
}

func etagOf(text []byte) string { return reload.Tag(text) }

// errorText returns the text of an error for the user.
func errorText(err error) string {
	message, _ := core.Describe(err)
	return message
}
