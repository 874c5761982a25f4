package launch

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
)

// learned is what one start by npx has shown.
type learned struct {
	Key      string   `json:"key"` // keyOf the start
	Packages []string `json:"packages"`
	Version  string   `json:"version"` // of the first package
	Folder   string   `json:"folder"`  // in npm's cache
	Node     string   `json:"node"`
	Options  []string `json:"options,omitempty"` // of node
	Script   string   `json:"script"`
	// Set and Unset are the variables that npx changes. PATH is what it puts before the PATH.
	Set   map[string]string `json:"set"`
	Unset []string          `json:"unset,omitempty"`
	Path  string            `json:"path"`

	Inputs   map[string]string `json:"inputs"` // states of files
	Contents contents          `json:"contents"`
	At       time.Time         `json:"at"`

	DirectStart time.Duration `json:"directStart"` // of the first direct start; 0 is none

	NpxStart  time.Duration `json:"npxStart"`  // of the newest start by npx from a filled cache; 0 is unknown
	NpxMemory int64         `json:"npxMemory"` // of npm's processes beside the server
}

func (l *learned) names() (list []string) {
	for _, spec := range l.Packages {
		list = append(list, nameOf(spec))
	}
	return list
}

var cachedScript = osutil.LazyRegexp(`^(.*[/\\]_npx[/\\][0-9a-f]{8,64})[/\\]node_modules[/\\]`)

// observe returns what npx started for spec. tree are its processes, npx first.
func observe(spec process.Spec, c Command, tree []process.Proc) (*learned, error) {
	if len(tree) < 2 {
		return nil, errors.New("the program that npx started was not found")
	}
	l := &learned{Key: keyOf(spec), Packages: c.Packages, Set: map[string]string{}}
	var found process.Invocation
	below := map[int]bool{tree[0].PID: true}
	for more := true; more && l.Script == ""; {
		more = false
		for _, p := range tree[1:] {
			if below[p.PID] || !below[p.PPID] {
				continue
			}
			below[p.PID], more = true, true
			inv, err := process.InvocationOf(p.PID)
			if err != nil || len(inv.Args) < 2 || programOf(inv.Path) != "node" && programOf(inv.Path) != "nodejs" {
				continue
			}
			at := slices.IndexFunc(inv.Args[1:], cachedScript().MatchString) + 1
			if at > 0 && slices.Equal(inv.Args[at+1:], c.Args) {
				found, l.Node, l.Options, l.Script = inv, inv.Path, inv.Args[1:at], inv.Args[at]
				break
			}
		}
	}
	if l.Script == "" {
		return nil, errors.New("npx did not start a program of its cache with node")
	}
	l.Script = filepath.Clean(l.Script)
	l.Folder = cachedScript().FindStringSubmatch(l.Script)[1]
	return l, l.compareEnvironments(spec, found)
}

// compareEnvironments learns what npx changed of the environment.
func (l *learned) compareEnvironments(spec process.Spec, inv process.Invocation) error {
	was, is := environOf(spec.Env), environOf(inv.Env)
	path, given := is.get("PATH"), was.get("PATH")
	if !strings.HasSuffix(path, string(filepath.ListSeparator)+given) || given == "" {
		return errors.New("npx changed the PATH in an unknown way")
	}
	l.Path = strings.TrimSuffix(path, given)
	for name, value := range is {
		if before, known := was[name]; name != nameIn("PATH") && !isOwn(name) && (!known || before != value) {
			l.Set[name] = value
		}
	}
	for name := range was {
		if _, known := is[name]; !known {
			l.Unset = append(l.Unset, name)
		}
	}
	slices.Sort(l.Unset)
	dir, err := folderOf(spec)
	if err != nil {
		return err
	}
	if project := is.get("npm_package_json"); !sameFile(filepath.Dir(project), dir) {
		return errors.New("npx started the program in another folder")
	}
	if node, err := process.Resolve("node", path); err != nil || !sameFile(node, l.Node) {
		return fmt.Errorf("%q in the PATH is not the node that ran it", "node")
	}
	l.Inputs = statesOf(inputs(l, dir, environOf(inv.Env)))
	return nil
}

// isOwn reports whether a variable is set by Drawbridge for each process.
func isOwn(name string) bool { return strings.HasPrefix(name, "DRAWBRIDGE_") }

// folderOf returns the folder in which a process starts.
func folderOf(spec process.Spec) (string, error) {
	if spec.Dir == "" {
		return os.Getwd()
	}
	return filepath.Abs(spec.Dir)
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// readCache adds what is in the folder of npm's cache.
func (l *learned) readCache() (err error) {
	if l.Contents, err = readContents(l.Folder); err != nil {
		return err
	}
	of, known := l.Contents.Packages["node_modules/"+l.names()[0]]
	if l.Version = of.Version; !known || of.Version == "" {
		return errors.New("the package is not in the folder of npm's cache")
	}
	return nil
}

// direct returns how to start the program of l in place of spec, which is npx.
func (l *learned) direct(spec process.Spec, args []string) process.Spec {
	env := environOf(spec.Env)
	path := l.Path + env.get("PATH")
	spec.Env = slices.DeleteFunc(slices.Clone(spec.Env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		name = nameIn(name)
		_, set := l.Set[name]
		return set || name == nameIn("PATH") || slices.Contains(l.Unset, name)
	})
	spec.Env = append(spec.Env, "PATH="+path)
	for name, value := range l.Set {
		spec.Env = append(spec.Env, name+"="+value)
	}
	slices.Sort(spec.Env)
	spec.Path, spec.Args = l.Node, slices.Concat(l.Options, []string{l.Script}, args)
	return spec
}

// differs returns why npx has to start the server, or "".
func (l *learned) differs(spec process.Spec) string {
	if l.Key != keyOf(spec) {
		return "its entry or its environment changed"
	}
	node, err := process.Resolve("node", l.Path+environOf(spec.Env).get("PATH"))
	if err != nil || !sameFile(node, l.Node) {
		return "node in the PATH is another one"
	}
	if path := changedInput(l.Inputs); path != "" {
		return path + " changed"
	}
	return ""
}

// memoryOf returns the memory of the processes of npx beside the server's.
func memoryOf(tree []process.Proc, script string) (sum int64) {
	for _, p := range tree {
		inv, err := process.InvocationOf(p.PID)
		if err != nil || slices.ContainsFunc(inv.Args, func(arg string) bool { return filepath.Clean(arg) == script }) {
			break // the processes below it are the server's, too
		}
		sum += cmp.Or(process.PSS(p.PID), p.RSS)
	}
	return sum
}
