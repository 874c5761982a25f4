package directory

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"drawbridge/backend/hub"
	"drawbridge/backend/pattern"
)

// Bundle is a .mcpb file that has been looked at and can be installed.
type Bundle struct {
	Manifest Manifest
	Fields   []Field
	archive  *archive
	sum      string
}

// Manifest is what we read of a bundle's manifest.json.
type Manifest struct {
	Version     string `json:"manifest_version"`
	Dxt         string `json:"dxt_version"`
	Name        string `json:"name"`
	DisplayName string `json:"display_name"`
	Release     string `json:"version"`
	Description string `json:"description"`
	Author      struct {
		Name string `json:"name"`
	} `json:"author"`
	Server struct {
		Type   string `json:"type"`
		Entry  string `json:"entry_point"`
		Config launch `json:"mcp_config"`
	} `json:"server"`
	Compatibility struct {
		Platforms []string `json:"platforms"`
	} `json:"compatibility"`
	UserConfig map[string]setting `json:"user_config"`
}

type launch struct {
	Command   string            `json:"command"`
	Args      []string          `json:"args"`
	Env       map[string]string `json:"env"`
	Platforms map[string]launch `json:"platform_overrides"`
}

// setting is one value that a bundle asks for. Default and bounds may be of any kind.
type setting struct {
	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Required    bool            `json:"required"`
	Default     json.RawMessage `json:"default"`
	Multiple    bool            `json:"multiple"`
	Sensitive   bool            `json:"sensitive"`
}

// platform is how manifests call this system.
func platform() string {
	if runtime.GOOS == "windows" {
		return "win32"
	}
	return runtime.GOOS
}

// ReadBundle checks a bundle and its manifest. Nothing is unpacked, nothing is run.
func ReadBundle(src []byte) (*Bundle, error) {
	a, err := openArchive(src)
	if err != nil {
		return nil, err
	}
	raw, err := a.read("manifest.json", maxRecord)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(src)
	b := &Bundle{archive: a, sum: hex.EncodeToString(sum[:6])}
	if err := json.Unmarshal(raw, &b.Manifest); err != nil {
		return nil, refusef("the manifest of the bundle cannot be read: %v", err)
	}
	return b, b.check()
}

var bundleName = pattern.Lazily(`^[A-Za-z0-9][A-Za-z0-9._ -]{0,63}$`)

func (b *Bundle) check() error {
	m := &b.Manifest
	switch {
	case m.Version == "" && m.Dxt == "" || len(m.Version+m.Dxt) > 10 || !strings.HasPrefix(m.Version+m.Dxt, "0."):
		return refusef("the bundle's manifest is of a version that we do not know: %q", shorten(m.Version+m.Dxt))
	case !bundleName().MatchString(m.Name):
		return refusef("%q cannot be the name of a bundle", shorten(m.Name))
	case !version().MatchString(m.Release):
		return refusef("%q cannot be the version of a bundle", shorten(m.Release))
	case len(m.Compatibility.Platforms) > 0 && !slices.Contains(m.Compatibility.Platforms, platform()):
		return refusef("the bundle is for %s, not for this system", shorten(strings.Join(m.Compatibility.Platforms, ", ")))
	case len(m.UserConfig) > maxInputs || len(m.Server.Config.Args) > maxInputs || len(m.Server.Config.Env) > maxInputs:
		return refusef("the bundle has more than %d inputs", maxInputs)
	}
	for _, s := range []string{m.DisplayName, m.Description, m.Author.Name} {
		if err := text("text of the bundle", s); err != nil {
			return err
		}
	}
	b.Fields = []Field{}
	for _, key := range sortedKeys(m.UserConfig) {
		s := m.UserConfig[key]
		if !variableName().MatchString(key) {
			return refusef("%q cannot name a setting", shorten(key))
		}
		if !contains([]string{"string", "number", "boolean", "directory", "file"}, s.Type) {
			return refusef("the setting %s is of the unknown type %q", key, shorten(s.Type))
		}
		for _, t := range []string{s.Title, s.Description} {
			if err := text("text of the setting "+key, t); err != nil {
				return err
			}
		}
		f := Field{Key: key, Label: s.Title, Description: s.Description, Required: s.Required, Secret: s.Sensitive, Multiple: s.Multiple,
			Format: map[string]string{"file": "filepath"}[s.Type], Default: plain(s.Default)}
		if f.Format == "" {
			f.Format = s.Type
		}
		if f.Label == "" {
			f.Label = key
		}
		b.Fields = append(b.Fields, f)
	}
	_, err := b.launch("/bundle", func(key string) ([]string, error) { return []string{""}, nil })
	return err
}

