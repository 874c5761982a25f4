package marketplace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/trust"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Installable is one server of the marketplace.
type Installable struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Version     string          `json:"version"`
	Website     string          `json:"website"`
	Curated     bool            `json:"curated" doc:"Whether it is part of Drawbridge"`
	Refused     string          `json:"refused" doc:"Why it cannot be installed; empty if it can"`
	Label       string          `json:"label" doc:"Default name"`
	Options     []InstallOption `json:"options" nullable:"false"`
	Repository  string          `json:"repository" doc:"Source repository, as stated by the publisher"`
	Installed   []string        `json:"installed" nullable:"false" doc:"Ids of the servers that use this package or URL"`
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
	Label   string   `json:"label"`
	Entry   string   `json:"entry" doc:"JSON text: the server's object for the configuration"`
	Command []string `json:"command" nullable:"false" doc:"Command line of the server"`
	Secrets []string `json:"secrets" nullable:"false" doc:"Names under which secrets are stored"`
	Fields  []Field  `json:"fields" nullable:"false" doc:"Form of a bundle"`
	Missing []string `json:"missing" nullable:"false" doc:"Keys of required fields without a value; if there are any, entry is empty"`
	Bundle  *About   `json:"bundle,omitempty"`
	Done    bool     `json:"done"`
	ID      string   `json:"id" doc:"Server id"`
}

// Feature lists and installs servers, and changes the versions of their packages.
type Feature struct {
	Version string
	Config  ConfigEditor
	Servers Servers
	Dialer  Dialer
	List    *List   // servers that can be installed
	Uploads Uploads // bundles sent by a browser; bundles are unpacked in its folder
	Secrets *secret.Store
	Trust   *trust.Baseline
	Views   *registry.Registry
	Rules   *policy.Policy
	Store   *store.Store
	Redact  func(text string) string // redacts text that was not recorded
	plans   versionPlans
	newest  newestVersions
	// AskNewest asks the registry what the entry of a server resolves to. nil means npm.
	AskNewest func(ctx context.Context, s *config.Server, spec Spec) (string, error)
}

// Servers knows the servers; *supervisor.Supervisor implements it.
type Servers interface {
	Status(id string) (core.ServerStatus, bool)
	// SuppressCommandNotice suppresses the notice for a server that the user is adding or changing.
	SuppressCommandNotice(server string)
}

// Dialer starts servers for trials; *upstream.Dialer implements it.
type Dialer interface {
	Try(ctx context.Context, c *config.Server, as string, use func(upstream.Connection)) upstream.Trial
	BeginTrial() (end func(), err error)
	Usage(id string) (process.Usage, error)
}

// Routes implements web.Feature.
func (f *Feature) Routes(r *web.Router) {
	web.Op(r, "GET", "/api/v1/versions", "Packages of all servers with their versions", f.listVersions)
	web.Op(r, "GET", "/api/v1/servers/{id}/version", "Package of a server with its version", f.getVersion)
	web.Op(r, "POST", "/api/v1/servers/{id}/version", "Check for a newer version, compare its tools with the running ones, apply it, pin the version, or roll back", f.changeVersion)
	web.Op(r, "GET", "/api/v1/directory", "Servers that can be installed, at most 200 at once", f.listDirectory)
	web.Op(r, "POST", "/api/v1/directory/refresh", "Download the list of servers from the registry", f.refreshDirectory)
	web.Op(r, "POST", "/api/v1/directory/plan", "Preview an installation; nothing is changed", f.planInstall)
	web.Op(r, "POST", "/api/v1/directory/install", "Install a server as previewed: store its secrets, unpack its bundle and add its entry, which starts like any new server", f.install)
	web.Op(r, "POST", "/api/v1/directory/uploads", "Begin the upload of a bundle; it expires after 30 minutes", f.beginUpload)
	web.Op(r, "PUT", "/api/v1/directory/uploads/{id}", "Upload the next part of a bundle, at most 2 MiB", f.appendUpload)
	web.Op(r, "DELETE", "/api/v1/directory/uploads/{id}", "Discard an upload", f.forgetUpload)
}

