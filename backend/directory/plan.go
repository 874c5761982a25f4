package directory

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"drawbridge/backend/hub"
	"drawbridge/backend/pattern"
)

// Field is one thing that an installation asks for.
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
	Multiple    bool     `json:"multiple,omitempty" doc:"Several values, one a line"`
}

// Way is one way to install a record: one of its packages or addresses.
type Way struct {
	Title  string `json:"title" doc:"What is run, or the address"`
	Runs   string `json:"runs,omitempty" doc:"The program that must be there: npx, uvx, docker or dnx"`
	Pinned bool   `json:"pinned" doc:"It is always the same version"`
	// Line shows how it is run before anything is filled in.
	Line   []string `json:"line" nullable:"false" doc:"The command line, with what is asked for in angle brackets; empty for an address"`
	Fields []Field  `json:"fields" nullable:"false"`
}

// Plan is an installation as it would be written. Secrets are not in Entry: it names
// them as ${secret:NAME}.
type Plan struct {
	Label   string            `json:"label"`
	Entry   json.RawMessage   `json:"-"`
	Secrets map[string]string `json:"-"`
	Command []string          `json:"command,omitempty" nullable:"false"` // what would be run
}

// Ways are how a record can be installed.
func (r *Record) Ways() []Way {
	var ways []Way
	for i := range r.Packages {
		p := &r.Packages[i]
		w := Way{Title: p.reference(), Runs: runners[p.RegistryType].program, Pinned: p.Version != "" || strings.Contains(p.Identifier, "@sha256:"), Fields: []Field{}}
		p.walk(collector(&w.Fields))
		w.Line = p.line()
		ways = append(ways, w)
	}
	for i := range r.Remotes {
		w := Way{Title: r.Remotes[i].URL, Pinned: true, Fields: []Field{}, Line: []string{}}
		r.Remotes[i].walk(collector(&w.Fields))
		ways = append(ways, w)
	}
	return ways
}

// Kinds are the programs by which a record can be run, and address.
func (r *Record) Kinds() (kinds []string) {
	for i := range r.Packages {
		kinds = append(kinds, runners[r.Packages[i].RegistryType].program)
	}
	if len(r.Remotes) > 0 {
		kinds = append(kinds, "address")
	}
	return kinds
}

// Package is the name of the package without a version.
func (p *Package) Package() string {
	name := p.Identifier
	if p.RegistryType == "oci" {
		name, _, _ = strings.Cut(name, "@")
		if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
			name = name[:i]
		}
	}
	return name
}

// reference is the package as its program takes it.
func (p *Package) reference() string {
	run := runners[p.RegistryType]
	if p.Version == "" || p.RegistryType == "oci" && strings.ContainsAny(p.Identifier[strings.LastIndex(p.Identifier, "/")+1:], ":@") {
		return p.Identifier
	}
	return p.Identifier + run.join + p.Version
}

// line is the command line with the names of what is asked for in the place of values.
func (p *Package) line() []string {
	run := runners[p.RegistryType]
	before, after, env, err := p.walk(func(_, what string, in *Input) (string, bool, error) {
		if in.Default != "" {
			return in.Default, true, nil
		}
		return "<" + strings.TrimLeft(what, "-") + ">", in.IsRequired, nil
	})
	if err != nil {
		return []string{run.program, p.reference()}
	}
	return p.whole(before, after, env)
}

// whole is the whole command line.
func (p *Package) whole(before, after []string, env map[string]string) []string {
	run := runners[p.RegistryType]
	line := append([]string{run.program}, run.before...)
	line = append(line, before...)
	if p.RegistryType == "oci" { // the container hears of the variables it is to have
		for _, name := range sorted(env) {
			line = append(line, "-e", name)
		}
	}
	return append(append(line, p.reference()), after...)
}

// value finds what stands for an input: it returns the text, and whether there is any.
// key names the input, what says what it is.
type value func(key, what string, in *Input) (text string, ok bool, err error)