// plain is a default as text: a list has one value a line. Placeholders are kept.
func plain(raw json.RawMessage) string {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		var all []string
		for _, one := range list {
			all = append(all, plain(one))
		}
		return strings.Join(all, "\n")
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if t := strings.TrimSpace(string(raw)); t != "null" && len(t) < 100 {
		return t
	}
	return ""
}

// launch makes the command line of a bundle in dir; of gives the values of settings.
func (b *Bundle) launch(dir string, of func(key string) ([]string, error)) (launch, error) {
	m := &b.Manifest
	c := m.Server.Config
	if o, ok := c.Platforms[platform()]; ok {
		if o.Command != "" {
			c.Command = o.Command
		}
		if o.Args != nil {
			c.Args = o.Args
		}
		for k, v := range o.Env {
			if c.Env == nil {
				c.Env = map[string]string{}
			}
			c.Env[k] = v
		}
	}
	first, err := b.begins(c)
	if err != nil {
		return launch{}, err
	}
	out := launch{Env: map[string]string{}}
	fill := func(what, s string) ([]string, error) { return b.fill(dir, what, s, of) }
	if out.Command = c.Command; m.Server.Type == "binary" {
		out.Command = filepath.Join(dir, filepath.FromSlash(first))
	}
	for i, a := range c.Args {
		if m.Server.Type != "binary" && i == 0 && first != "" {
			out.Args = append(out.Args, filepath.Join(dir, filepath.FromSlash(first)))
			continue
		}
		values, err := fill("argument", a)
		if err != nil {
			return launch{}, err
		}
		out.Args = append(out.Args, values...)
	}
	for _, name := range sorted(c.Env) {
		if err := variable(name); err != nil {
			return launch{}, err
		}
		values, err := fill("variable "+name, c.Env[name])
		if err != nil {
			return launch{}, err
		}
		if text := strings.Join(values, ","); text != "" {
			out.Env[name] = text
		}
	}
	return out, nil
}

// inside is a file of the bundle that a text names as ${__dirname}/path.
func (b *Bundle) inside(s string) (string, bool) {
	s = strings.ReplaceAll(s, "${/}", "/")
	rest, ok := strings.CutPrefix(s, "${__dirname}/")
	_, there := b.archive.names[rest]
	return rest, ok && there
}

// begins finds the file of the bundle that is run, by which program: the manifest may
// name the one that fits its type, and must name a file of its own for it. So nothing
// else of this machine is run, and no code comes in an argument.
func (b *Bundle) begins(c launch) (first string, err error) {
	m := &b.Manifest
	programs := map[string][]string{"node": {"node"}, "python": {"python", "python3"}, "uv": {"uv"}}
	switch kind := m.Server.Type; kind {
	case "binary":
		file, ok := b.inside(c.Command)
		if !ok {
			if _, there := b.archive.names[c.Command]; there {
				return c.Command, nil
			}
			return "", refusef("the bundle wants to run %q, which is no file of it", shorten(c.Command))
		}
		return file, nil
	case "node", "python":
		if !contains(programs[kind], c.Command) {
			return "", refusef("the bundle wants to run %q: one of type %s is run by %s", shorten(c.Command), kind, programs[kind][0])
		}
		if len(c.Args) == 0 {
			return "", refusef("the bundle names no file to run")
		}
		file, ok := b.inside(c.Args[0])
		if !ok {
			return "", refusef("the bundle wants %s to begin with %q, which is no file of it", c.Command, shorten(c.Args[0]))
		}
		return file, nil
	case "uv":
		if c.Command != "uv" || len(c.Args) < 2 || c.Args[0] != "run" {
			return "", refusef("the bundle wants to run %q: one of type uv is run by uv run", shorten(c.Command+" "+strings.Join(c.Args, " ")))
		}
		for _, a := range c.Args[1:] {
			if _, ok := b.inside(a); ok {
				return "", nil // what follows is for its own program
			}
			if a != "--directory" && a != "--project" && a != "${__dirname}" {
				return "", refusef("the option %q of uv is not allowed in a bundle", shorten(a))
			}
		}
		return "", refusef("the bundle names no file to run")
	default:
		return "", refusef("bundles of type %q cannot be run", shorten(kind))
	}
}

var placeholder = pattern.Lazily(`\$\{([^}]*)\}`)

