package marketplace

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/lazyregexp"
)

// launch returns the command line of a bundle in dir; of returns the values of settings.
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
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
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

// inside returns the file of the bundle that s refers to as ${__dirname}/path, and whether it
// exists.
func (b *Bundle) inside(s string) (string, bool) {
	s = strings.ReplaceAll(s, "${/}", "/")
	rest, ok := strings.CutPrefix(s, "${__dirname}/")
	_, there := b.archive.names[rest]
	return rest, ok && there
}

// begins returns the file of the bundle that is run, and checks the command line. The manifest
// may only use the interpreter of its type, with a file of the bundle, so it can neither run
// another program of this machine nor pass code in an argument.
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
			return "", refusef("the bundle wants to run %q, which is not a file of it", shorten(c.Command))
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
			return "", refusef("the bundle wants %s to begin with %q, which is not a file of it", c.Command, shorten(c.Args[0]))
		}
		return file, nil
	case "uv":
		if c.Command != "uv" || len(c.Args) < 2 || c.Args[0] != "run" {
			return "", refusef("the bundle wants to run %q: one of type uv is run by uv run", shorten(c.Command+" "+strings.Join(c.Args, " ")))
		}
		for _, a := range c.Args[1:] {
			if _, ok := b.inside(a); ok {
				return "", nil // later arguments belong to the bundle's own program
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

var placeholder = lazyregexp.New(`\$\{([^}]*)\}`)

// fill replaces the placeholders in s. A text that consists of one placeholder with several
// values becomes several arguments.
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

// place returns the value of a placeholder for a directory or a separator.
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