// walk visits every input of a package that asks for something, in the order of the
// command line, and returns what its parts become.
func (p *Package) walk(of value) (before, after []string, env map[string]string, err error) {
	run := runners[p.RegistryType]
	env = map[string]string{}
	for i := range p.RuntimeArguments {
		a := &p.RuntimeArguments[i]
		if a.Type == "positional" && p.repeats(a.Value) || slices.Contains(run.before, a.Name) || slices.Contains(run.before, a.Value) {
			continue // we say these ourselves
		}
		if p.RegistryType == "oci" && a.Type == "named" && (a.Name == "-e" || a.Name == "--env") {
			// As a variable of docker's own, whose name alone it is told: others on this
			// machine can read a command line.
			text, ok, err := a.fill("runtime."+itoa(i), a.Name, of)
			if err != nil {
				return nil, nil, nil, err
			}
			if name, value, has := strings.Cut(text, "="); ok && has {
				env[name] = value
			}
			continue
		}
		if before, err = a.append(before, "runtime."+itoa(i), of); err != nil {
			return nil, nil, nil, err
		}
	}
	for i := range p.PackageArguments {
		if after, err = p.PackageArguments[i].append(after, "arg."+itoa(i), of); err != nil {
			return nil, nil, nil, err
		}
	}
	for i := range p.EnvironmentVariables {
		v := &p.EnvironmentVariables[i]
		text, ok, err := v.Input.fill("env."+v.Name, v.Name, of)
		if err != nil {
			return nil, nil, nil, err
		}
		if ok {
			env[v.Name] = text
		}
	}
	return before, after, env, nil
}

func (r *Remote) walk(of value) (url string, headers map[string]string, err error) {
	in := Input{Value: r.URL, Variables: r.Variables}
	if url, _, err = in.fill("url", "address", of); err != nil {
		return "", nil, err
	}
	headers = map[string]string{}
	for i := range r.Headers {
		h := &r.Headers[i]
		text, ok, err := h.Input.fill("header."+h.Name, h.Name, of)
		if err != nil {
			return "", nil, err
		}
		if ok {
			headers[h.Name] = text
		}
	}
	return url, headers, nil
}

// append adds an argument to a command line.
func (a *Argument) append(line []string, key string, of value) ([]string, error) {
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
	text, ok, err := in.fill(key, label, of)
	if err != nil || !ok {
		return line, err
	}
	texts := []string{text}
	if a.IsRepeated {
		texts = lines(text)
	}
	for _, text := range texts {
		switch {
		case a.Type == "named":
			line = append(line, a.Name, text)
		case strings.HasPrefix(text, "-"):
			return nil, refusef("%s must not begin with a dash: it would be read as an option", label)
		default:
			line = append(line, text)
		}
	}
	return line, nil
}

// fill makes the text of an input out of what is known of it.
func (in *Input) fill(key, what string, of value) (string, bool, error) {
	if in.Value == "" {
		return of(key, what, in)
	}
	missing, failed := false, error(nil)
	out := hole().ReplaceAllStringFunc(in.Value, func(m string) string {
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
			if text, ok, err = of(key+"."+name, name, &v); err != nil && failed == nil {
				failed = err
			}
		}
		missing = missing || !ok
		return text
	})
	return out, !missing, failed
}

func lines(text string) []string {
	var list []string
	for _, one := range strings.Split(text, "\n") {
		if one = strings.TrimSpace(one); one != "" {
			list = append(list, one)
		}
	}
	return list
}

// collector makes a form of what is asked for.
func collector(fields *[]Field) value {
	return func(key, what string, in *Input) (string, bool, error) {
		f := Field{Key: key, Label: what, Description: in.Description, Required: in.IsRequired, Secret: in.IsSecret, Default: in.Default,
			Choices: in.Choices, Format: in.Format, Placeholder: in.Placeholder}
		if f.Multiple = f.Format == "repeated"; f.Multiple {
			f.Format = "string"
		}
		if !slices.ContainsFunc(*fields, func(o Field) bool { return o.Key == key }) {
			*fields = append(*fields, f)
		}
		return "", false, nil
	}
}

