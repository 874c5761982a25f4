package marketplace

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// Bundle is a .mcpb file that has been checked and can be installed.
type Bundle struct {
	Manifest Manifest
	Fields   []Field
	archive  *archive
	sum      string
}

// ReadBundle checks a bundle and its manifest. It unpacks nothing and runs nothing.
func ReadBundle(src []byte) (*Bundle, error) {
	a, err := openArchive(src)
	if err != nil {
		return nil, err
	}
	raw, err := a.readFile("manifest.json", maxRecord)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(src)
	b := &Bundle{archive: a, sum: hex.EncodeToString(sum[:6])}
	if err := json.Unmarshal(raw, &b.Manifest); err != nil {
		return nil, validationErrorf("cannot read the manifest of the bundle: %v", err)
	}
	if err := CheckStrictJSON("the manifest of the bundle", raw); err != nil {
		return nil, err
	}
	return b, b.check()
}

// About describes a bundle to the user before it is unpacked.
type About struct {
	Name        string   `json:"name"`
	Title       string   `json:"title"`
	Version     string   `json:"version"`
	Description string   `json:"description"`
	Author      string   `json:"author" doc:"As claimed by the bundle"`
	Type        string   `json:"type" enum:"node,python,uv,binary"`
	Command     []string `json:"command" nullable:"false" doc:"Command line that would run, with values to be entered in angle brackets"`
	Variables   []string `json:"variables" nullable:"false" doc:"Names of the environment variables that the bundle sets"`
	Files       int      `json:"files"`
	Bytes       int64    `json:"bytes" doc:"Total unpacked size"`
	SHA256      string   `json:"sha256" doc:"First digits of the file's hash"`
	Folder      string   `json:"folder" doc:"Folder into which it would be unpacked"`
	Unpacked    bool     `json:"unpacked" doc:"Whether it is already unpacked"`
}

// About describes the bundle, which would be unpacked below folder.
func (b *Bundle) About(folder string) About {
	m := &b.Manifest
	a := About{Name: m.Name, Title: m.DisplayName, Version: m.Release, Description: m.Description, Author: m.Author.Name,
		Type: m.Server.Type, Files: len(b.archive.files), SHA256: b.sum, Folder: b.Folder(folder), Command: []string{}, Variables: []string{}}
	for _, f := range b.archive.files {
		a.Bytes += int64(f.UncompressedSize64)
	}
	if info, err := os.Stat(a.Folder); err == nil {
		a.Unpacked = info.IsDir()
	}
	made, err := b.launchCommand(a.Folder, func(key string) ([]string, error) { return []string{"<" + b.fieldLabel(key) + ">"}, nil })
	if err == nil { // cannot fail: check has already called launch
		a.Command = append([]string{made.Command}, made.Args...)
		a.Variables = append(a.Variables, slices.Sorted(maps.Keys(made.Env))...) // never nil
	}
	return a
}

func (b *Bundle) fieldLabel(key string) string {
	for _, f := range b.Fields {
		if f.Key == key {
			return f.Label
		}
	}
	return key
}

// Folder returns the directory below folder into which the bundle is unpacked. Each version and
// content has a directory of its own.
func (b *Bundle) Folder(folder string) string {
	name := core.Slug(b.Manifest.Name)
	if name == "" {
		name = "bundle"
	}
	return filepath.Join(folder, name+"-"+b.sum)
}

