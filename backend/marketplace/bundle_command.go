package marketplace

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

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