// given answers with what a person filled in.
func given(label string, values map[string]string, secrets map[string]string) value {
	return func(key, what string, in *Input) (string, bool, error) {
		text := strings.TrimSpace(values[key])
		if text == "" {
			text = in.Default
		}
		switch {
		case text == "" && in.IsRequired:
			return "", false, &Missing{[]string{key}, &hub.Error{Code: hub.CodeValidation, Message: what + " is needed", Fields: []hub.FieldError{{Field: key, Error: "is needed"}}}}
		case text == "":
			return "", false, nil
		case len(text) > maxText, strings.ContainsFunc(text, func(c rune) bool { return c < ' ' && (c != '\n' || in.Format != "repeated") || c == 0x7f }):
			return "", false, wrong(key, "holds control characters, or is too long")
		case len(in.Choices) > 0 && !slices.Contains(in.Choices, text):
			return "", false, wrong(key, "must be one of "+strings.Join(in.Choices, ", "))
		case in.Format == "number" && !regexp.MustCompile(`^-?[0-9]{1,15}(\.[0-9]{1,15})?$`).MatchString(text):
			return "", false, wrong(key, "must be a number")
		case in.Format == "boolean" && text != "true" && text != "false":
			return "", false, wrong(key, "must be true or false")
		case strings.HasPrefix(key, "url.") && !regexp.MustCompile(`^[A-Za-z0-9._~-]+$`).MatchString(text):
			return "", false, wrong(key, "must be letters, digits, '.', '_', '~' and '-'")
		}
		if in.IsSecret && !strings.HasPrefix(text, "${") {
			name := secretName(label, what)
			for n := 2; secrets[name] != "" && secrets[name] != text; n++ {
				name = secretName(label, what) + "_" + itoa(n)
			}
			secrets[name] = text
			return "${secret:" + name + "}", true, nil
		}
		return text, true, nil
	}
}

// Missing is the error of an installation whose form is not filled in yet.
type Missing struct {
	Keys []string // of the fields
	err  error
}

func (m *Missing) Error() string { return m.err.Error() }

// Unwrap returns the error as a person reads it.
func (m *Missing) Unwrap() error { return m.err }

func wrong(key, text string) error {
	return &hub.Error{Code: hub.CodeValidation, Message: key + " " + text, Fields: []hub.FieldError{{Field: key, Error: text}}}
}

var unfit = pattern.Lazily(`[^A-Za-z0-9]+`)

func secretName(label, what string) string {
	name := strings.Trim(unfit().ReplaceAllString(hub.Slug(label)+"_"+what, "_"), "_")
	return strings.ToUpper(name)
}

// Label is what a record's server is called when nobody says otherwise.
func (r *Record) Label() string {
	name := r.Name[strings.LastIndexByte(r.Name, '/')+1:]
	for _, affix := range []string{"mcp-server-", "server-", "mcp-"} {
		name = strings.TrimPrefix(name, affix)
	}
	for _, affix := range []string{"-mcp-server", "-server", "-mcp"} {
		name = strings.TrimSuffix(name, affix)
	}
	if name == "mcp" || name == "server" || hub.Slug(name) == "" { // every second one is: its publisher tells more
		domain, _, _ := strings.Cut(r.Name, "/")
		name = domain[strings.LastIndexByte(domain, '.')+1:]
	}
	if slug := hub.Slug(name); slug != "" {
		return slug
	}
	return "server"
}

// Install makes the entry of one way, by its number in Ways.
func (r *Record) Install(way int, label string, values map[string]string) (*Plan, error) {
	if label = strings.TrimSpace(label); label == "" {
		label = r.Label()
	}
	if hub.Slug(label) == "" || len(label) > 64 {
		return nil, wrong("label", "has no letter or digit for an id, or is longer than 64 characters")
	}
	plan := &Plan{Label: label, Secrets: map[string]string{}}
	of := given(label, values, plan.Secrets)
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
		return nil, refusef("%s has no such package", r.Name)
	case way < len(r.Packages):
		p := &r.Packages[way]
		before, after, env, err := p.walk(of)
		if err != nil {
			return nil, err
		}
		plan.Command = p.whole(before, after, env)
		entry.Command, entry.Args, entry.Env = plan.Command[0], plan.Command[1:], env
	default:
		remote := &r.Remotes[way-len(r.Packages)]
		url, headers, err := remote.walk(of)
		if err != nil {
			return nil, err
		}
		if strings.Contains(url, "{") || url == "" {
			return nil, refusef("a part of the address is missing")
		}
		if !strings.Contains(url, "${secret:") {
			if err := address(url); err != nil {
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

func sorted(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func itoa(n int) string { return strconv.Itoa(n) }
