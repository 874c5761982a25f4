package marketplace

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Field is an input of an installation form.
type Field struct {
	Key         string   `json:"key"`
	Label       string   `json:"label"`
	Description string   `json:"description,omitempty"`
	Required    bool     `json:"required"`
	Secret      bool     `json:"secret"`
	Default     string   `json:"default,omitempty"`
	Choices     []string `json:"choices,omitempty"`
	Format      string   `json:"format,omitempty" doc:"string, number, boolean, filepath, or directory"`
	Placeholder string   `json:"placeholder,omitempty"`
	Multiple    bool     `json:"multiple,omitempty" doc:"Accepts several values, one per line"`
}

// collectFields returns an inputResolver that collects the inputs of a form in fields and resolves
// none.
func collectFields(fields *[]Field) inputResolver {
	return func(key, what string, in *Input) (string, bool, error) {
		f := Field{Key: key, Label: what, Description: in.Description, Required: in.IsRequired, Secret: in.IsSecret, Default: in.usableDefault(),
			Choices: in.Choices, Format: in.Format, Placeholder: in.Placeholder}
		if f.Default != in.Default {
			f.Placeholder = cmp.Or(f.Placeholder, in.Default)
		}
		if f.Multiple = f.Format == "repeated"; f.Multiple {
			f.Format = "string"
		}
		if !slices.ContainsFunc(*fields, func(o Field) bool { return o.Key == key }) {
			*fields = append(*fields, f)
		}
		return "", false, nil
	}
}

// resolveFromForm returns an inputResolver that resolves inputs from what the user entered. It
// moves secrets to secrets and returns references to them.
func resolveFromForm(label string, values map[string]string, secrets map[string]string) inputResolver {
	return func(key, what string, in *Input) (string, bool, error) {
		text := strings.TrimSpace(values[key])
		if text == "" {
			text = in.usableDefault()
		}
		switch {
		case text == "" && in.IsRequired:
			return "", false, &MissingFields{[]string{key}, &core.Error{Code: core.CodeValidation, Message: what + " is required", Fields: []core.FieldError{{Field: key, Error: "is required"}}}}
		case text == "":
			return "", false, nil
		case len(text) > maxText, strings.ContainsFunc(text, func(c rune) bool { return c < ' ' && (c != '\n' || in.Format != "repeated") || c == 0x7f }):
			return "", false, fieldError(key, "contains control characters or is too long")
		case len(in.Choices) > 0 && !slices.Contains(in.Choices, text):
			return "", false, fieldError(key, "must be one of "+strings.Join(in.Choices, ", "))
		case in.Format == "number" && !numberPattern().MatchString(text):
			return "", false, fieldError(key, "must be a number")
		case in.Format == "boolean" && text != "true" && text != "false":
			return "", false, fieldError(key, "must be true or false")
		case strings.HasPrefix(key, "url.") && !addressPartPattern().MatchString(text):
			return "", false, fieldError(key, "may only contain letters, digits, '.', '_', '~' and '-'")
		}
		if in.IsSecret && !strings.HasPrefix(text, "${") {
			name := secretName(label, what)
			for n := 2; secrets[name] != "" && secrets[name] != text; n++ {
				name = secretName(label, what) + "_" + strconv.Itoa(n)
			}
			secrets[name] = text
			return "${secret:" + name + "}", true, nil
		}
		return text, true, nil
	}
}

// usableDefault returns the default unless it is a placeholder, such as /path/to/data.
func (in *Input) usableDefault() string {
	if config.Placeholder(in.Default) != "" {
		return ""
	}
	return in.Default
}

// MissingFields is the error for required fields that are empty.
type MissingFields struct {
	Keys []string // Field.Key of each field
	err  error
}

func (m *MissingFields) Error() string { return m.err.Error() }

// Unwrap returns the error that is shown to the user.
func (m *MissingFields) Unwrap() error { return m.err }

func fieldError(key, text string) error {
	return &core.Error{Code: core.CodeValidation, Message: key + " " + text, Fields: []core.FieldError{{Field: key, Error: text}}}
}

var (
	numberPattern      = osutil.LazyRegexp(`^-?[0-9]{1,15}(\.[0-9]{1,15})?$`)
	addressPartPattern = osutil.LazyRegexp(`^[A-Za-z0-9._~-]+$`)
	nonAlphanumeric    = osutil.LazyRegexp(`[^A-Za-z0-9]+`)
)

func secretName(label, what string) string {
	name := strings.Trim(nonAlphanumeric().ReplaceAllString(core.Slug(label)+"_"+what, "_"), "_")
	return strings.ToUpper(name)
}

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
		if text := in.usableDefault(); text != "" {
			return text, true, nil
		}
		return "<" + strings.TrimLeft(what, "-") + ">", in.IsRequired, nil
	})
	if err != nil {
		return []string{run.program, p.reference()}
	}
	return p.commandLine(before, after, env)
}

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