func (f *Feature) listDirectory(_ context.Context, in *directoryInput) (*web.Answer[Directory], error) {
	const most = 200
	all, taken := f.List.All()
	out := Directory{Items: []Installable{}, RefreshedAt: taken, Address: f.Config.Current().DirectoryURL}
	if out.Address == "" {
		out.Address = DefaultAddress
	}
	words := strings.Fields(strings.ToLower(in.Search))
	running := f.packages()
	for _, e := range matchingEntries(all, words) {
		r := e.Record
		installed := running.serversOf(r)
		switch {
		case in.Kind != "" && !slices.ContainsFunc(r.Launchers(), func(k string) bool { return k == in.Kind }),
			in.Only == "curated" && !e.Curated, in.Only == "installed" && len(installed) == 0, in.Only == "installable" && e.Refused != "":
			continue
		}
		if out.Total++; len(out.Items) == most {
			continue
		}
		one := Installable{Name: r.Name, Title: r.Title, Description: r.Description, Version: r.Version, Website: r.WebsiteURL, Curated: e.Curated, Refused: e.Refused, Options: []InstallOption{}, Installed: web.NonNil(installed)}
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

// matchingEntries returns the entries that contain all words, those first whose name a word is, then
// those with a word that begins with it, then the others.
func matchingEntries(all []Entry, words []string) (found []Entry) {
	if len(words) == 0 {
		return all
	}
	ranked := map[int][]Entry{}
	for _, e := range all {
		if rank := e.rank(words); rank >= 0 {
			ranked[rank] = append(ranked[rank], e)
		}
	}
	for _, rank := range slices.Sorted(maps.Keys(ranked)) {
		found = append(found, ranked[rank]...)
	}
	return found
}

// rank is lower for better matches, and -1 if a word is in neither the name, the title nor the
// description. The host of the publisher, such as io.github, is not searched: it is in most names.
func (e *Entry) rank(words []string) (sum int) {
	publisher, last, _ := strings.Cut(strings.ToLower(e.Record.Name), "/")
	names := publisher[strings.LastIndexByte(publisher, '.')+1:] + " " + last + " " + strings.ToLower(e.Record.Title)
	parts := strings.FieldsFunc(names, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
	for _, word := range words {
		switch {
		case word == last || word == e.Record.Label() || word == strings.ToLower(e.Record.Name):
		case slices.Contains(parts, word):
			sum++
		case slices.ContainsFunc(parts, func(part string) bool { return strings.HasPrefix(part, word) }):
			sum += 2
		case strings.Contains(names+" "+strings.ToLower(e.Record.Description), word):
			sum += 3
		default:
			return -1
		}
	}
	return sum
}

func (f *Feature) refreshDirectory(ctx context.Context, _ *web.None) (*web.Answer[Directory], error) {
	if _, err := f.List.Refresh(ctx, f.Config.Current().DirectoryURL); err != nil {
		return nil, err
	}
	return f.listDirectory(ctx, &directoryInput{})
}

// planInstallation returns the plan of an installation, with the bundle if it is one.
func (f *Feature) planInstallation(in installBody) (plan *Plan, bundle *Bundle, err error) {
	if in.Bundle == "" && in.Upload == "" {
		e, err := f.List.Find(in.Name)
		if err != nil {
			return nil, nil, err
		}
		plan, err = e.Record.Install(in.Option, in.Label, in.Values)
		return plan, nil, err
	}
	var src []byte
	if in.Upload != "" {
		src, err = f.Uploads.Read(in.Upload)
	} else {
		src, err = readBundle(in.Bundle)
	}
	if err != nil {
		return nil, nil, err
	}
	if bundle, err = ReadBundle(src); err != nil {
		return nil, nil, err
	}
	plan, err = bundle.Install(f.Uploads.Folder, in.Label, in.Values)
	return plan, bundle, err
}

func readBundle(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, core.Errorf(core.CodeNotFound, "there is no file %s", osutil.QuotePath(path))
	case !info.Mode().IsRegular():
		return nil, core.Errorf(core.CodeValidation, "%s is not a file", osutil.QuotePath(path))
	case info.Size() > MaxBundle:
		return nil, core.Errorf(core.CodeValidation, "the bundle is larger than %d MiB", MaxBundle>>20)
	}
	file, err := osutil.Open(path)
	if err != nil {
		return nil, &core.Error{Code: core.CodeUnavailable, Message: "cannot read the bundle", Cause: err}
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, MaxBundle+1))
}

func (f *Feature) installation(plan *Plan, bundle *Bundle) Installation {
	out := Installation{Command: []string{}, Secrets: []string{}, Fields: []Field{}, Missing: []string{}}
	if bundle != nil {
		about := bundle.About(f.Uploads.Folder)
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
func (f *Feature) planInstall(_ context.Context, in *installInput) (*web.Answer[Installation], error) {
	plan, bundle, err := f.planInstallation(in.Body)
	var wanted *MissingFields
	if errors.As(err, &wanted) {
		out := f.installation(nil, bundle)
		out.Missing = wanted.Keys
		return web.Reply(out)
	}
	if err != nil {
		return nil, err
	}
	return web.Reply(f.installation(plan, bundle))
}

func (f *Feature) install(ctx context.Context, in *installInput) (*web.Answer[Installation], error) {
	plan, bundle, err := f.planInstallation(in.Body)
	if err != nil {
		return nil, err
	}
	out := f.installation(plan, bundle)
	if in.Body.Entry != out.Entry {
		return nil, &core.Error{Code: core.CodeConflict, Message: "the entry has changed since you reviewed it", Hint: "Review the entry again, then install it."}
	}
	id := core.Slug(plan.Label)
	if _, taken := f.Config.Current().Server(id); taken {
		return nil, core.Errorf(core.CodeConflict, "a server named %q already exists: choose another name", id)
	}
	if bundle != nil {
		if err := bundle.Unpack(f.Uploads.Folder); err != nil {
			return nil, err
		}
		f.Uploads.Forget(in.Body.Upload)
	}
	if err := f.keepSecrets(ctx, plan.Secrets); err != nil {
		return nil, err
	}
	f.Servers.SuppressCommandNotice(id)
	if err := f.Config.Add(ctx, plan.Label, plan.Entry); err != nil {
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

func (f *Feature) beginUpload(_ context.Context, in *uploadInput) (*web.Answer[Upload], error) {
	if f.Uploads.Folder == "" {
		return nil, core.Errorf(core.CodeUnavailable, "bundles are not available")
	}
	id, err := f.Uploads.Begin(in.Body.Size)
	if err != nil {
		return nil, err
	}
	return web.Reply(Upload{ID: id})
}

func (f *Feature) appendUpload(_ context.Context, in *partInput) (*web.Answer[Upload], error) {
	got, err := f.Uploads.Append(in.ID, in.Body.Offset, in.Body.Part)
	if err != nil {
		return nil, err
	}
	return web.Reply(Upload{in.ID, got})
}

func (f *Feature) forgetUpload(_ context.Context, in *uploadIDInput) (*web.None, error) {
	f.Uploads.Forget(in.ID)
	return &web.None{}, nil
}

// keepSecrets stores secrets under names that are free or already hold the same value.
func (f *Feature) keepSecrets(ctx context.Context, values map[string]string) error {
	if len(values) == 0 {
		return nil
	}
	for name, value := range values {
		if old, err := f.Secrets.Get(ctx, name); err == nil && old != value {
			return core.Errorf(core.CodeConflict, "a secret named %q already exists: choose another name for the server, or remove that secret", name)
		}
	}
	return f.Secrets.SetAll(ctx, values)
}

// ServerVersion is the package that a server runs.
type ServerVersion struct {
	Server     string           `json:"server"`
	Known      bool             `json:"known" doc:"Whether the entry runs a package: npx, uvx or an image"`
	Launcher   string           `json:"launcher" enum:",npx,uvx,image"`
	Package    string           `json:"package"`
	Configured string           `json:"configured" doc:"As in the configuration"`
	Pinned     bool             `json:"pinned" doc:"Whether the entry specifies a fixed version"`
	Version    string           `json:"version" doc:"Running version, if known"`
	Source     string           `json:"source" enum:",configuration,process,cache,server,container,image" doc:"Source of version: cache is the newest that was downloaded, server is what the server reports, image is what the image's tag refers to on this machine"`
	Latest     string           `json:"latest" doc:"Newest version in the registry if it was queried, now or by the daily search for updates; for an image, the digest of its tag there"`
	Pin        string           `json:"pin" doc:"What pinning would write; empty if there is nothing to pin"`
	Earlier    []EarlierVersion `json:"earlier" nullable:"false" doc:"Previous values, newest first"`
}

// EarlierVersion is a previous version in the configuration.
type EarlierVersion struct {
	Configured string    `json:"configured"`
	Until      time.Time `json:"until"`
}

// VersionPlan describes the changes of switching to another version.
type VersionPlan struct {
	ServerVersion
	Key        string             `json:"key" doc:"Identifies this plan in the apply request; empty if nothing was planned"`
	From       string             `json:"from" doc:"Current value in the configuration"`
	To         string             `json:"to" doc:"New value in the configuration"`
	Changes    []trust.ToolChange `json:"changes" nullable:"false" doc:"Tools that are added, removed or changed"`
	Tokens     int                `json:"tokens" doc:"Context size of the server's tools now, an estimate; 0 if they are not listed"`
	TokensThen int                `json:"tokensThen" doc:"That of its tools in the other version"`
	Applied    bool               `json:"applied"`
	TrialNs    int64              `json:"trialNs" doc:"How long the trial took"`
	ServerInfo web.JSON           `json:"serverInfo" doc:"Name and version that the candidate reports"`

	Comparison *history.ComparisonReport `json:"comparison,omitempty" doc:"Recorded calls and checks that were sent to both versions"`
}

func (f *Feature) listVersions(ctx context.Context, _ *web.None) (*web.Answer[web.List[ServerVersion]], error) {
	list := web.List[ServerVersion]{Items: []ServerVersion{}}
	cfg := f.Config.Current()
	for i := range cfg.Servers {
		v, _, err := f.versionOf(ctx, &cfg.Servers[i])
		if err != nil {
			return nil, err
		}
		if v.Known {
			list.Items = append(list.Items, v)
		}
	}
	return web.Reply(list)
}

func (f *Feature) getVersion(ctx context.Context, in *web.ServerInput) (*web.Answer[ServerVersion], error) {
	s, ok := f.Config.Current().Server(in.ID)
	if !ok {
		return nil, web.ErrNoSuchServer
	}
	v, _, err := f.versionOf(ctx, &s)
	if err != nil {
		return nil, err
	}
	return web.Reply(v)
}

func (f *Feature) versionOf(ctx context.Context, s *config.Server) (ServerVersion, Spec, error) {
	v := ServerVersion{Server: s.ID, Earlier: []EarlierVersion{}}
	spec, ok := Find(s)
	if !ok {
		return v, spec, nil
	}
	v.Known, v.Launcher, v.Package, v.Configured, v.Pinned = true, spec.Launcher, spec.Package, spec.Text, spec.Pinned()
	var pids []int
	if usage, err := f.Dialer.Usage(s.ID); err == nil {
		for _, p := range usage.Tree {
			pids = append(pids, p.PID)
		}
	}
	st, _ := f.Servers.Status(s.ID)
	home, _ := os.UserHomeDir()
	found := Resolve(spec, Environment{Home: home, Getenv: os.Getenv}, pids, st.Info)
	if spec.Launcher == Image {
		var is Resolved
		if is, v.Pin, spec = ResolveImage(ctx, s, spec); is.Version != "" {
			found = is
		}
	}
	v.Version, v.Source, v.Latest = found.Version, found.Source, f.newest.get(s.ID, spec.Text)
	if !v.Pinned && spec.Launcher != Image && (found.Source == FromProcess || found.Source == FromCache) {
		v.Pin, _ = spec.At(found.Version)
	}
	var err error
	if v.Earlier, err = f.earlierVersions(ctx, s.ID); err != nil {
		return v, spec, err
	}
	if len(v.Earlier) > 0 {
		spec = spec.WithImageName(v.Earlier[0].Configured)
	}
	v.Package = spec.Package
	return v, spec, nil
}

// ChangeVersionInputBody says what to do with the version of a server.
type ChangeVersionInputBody struct {
	Action  string `json:"action" enum:"check,plan,compare,apply,pin,rollback" doc:"check queries the registry; plan tries a version alongside the running server; compare sends the newest recorded calls to read-only tools and the saved checks to the planned version and to the current one, and compares the results; apply writes the plan with that key; pin writes the running version; rollback restores the previous value"`
	Version string `json:"version,omitempty" maxLength:"128" doc:"plan: version to try; default: the newest in the registry"`
	Key     string `json:"key,omitempty" maxLength:"64" doc:"compare, apply: key of the plan"`

	Also []string `json:"also,omitempty" maxItems:"100" maxLength:"512" doc:"compare: tools that are called although they are not marked read-only"`
}

type changeVersionInput struct {
	ID string `path:"id" maxLength:"256" server:"name" doc:"Server id or name"`
	web.Caller
	Body ChangeVersionInputBody
}

func (f *Feature) changeVersion(ctx context.Context, in *changeVersionInput) (*web.Answer[VersionPlan], error) {
	s, ok := f.Config.Current().Server(in.ID)
	if !ok {
		return nil, web.ErrNoSuchServer
	}
	v, spec, err := f.versionOf(ctx, &s)
	if err != nil {
		return nil, err
	}
	if !v.Known {
		return nil, &core.Error{Code: core.CodeValidation, Message: "the server's entry does not run an npx package, a uvx package or an image", Hint: "Drawbridge cannot change its version: update it the way it was installed."}
	}
	out := VersionPlan{ServerVersion: v, From: spec.Text, Changes: []trust.ToolChange{}}
	switch in.Body.Action {
	case "check":
		out.Latest, err = f.latestVersion(ctx, &s, spec)
	case "plan":
		err = f.planVersion(ctx, &s, spec, in.Body.Version, &out)
	case "compare":
		err = f.compareVersions(ctx, &s, in.Body.Key, in.Body.Also, in.Client(f.Version), &out)
	case "apply":
		err = f.applyVersion(ctx, &s, in.Body.Key, &out)
	case "pin":
		if v.Pin == "" {
			return nil, &core.Error{Code: core.CodeConflict, Message: "there is nothing to pin: the entry already contains a version, or the running version is not known", Hint: "Start the server, or specify a version with: drawbridge versions update " + s.ID + " VERSION"}
		}
		err = f.writeVersion(ctx, &s, spec, v.Pin, &out)
	case "rollback":
		if len(v.Earlier) == 0 {
			return nil, &core.Error{Code: core.CodeConflict, Message: "there is no earlier version to roll back to", Hint: "Specify a version with: drawbridge versions update " + s.ID + " VERSION"}
		}
		err = f.writeVersion(ctx, &s, spec, v.Earlier[0].Configured, &out)
	}
	if err != nil {
		return nil, err
	}
	return web.Reply(out)
}
