package marketplace

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// InstallOption is one way to install a record: a package or a remote address.
type InstallOption struct {
	Title    string `json:"title" doc:"Package, or address"`
	Launcher string `json:"launcher,omitempty" doc:"Required program: npx, uvx, docker or dnx"`
	Pinned   bool   `json:"pinned" doc:"Whether the version is fixed"`
	// Command is the command line before the form is filled in.
	Command []string `json:"command" nullable:"false" doc:"Command line with values to be entered in angle brackets; empty for a URL"`
	Fields  []Field  `json:"fields" nullable:"false"`
}

// Plan is an installation before it is written. Entry does not contain secrets: it refers to them
// as ${secret:NAME}.
type Plan struct {
	Label   string            `json:"label"`
	Entry   json.RawMessage   `json:"-"`
	Secrets map[string]string `json:"-"`
	Command []string          `json:"command,omitempty" nullable:"false"` // the command line that would run
}

// Options returns the ways to install a record: packages first, then remote addresses.
func (r *Record) Options() []InstallOption {
	var options []InstallOption
	for i := range r.Packages {
		p := &r.Packages[i]
		w := InstallOption{Title: p.reference(), Launcher: runners[p.RegistryType].program, Pinned: p.Version != "" || strings.Contains(p.Identifier, "@sha256:"), Fields: []Field{}}
		_, _, _, _ = p.resolveInputs(collectFields(&w.Fields))
		w.Command = p.previewCommandLine()
		options = append(options, w)
	}
	for i := range r.Remotes {
		w := InstallOption{Title: r.Remotes[i].URL, Pinned: true, Fields: []Field{}, Command: []string{}}
		_, _, _ = r.Remotes[i].resolveInputs(collectFields(&w.Fields))
		options = append(options, w)
	}
	return options
}

// Launchers returns the programs that can run the record's packages, and "address" if it has
// remotes.
func (r *Record) Launchers() (kinds []string) {
	for i := range r.Packages {
		kinds = append(kinds, runners[r.Packages[i].RegistryType].program)
	}
	if len(r.Remotes) > 0 {
		kinds = append(kinds, "address")
	}
	return kinds
}

// NameWithoutVersion returns the name of the package without a version.
func (p *Package) NameWithoutVersion() string {
	name := p.Identifier
	if p.RegistryType == "oci" {
		name, _, _ = strings.Cut(name, "@")
		if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
			name = name[:i]
		}
	}
	return name
}

// reference returns the package with its version in the notation of its program.
func (p *Package) reference() string {
	run := runners[p.RegistryType]
	if p.Version == "" || p.RegistryType == "oci" && strings.ContainsAny(p.Identifier[strings.LastIndex(p.Identifier, "/")+1:], ":@") {
		return p.Identifier
	}
	return p.Identifier + run.versionSeparator + p.Version
}

// previewCommandLine returns the command line with placeholders such as <name> for inputs without a
// default.
func (p *Package) previewCommandLine() []string {
	run := runners[p.RegistryType]
	before, after, env, err := p.resolveInputs(func(_, what string, in *Input) (string, bool, error) {
		if in.Default != "" {
			return in.Default, true, nil
		}
		return "<" + strings.TrimLeft(what, "-") + ">", in.IsRequired, nil
	})
	if err != nil {
		return []string{run.program, p.reference()}
	}
	return p.commandLine(before, after, env)
}

// commandLine returns the complete command line.
func (p *Package) commandLine(before, after []string, env map[string]string) []string {
	run := runners[p.RegistryType]
	line := append([]string{run.program}, run.fixedArguments...)
	line = append(line, before...)
	if p.RegistryType == "oci" { // docker passes these variables on to the container
		for _, name := range slices.Sorted(maps.Keys(env)) {
			line = append(line, "-e", name)
		}
	}
	return append(append(line, p.reference()), after...)
}

// Label returns the default name of a record's server.
func (r *Record) Label() string {
	name := r.Name[strings.LastIndexByte(r.Name, '/')+1:]
	for _, affix := range []string{"mcp-server-", "server-", "mcp-"} {
		name = strings.TrimPrefix(name, affix)
	}
	for _, affix := range []string{"-mcp-server", "-server", "-mcp"} {
		name = strings.TrimSuffix(name, affix)
	}
	if name == "mcp" || name == "server" || core.Slug(name) == "" { // too generic: use the publisher
		domain, _, _ := strings.Cut(r.Name, "/")
		name = domain[strings.LastIndexByte(domain, '.')+1:]
	}
	if slug := core.Slug(name); slug != "" {
		return slug
	}
	return "server"
}

// Install returns the configuration entry for the way with that index in Ways.
func (r *Record) Install(way int, label string, values map[string]string) (*Plan, error) {
	if label = strings.TrimSpace(label); label == "" {
		label = r.Label()
	}
	if core.Slug(label) == "" || len(label) > 64 {
		return nil, fieldError("label", "must contain a letter or digit and be at most 64 characters long")
	}
	plan := &Plan{Label: label, Secrets: map[string]string{}}
	of := resolveFromForm(label, values, plan.Secrets)
	entry := struct {
		Type    string            `json:"type,omitempty"`
		Command string            `json:"command,omitempty"`
		Args    []string          `json:"args,omitempty"`
		Env     map[string]string `json:"env,omitempty"`
		URL     string            `json:"url,omitempty"`
		Headers map[string]string `json:"headers,omitempty"`
	}{}
	switch {
	case way < 0 || way >= len(r.Packages)+len(r.Remotes):
		return nil, validationErrorf("%s has no such package", r.Name)
	case way < len(r.Packages):
		p := &r.Packages[way]
		before, after, env, err := p.resolveInputs(of)
		if err != nil {
			return nil, err
		}
		plan.Command = p.commandLine(before, after, env)
		entry.Command, entry.Args, entry.Env = plan.Command[0], plan.Command[1:], env
	default:
		remote := &r.Remotes[way-len(r.Packages)]
		url, headers, err := remote.resolveInputs(of)
		if err != nil {
			return nil, err
		}
		if strings.Contains(url, "{") || url == "" {
			return nil, validationErrorf("the URL is incomplete")
		}
		if !strings.Contains(url, "${secret:") {
			if err := requireHTTPSOrLoopback(url); err != nil {
				return nil, err
			}
		}
		entry.URL, entry.Headers = url, headers
		entry.Type = map[string]string{"sse": "sse"}[remote.Type]
		if entry.Type == "" {
			entry.Type = "http"
		}
	}
	raw, err := json.Marshal(entry)
	if err != nil {
		return nil, err
	}
	plan.Entry = raw
	return plan, nil
}