// inputResolver resolves an input. It returns the text and whether there is one. key identifies the
// input; what is the name shown to the user.
type inputResolver func(key, what string, in *Input) (text string, ok bool, err error)

// resolveInputs calls resolve for each input of a package, in command-line order, and returns the
// resolved runtime arguments, package arguments and environment.
func (p *Package) resolveInputs(resolve inputResolver) (before, after []string, env map[string]string, err error) {
	run := runners[p.RegistryType]
	env = map[string]string{}
	for i := range p.RuntimeArguments {
		a := &p.RuntimeArguments[i]
		if a.Type == "positional" && p.isFixedWord(a.Value) || slices.Contains(run.fixedArguments, a.Name) || slices.Contains(run.fixedArguments, a.Value) {
			continue // added by Package.commandLine
		}
		if p.RegistryType == "oci" && a.Type == "named" && (a.Name == "-e" || a.Name == "--env") {
			// Passed as a variable of docker's own environment, with only its name on the command
			// line, because other users of this machine can read command lines.
			text, ok, err := a.expand("runtime."+strconv.Itoa(i), a.Name, resolve)
			if err != nil {
				return nil, nil, nil, err
			}
			if name, value, has := strings.Cut(text, "="); ok && has {
				env[name] = value
			}
			continue
		}
		if before, err = a.appendTo(before, "runtime."+strconv.Itoa(i), resolve); err != nil {
			return nil, nil, nil, err
		}
	}
	for i := range p.PackageArguments {
		if after, err = p.PackageArguments[i].appendTo(after, "arg."+strconv.Itoa(i), resolve); err != nil {
			return nil, nil, nil, err
		}
	}
	for i := range p.EnvironmentVariables {
		v := &p.EnvironmentVariables[i]
		text, ok, err := v.Input.expand("env."+v.Name, v.Name, resolve)
		if err != nil {
			return nil, nil, nil, err
		}
		if ok {
			env[v.Name] = text
		}
	}
	return before, after, env, nil
}

func (r *Remote) resolveInputs(resolve inputResolver) (url string, headers map[string]string, err error) {
	in := Input{Value: r.URL, Variables: r.Variables}
	if url, _, err = in.expand("url", "address", resolve); err != nil {
		return "", nil, err
	}
	headers = map[string]string{}
	for i := range r.Headers {
		h := &r.Headers[i]
		text, ok, err := h.Input.expand("header."+h.Name, h.Name, resolve)
		if err != nil {
			return "", nil, err
		}
		if ok {
			headers[h.Name] = text
		}
	}
	return url, headers, nil
}

func (a *Argument) appendTo(line []string, key string, resolve inputResolver) ([]string, error) {
	label := a.Name
	if label == "" {
		label = a.ValueHint
	}
	if label == "" {
		label = "argument"
	}
	if a.Type == "named" && a.Value == "" && a.Default == "" && !a.IsRequired && a.ValueHint == "" && len(a.Choices) == 0 && a.Format == "" && !a.IsSecret {
		return append(line, a.Name), nil // a flag without a value
	}
	in := a.Input
	if a.IsRepeated {
		in.Format = "repeated"
	}
	text, ok, err := in.expand(key, label, resolve)
	if err != nil || !ok {
		return line, err
	}
	texts := []string{text}
	if a.IsRepeated {
		texts = nonEmptyLines(text)
	}
	for _, text := range texts {
		switch {
		case a.Type == "named":
			line = append(line, a.Name, text)
		case strings.HasPrefix(text, "-"):
			return nil, validationErrorf("%s must not begin with a dash: it would be read as an option", label)
		default:
			line = append(line, text)
		}
	}
	return line, nil
}

// expand resolves the text of an input, including the variables in it.
func (in *Input) expand(key, what string, resolve inputResolver) (string, bool, error) {
	if in.Value == "" {
		return resolve(key, what, in)
	}
	missing, failed := false, error(nil)
	out := inputVariable().ReplaceAllStringFunc(in.Value, func(m string) string {
		name := m[1 : len(m)-1]
		v, known := in.Variables[name]
		if !known {
			v = Input{IsRequired: true}
		}
		if in.IsSecret {
			v.IsSecret = true
		}
		text, ok := v.Value, v.Value != ""
		if !ok {
			var err error
			if text, ok, err = resolve(key+"."+name, name, &v); err != nil && failed == nil {
				failed = err
			}
		}
		missing = missing || !ok
		return text
	})
	return out, !missing, failed
}

func nonEmptyLines(text string) []string {
	var list []string
	for one := range strings.SplitSeq(text, "\n") {
		if one = strings.TrimSpace(one); one != "" {
			list = append(list, one)
		}
	}
	return list
}