// Install returns the configuration entry of a bundle that is, or will be, unpacked below folder.
func (b *Bundle) Install(folder, label string, values map[string]string) (*Plan, error) {
	if label = strings.TrimSpace(label); label == "" {
		label = b.Manifest.Name
	}
	if core.Slug(label) == "" || len(label) > 64 {
		return nil, fieldError("label", "must contain a letter or digit and be at most 64 characters long")
	}
	plan := &Plan{Label: label, Secrets: map[string]string{}}
	dir := b.Folder(folder)
	made, err := b.launchCommand(dir, func(key string) ([]string, error) {
		s := b.Manifest.UserConfig[key]
		in := Input{IsRequired: s.Required, IsSecret: s.Sensitive, Format: s.Type}
		if s.Multiple {
			in.Format = "repeated"
		}
		values := map[string]string{key: values[key]}
		if values[key] == "" { // only a default may contain placeholders, and only those for directories
			values[key] = placeholderPattern().ReplaceAllStringFunc(defaultText(s.Default), func(p string) string {
				v, _ := placeholderValue(dir, p[2:len(p)-1])
				return v
			})
		}
		if !s.Sensitive { // user input is literal; a secret is not expanded in any case
			values[key] = strings.ReplaceAll(values[key], "${", "$${")
		}
		text, ok, err := resolveFromForm(label, values, plan.Secrets)(key, key, &in)
		switch {
		case err != nil || !ok:
			return nil, err
		case s.Multiple:
			return nonEmptyLines(text), nil
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

// Unpack writes the bundle's files below folder. It does nothing if they are already there.
func (b *Bundle) Unpack(folder string) error {
	dir := b.Folder(folder)
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	return b.archive.unpack(dir)
}

// launchCommand returns the command line of a bundle in dir; lookup returns the values of a
// setting.
func (b *Bundle) launchCommand(dir string, lookup func(key string) ([]string, error)) (launch, error) {
	m := &b.Manifest
	c := m.Server.Config
	if o, ok := c.Platforms[currentPlatform()]; ok {
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
	first, err := b.entryPoint(c)
	if err != nil {
		return launch{}, err
	}
	out := launch{Env: map[string]string{}}
	fill := func(what, s string) ([]string, error) { return b.expandPlaceholders(dir, what, s, lookup) }
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
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		if err := checkVariableName(name); err != nil {
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

// bundleFile returns the file of the bundle that s refers to as ${__dirname}/path, and whether it
// exists.
func (b *Bundle) bundleFile(s string) (string, bool) {
	s = strings.ReplaceAll(s, "${/}", "/")
	rest, ok := strings.CutPrefix(s, "${__dirname}/")
	_, there := b.archive.names[rest]
	return rest, ok && there
}

// entryPoint returns the file of the bundle that is run, and checks the command line. The manifest
// may only use the interpreter of its type, with a file of the bundle, so it can neither run
// another program of this machine nor pass code in an argument.
func (b *Bundle) entryPoint(c launch) (first string, err error) {
	m := &b.Manifest
	programs := map[string][]string{"node": {"node"}, "python": {"python", "python3"}, "uv": {"uv"}}
	switch kind := m.Server.Type; kind {
	case "binary":
		file, ok := b.bundleFile(c.Command)
		if !ok {
			if _, there := b.archive.names[c.Command]; there {
				return c.Command, nil
			}
			return "", validationErrorf("the bundle runs %q, which is not one of its files", truncate(c.Command))
		}
		return file, nil
	case "node", "python":
		if !slices.Contains(programs[kind], c.Command) {
			return "", validationErrorf("the bundle runs %q: a bundle of type %s must run %s", truncate(c.Command), kind, programs[kind][0])
		}
		if len(c.Args) == 0 {
			return "", validationErrorf("the bundle does not specify a file to run")
		}
		file, ok := b.bundleFile(c.Args[0])
		if !ok {
			return "", validationErrorf("the first argument of %s in the bundle is %q, which is not one of its files", c.Command, truncate(c.Args[0]))
		}
		return file, nil
	case "uv":
		if c.Command != "uv" || len(c.Args) < 2 || c.Args[0] != "run" {
			return "", validationErrorf("the bundle runs %q: a bundle of type uv must use the command \"uv run\"", truncate(c.Command+" "+strings.Join(c.Args, " ")))
		}
		for _, a := range c.Args[1:] {
			if _, ok := b.bundleFile(a); ok {
				return "", nil // later arguments belong to the bundle's own program
			}
			if a != "--directory" && a != "--project" && a != "${__dirname}" {
				return "", validationErrorf("the option %q of uv is not allowed in a bundle", truncate(a))
			}
		}
		return "", validationErrorf("the bundle does not specify a file to run")
	default:
		return "", validationErrorf("bundles of type %q cannot be run", truncate(kind))
	}
}

var placeholderPattern = osutil.LazyRegexp(`\$\{([^}]*)\}`)

// expandPlaceholders replaces the placeholders in s. A text that consists of one placeholder with
// several values becomes several arguments.
func (b *Bundle) expandPlaceholders(dir, what, s string, lookup func(string) ([]string, error)) ([]string, error) {
	if err := checkText(what+" of the bundle", s); err != nil {
		return nil, err
	}
	if key, alone := strings.CutPrefix(s, "${user_config."); alone && strings.Count(s, "${") == 1 && strings.HasSuffix(s, "}") {
		return b.settingValues(strings.TrimSuffix(key, "}"), lookup)
	}
	var failed error
	out := placeholderPattern().ReplaceAllStringFunc(s, func(p string) string {
		name := p[2 : len(p)-1]
		if key, ok := strings.CutPrefix(name, "user_config."); ok {
			values, err := b.settingValues(key, lookup)
			if err != nil {
				failed = err
			}
			return strings.Join(values, ",")
		}
		value, ok := placeholderValue(dir, name)
		if !ok {
			failed = validationErrorf("the %s of the bundle contains the unknown placeholder %q", what, truncate(p))
		}
		return value
	})
	if failed != nil {
		return nil, failed
	}
	if rest := placeholderPattern().ReplaceAllString(s, ""); strings.Contains(rest, "${") {
		return nil, validationErrorf("the %s of the bundle contains an unterminated placeholder", what)
	}
	return []string{out}, nil
}

func (b *Bundle) settingValues(key string, lookup func(string) ([]string, error)) ([]string, error) {
	if _, ok := b.Manifest.UserConfig[key]; !ok {
		return nil, validationErrorf("the bundle refers to the undefined setting %q", truncate(key))
	}
	return lookup(key)
}

// placeholderValue returns the value of a placeholder for a directory or a separator.
func placeholderValue(dir, name string) (string, bool) {
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

// Manifest holds the fields of a bundle's manifest.json that are used.
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

// setting is a value that a bundle asks for. Default and the bounds may have any JSON type.
type setting struct {
	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Required    bool            `json:"required"`
	Default     json.RawMessage `json:"default"`
	Multiple    bool            `json:"multiple"`
	Sensitive   bool            `json:"sensitive"`
}

// currentPlatform returns the name of this operating system in manifests.
func currentPlatform() string {
	if runtime.GOOS == "windows" {
		return "win32"
	}
	return runtime.GOOS
}

var bundleNamePattern = osutil.LazyRegexp(`^[A-Za-z0-9][A-Za-z0-9._ -]{0,63}$`)

func (b *Bundle) check() error {
	m := &b.Manifest
	switch {
	case m.Version == "" && m.Dxt == "" || len(m.Version+m.Dxt) > 10 || !strings.HasPrefix(m.Version+m.Dxt, "0."):
		return validationErrorf("the bundle's manifest has the unsupported version %q", truncate(m.Version+m.Dxt))
	case !bundleNamePattern().MatchString(m.Name):
		return validationErrorf("%q is not a valid bundle name", truncate(m.Name))
	case !versionPattern().MatchString(m.Release):
		return validationErrorf("%q is not a valid bundle version", truncate(m.Release))
	case len(m.Compatibility.Platforms) > 0 && !slices.Contains(m.Compatibility.Platforms, currentPlatform()):
		return validationErrorf("the bundle is for %s, not for this system", truncate(strings.Join(m.Compatibility.Platforms, ", ")))
	case len(m.UserConfig) > maxInputs || len(m.Server.Config.Args) > maxInputs || len(m.Server.Config.Env) > maxInputs:
		return validationErrorf("the bundle has more than %d inputs", maxInputs)
	}
	for _, s := range []string{m.DisplayName, m.Description, m.Author.Name} {
		if err := checkText("text of the bundle", s); err != nil {
			return err
		}
	}
	b.Fields = []Field{}
	for _, key := range slices.Sorted(maps.Keys(m.UserConfig)) {
		s := m.UserConfig[key]
		if !variableNamePattern().MatchString(key) {
			return validationErrorf("%q is not a valid setting name", truncate(key))
		}
		if !slices.Contains([]string{"string", "number", "boolean", "directory", "file"}, s.Type) {
			return validationErrorf("the setting %s has the unknown type %q", key, truncate(s.Type))
		}
		for _, t := range []string{s.Title, s.Description} {
			if err := checkText("text of the setting "+key, t); err != nil {
				return err
			}
		}
		f := Field{Key: key, Label: s.Title, Description: s.Description, Required: s.Required, Secret: s.Sensitive, Multiple: s.Multiple,
			Format: map[string]string{"file": "filepath"}[s.Type], Default: defaultText(s.Default)}
		if f.Format == "" {
			f.Format = s.Type
		}
		if f.Label == "" {
			f.Label = key
		}
		b.Fields = append(b.Fields, f)
	}
	_, err := b.launchCommand("/bundle", func(key string) ([]string, error) { return []string{""}, nil })
	return err
}

// defaultText returns a default as text, with one list element per line. It keeps placeholders.
func defaultText(raw json.RawMessage) string {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		var all []string
		for _, one := range list {
			all = append(all, defaultText(one))
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