// fill replaces the placeholders of a text. One that stands alone for several values
// becomes several arguments.
func (b *Bundle) fill(dir, what, s string, of func(string) ([]string, error)) ([]string, error) {
	if err := text(what+" of the bundle", s); err != nil {
		return nil, err
	}
	if key, alone := strings.CutPrefix(s, "${user_config."); alone && strings.Count(s, "${") == 1 && strings.HasSuffix(s, "}") {
		return b.setting(strings.TrimSuffix(key, "}"), of)
	}
	var failed error
	out := placeholder().ReplaceAllStringFunc(s, func(p string) string {
		name := p[2 : len(p)-1]
		if key, ok := strings.CutPrefix(name, "user_config."); ok {
			values, err := b.setting(key, of)
			if err != nil {
				failed = err
			}
			return strings.Join(values, ",")
		}
		value, ok := place(dir, name)
		if !ok {
			failed = refusef("the %s of the bundle holds %q, which stands for nothing we know", what, shorten(p))
		}
		return value
	})
	if failed != nil {
		return nil, failed
	}
	if rest := placeholder().ReplaceAllString(s, ""); strings.Contains(rest, "${") {
		return nil, refusef("the %s of the bundle holds a placeholder that does not end", what)
	}
	return []string{out}, nil
}

func (b *Bundle) setting(key string, of func(string) ([]string, error)) ([]string, error) {
	if _, ok := b.Manifest.UserConfig[key]; !ok {
		return nil, refusef("the bundle uses the setting %q, which it does not have", shorten(key))
	}
	return of(key)
}

// place is what a placeholder for a folder stands for.
func place(dir, name string) (string, bool) {
	home, _ := os.UserHomeDir()
	switch name {
	case "__dirname":
		return dir, true
	case "HOME":
		return home, true
	case "DESKTOP":
		return filepath.Join(home, "Desktop"), true
	case "DOCUMENTS":
		return filepath.Join(home, "Documents"), true
	case "DOWNLOADS":
		return filepath.Join(home, "Downloads"), true
	case "/", "pathSeparator":
		return string(filepath.Separator), true
	}
	return "", false
}

func sortedKeys[T any](m map[string]T) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Folder is where the bundle is unpacked below folder: each version and content has its own.
func (b *Bundle) Folder(folder string) string {
	name := hub.Slug(b.Manifest.Name)
	if name == "" {
		name = "bundle"
	}
	return filepath.Join(folder, name+"-"+b.sum)
}

// Install makes the entry of a bundle that is, or will be, unpacked below folder.
func (b *Bundle) Install(folder, label string, values map[string]string) (*Plan, error) {
	if label = strings.TrimSpace(label); label == "" {
		label = b.Manifest.Name
	}
	if hub.Slug(label) == "" || len(label) > 64 {
		return nil, wrong("label", "has no letter or digit for an id, or is longer than 64 characters")
	}
	plan := &Plan{Label: label, Secrets: map[string]string{}}
	dir := b.Folder(folder)
	made, err := b.launch(dir, func(key string) ([]string, error) {
		s := b.Manifest.UserConfig[key]
		in := Input{IsRequired: s.Required, IsSecret: s.Sensitive, Format: s.Type}
		if s.Multiple {
			in.Format = "repeated"
		}
		values := map[string]string{key: values[key]}
		if values[key] == "" { // its default may name our folders, and nothing else
			values[key] = placeholder().ReplaceAllStringFunc(plain(s.Default), func(p string) string {
				v, _ := place(dir, p[2:len(p)-1])
				return v
			})
		}
		if !s.Sensitive { // what a person types here is text; a secret is not expanded anyway
			values[key] = strings.ReplaceAll(values[key], "${", "$${")
		}
		text, ok, err := given(label, values, plan.Secrets)(key, key, &in)
		switch {
		case err != nil || !ok:
			return nil, err
		case s.Multiple:
			return lines(text), nil
		}
		return []string{text}, nil
	})
	if err != nil {
		return nil, err
	}
	plan.Command = append([]string{made.Command}, made.Args...)
	plan.Entry, err = json.Marshal(struct {
		Command string            `json:"command"`
		Args    []string          `json:"args,omitempty"`
		Env     map[string]string `json:"env,omitempty"`
		Cwd     string            `json:"cwd"`
	}{made.Command, made.Args, made.Env, dir})
	return plan, err
}

// Unpack writes the bundle's files below folder, unless they are there already.
func (b *Bundle) Unpack(folder string) error {
	dir := b.Folder(folder)
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	return b.archive.unpack(dir)
}
