// Package backend_test holds the direction of imports for the whole tree.
package backend_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/drawbridge-mcp/drawbridge"

// edges lists for each package the packages of ours that it may import, in the order
// of need: whoever stands lower may know those above. A new edge is a decision about
// the design; it goes in here together with the code that needs it, and its commit
// says why. Test files are free to import what they like.
var edges = map[string]string{
	"backend/core":        "",
	"backend/osutil":      "",                            // what starts programs of others hides their windows
	"backend/eventually":  "",                            // never shipped: only tests import it
	"backend/redact":      "backend/osutil backend/core", // the only lists of names and formats of secrets
	"backend/process":     "backend/osutil",
	"backend/dockerexec":  "backend/osutil",
	"backend/wire":        "backend/core backend/redact",              // redact: which traced headers are secret; spans, replies and sinks are hub's, so that the call path converts nothing
	"backend/cassette":    "backend/core backend/redact backend/wire", // redact: its mark; wire: marks a result without changing its other bytes
	"backend/loopback":    "backend/osutil backend/core",
	"backend/secret":      "backend/osutil backend/core config backend/web backend/terminal",
	"backend/oauth":       "backend/core config backend/web backend/terminal",
	"backend/store":       "backend/core backend/redact backend/wire", // what is recorded has no secrets; wire: the members of results, to measure them
	"backend/serverlog":   "",
	"backend/schema":      "backend/core backend/wire",
	"backend/revision":    "backend/osutil backend/core backend/wire backend/schema",
	"backend/registry":    "backend/osutil backend/core config backend/revision", // what clients of each revision can read
	"backend/trust":       "backend/core backend/store config backend/registry backend/approvals backend/web backend/terminal",
	"backend/upstream":    "backend/osutil backend/core backend/wire config backend/sandbox backend/serverlog backend/process backend/dockerexec backend/cassette",                                                                                   // it alone starts and reaches servers; it reads what npm says
	"backend/supervisor":  "backend/osutil backend/core config backend/upstream backend/registry backend/process backend/wire backend/approvals backend/web backend/dockerexec backend/clientconf backend/serverlog backend/secret backend/terminal", // process: usage and the age of the login environment; upstream: why one ended
	"backend/approvals":   "backend/core backend/osutil backend/store backend/schema backend/wire config backend/serverlog backend/web backend/terminal",                                                                                             // wire: answers to forms are decoded as arguments are; store: earlier calls beside a pending one
	"backend/policy":      "backend/core config backend/registry backend/schema backend/approvals backend/wire backend/osutil backend/terminal backend/store backend/redact backend/web",
	"backend/gateway":     "backend/core backend/policy backend/wire",
	"backend/bridge":      "backend/core backend/wire backend/registry backend/approvals backend/revision",
	"config":              "backend/osutil backend/core backend/redact", // copies of the file are written as the file is; redact: what of it is safe to share
	"backend/history":     "backend/osutil backend/core backend/redact backend/store backend/wire backend/cassette backend/schema backend/web backend/registry config backend/bridge backend/policy backend/gateway backend/terminal backend/loopback",
	"backend/clientconf":  "backend/osutil backend/core backend/redact config backend/secret backend/web backend/terminal backend/registry backend/bridge backend/loopback backend/store", // store: databases of other gateways
	"backend/guests":      "backend/core backend/loopback config backend/web backend/terminal",
	"backend/launch":      "backend/osutil backend/core config backend/process backend/upstream backend/approvals backend/web",                                                                                                                             // process: how npx started a program; approvals: replaced packages wait there
	"backend/marketplace": "backend/osutil backend/core config backend/dockerexec backend/history backend/policy backend/bridge backend/trust backend/process backend/registry backend/secret backend/upstream backend/terminal backend/store backend/web", // which argument of docker is the image
	"backend/metrics":     "backend/core",
	"backend/sandbox":     "backend/sandbox/reexec backend/core backend/store config backend/web backend/terminal",
	"backend/desktop":     "backend/core backend/osutil backend/approvals config backend/web backend/loopback backend/terminal",                                                                 // the installed version is asked for its number
	"backend/doctor":      "backend/osutil backend/core backend/redact config backend/clientconf backend/upstream backend/loopback backend/terminal backend/secret backend/web backend/process", // how a missing program is installed, said in one place
	"backend/builtin":     "backend/core backend/store",
	"backend/shim":        "backend/core backend/wire config backend/loopback backend/process backend/terminal",                                                                                                                                                                                 // apart from cli, so that a process per client stays small
	"backend/web":         "backend/core backend/loopback",                                                                                                                                                                                                                                      // loopback: whether the page or a command asks
	"backend/terminal":    "backend/core backend/web config backend/loopback backend/serverlog",                                                                                                                                                                                                 // serverlog: escapes what servers write
	"backend/profiles":    "backend/core backend/registry backend/store backend/loopback backend/bridge config backend/web backend/terminal",                                                                                                                                                    // bridge: the modes of tool lists
	"backend/cli":         "backend/core backend/web backend/terminal config backend/history backend/loopback backend/clientconf backend/guests backend/builtin backend/secret backend/desktop backend/api backend/supervisor backend/launch backend/marketplace backend/sandbox backend/trust", // what works without a daemon; the shim launches one; api, history, trust and supervisor: the documents of the daemon; wire: its streams of events
	"backend/mcptest":     "backend/eventually backend/wire",                                                                                                                                                                                                                                    // never shipped: only tests import it

	"backend/sandbox/reexec": "", // and of the standard library only what is initialized early

	// "*" is every package of backend and config, and the page; it never means the window.
	"backend/api":    "*",
	"app/drawbridge": "* backend/api backend/cli app/tray app/features",
	"app/features":   "backend/terminal backend/oauth backend/profiles backend/sandbox backend/secret backend/trust backend/marketplace backend/clientconf backend/history backend/approvals backend/policy backend/doctor backend/guests backend/supervisor backend/desktop backend/shim", // which features there are

	"app/tray":   "backend/core backend/approvals backend/desktop build/icons", // approvals: why a call no longer waits; desktop: what fits into one line of text
	"app/window": "build/icons backend/loopback backend/osutil",                // where the daemon answers, and its token
	".":          "app/window",

	"frontend":        "",
	"build/icons":     "",
	"build/testcount": "",
	"build/pagedata":  "backend/core backend/mcptest backend/store", // never shipped: a history and servers for the tests of the page
	"build/stats":     "",

	"build/package/manpages": "backend/cli backend/terminal app/features",
	"build/package/channels": "",
	"build/docs":             "config backend/cli backend/terminal backend/clientconf app/features backend/bridge backend/core backend/registry", // documents that are written from what the program knows
	"build/e2e":              "",
	"build/faults":           "", // it knows the program by its address only
	"build/smoke":            "",
	"build/windows":          "",
	"build/soak":             "", // it knows the program by its address only
	"build/bench":            "backend/mcptest",
}

// owners lists for each outside module the packages that may import it.
var owners = map[string]string{
	"modernc.org/sqlite":                     "backend/store",
	"github.com/klauspost/compress":          "backend/store",
	"github.com/moby/moby/client":            "backend/dockerexec",
	"github.com/moby/moby/api":               "backend/dockerexec",
	"github.com/containerd/errdefs":          "backend/dockerexec",
	"github.com/fsnotify/fsnotify":           "config",
	"fyne.io/systray":                        "app/tray",
	"github.com/godbus/dbus/v5":              "app/tray backend/desktop backend/secret", // secret asks whether the keyring is locked, which go-keyring cannot
	"github.com/wailsapp/wails/v2":           "app/window",
	"github.com/modelcontextprotocol/go-sdk": "backend/bridge backend/oauth backend/builtin",
	"github.com/tailscale/hujson":            "config backend/clientconf",
	"github.com/goccy/go-yaml":               "config backend/clientconf",
	"github.com/pelletier/go-toml/v2":        "backend/clientconf",
	"github.com/danielgtaylor/huma/v2":       "backend/web backend/api backend/history",
	"github.com/spf13/cobra":                 "backend/terminal backend/oauth backend/profiles backend/sandbox backend/secret backend/trust backend/cli build/package/manpages build/docs backend/marketplace backend/clientconf backend/history backend/approvals backend/policy backend/doctor backend/guests backend/supervisor backend/desktop backend/shim",
	"aead.dev/minisign":                      "backend/desktop",
	"golang.org/x/mod":                       "backend/desktop", // the order of semantic versions
	"github.com/google/licensecheck":         "build/docs",
	"github.com/spf13/pflag":                 "backend/cli backend/clientconf build/docs backend/history backend/terminal",
	"github.com/google/jsonschema-go":        "backend/schema",
	"golang.org/x/text":                      "backend/policy",
	"github.com/kljensen/snowball":           "backend/registry",
	"golang.org/x/time":                      "backend/loopback backend/policy backend/wire",
	"github.com/shirou/gopsutil/v4":          "backend/clientconf backend/loopback backend/process",
	"github.com/prometheus/client_golang":    "backend/metrics",
	"github.com/prometheus/client_model":     "backend/metrics",
	"google.golang.org/protobuf":             "backend/metrics",
	"go.opentelemetry.io/proto/otlp":         "backend/metrics",
	"git.sr.ht/~jackmordaunt/go-toast/v2":    "backend/desktop",
	"github.com/zalando/go-keyring":          "backend/secret",
	"gopkg.in/natefinch/lumberjack.v2":       "app/drawbridge",
	"github.com/rivo/uniseg":                 "backend/terminal",
	"golang.org/x/term":                      "backend/terminal backend/oauth backend/secret",
	"golang.org/x/sys":                       "config backend/osutil backend/process backend/sandbox backend/loopback backend/store backend/desktop backend/shim app/window build/bench", // config: access lists on Windows; osutil: the lock of a file there; shim: how stdin waits; app/window: whether whoever started it still waits
	"golang.org/x/sync":                      "backend/bridge",                                                                                                                           // semaphore: room for large bodies
}

// imports maps each package of the tree to what its files import outside of tests,
// whatever their build tags, and each import to a file that has it.
func imports(t *testing.T) map[string]map[string]string {
	t.Helper()
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	found := map[string]map[string]string{}
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if file != root && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		pkg := path.Dir(rel)
		if found[pkg] == nil {
			found[pkg] = map[string]string{}
		}
		for _, spec := range f.Imports {
			what, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			found[pkg][what] = rel
		}
		return nil
	})
	require.NoError(t, err)
	return found
}

func ours(what string) (pkg string, ok bool) {
	if what == module {
		return ".", true
	}
	return strings.CutPrefix(what, module+"/")
}

// mayImport reports whether pkg may import the package to, both ours.
func mayImport(pkg, to string) bool {
	list := strings.Fields(edges[pkg])
	if slices.Contains(list, to) {
		return true
	}
	if !slices.Contains(list, "*") {
		return false
	}
	anywhere := to == "config" || to == "frontend" || strings.HasPrefix(to, "backend/")
	return anywhere && to != "backend/api" && to != "backend/cli" && to != "backend/mcptest"
}

// parent is the nearest package in edges that pkg stands in, so that a part of a
// package, kept in a folder below it, follows the same rules.
func parent(pkg string) (string, bool) {
	for p := pkg; ; p = path.Dir(p) {
		if _, known := edges[p]; known && (p != "." || pkg == ".") {
			return p, true
		}
		if p == "." {
			return "", false
		}
	}
}

// moduleOf is the row of owners that an outside import belongs to, "" for none.
func moduleOf(what string) (mod string) {
	for candidate := range owners {
		if (what == candidate || strings.HasPrefix(what, candidate+"/")) && len(candidate) > len(mod) {
			mod = candidate
		}
	}
	return mod
}

func TestImportsGoOneWay(t *testing.T) {
	for pkg, list := range imports(t) {
		at, known := parent(pkg)
		if !known {
			t.Errorf("package %s is not in the table of edges", pkg)
			continue
		}
		for what, file := range list {
			to, mine := ours(what)
			if !mine {
				continue
			}
			owner, _ := parent(to)
			assert.Falsef(t, owner != at && !mayImport(at, owner), "%s: %s may not import %s; a new edge is a decision, see the table of edges", file, pkg, to)
		}
	}
}

func TestEveryOutsideModuleHasItsOwner(t *testing.T) {
	for pkg, list := range imports(t) {
		at, _ := parent(pkg)
		for what, file := range list {
			if _, mine := ours(what); mine || !strings.Contains(strings.Split(what, "/")[0], ".") {
				continue // ours, or the standard library
			}
			mod := moduleOf(what)
			if mod == "" {
				t.Errorf("%s: %s has no owner; name one in the table of owners", file, what)
			} else if !slices.Contains(strings.Fields(owners[mod]), at) {
				t.Errorf("%s: %s belongs to %s, not to %s", file, mod, owners[mod], pkg)
			}
		}
	}
}

// A row that nothing needs any more would let an import back in without anybody deciding it.
func TestTheTablesOfImportsHoldNothingUnused(t *testing.T) {
	edge, owner := map[[2]string]bool{}, map[[2]string]bool{}
	for pkg, list := range imports(t) {
		at, _ := parent(pkg)
		for what := range list {
			if to, mine := ours(what); mine {
				home, _ := parent(to)
				edge[[2]string{at, home}] = true
			} else {
				owner[[2]string{moduleOf(what), at}] = true
			}
		}
	}
	for pkg, list := range edges {
		for _, to := range strings.Fields(list) {
			assert.Falsef(t, to != "*" && !edge[[2]string{pkg, to}], "%s no longer imports %s: take it out of the table of edges", pkg, to)
		}
	}
	for mod, list := range owners {
		for _, pkg := range strings.Fields(list) {
			assert.Truef(t, owner[[2]string{mod, pkg}], "%s no longer imports %s: take it out of the table of owners", pkg, mod)
		}
	}
}

// The daemon must start without a webview: it is one static binary, and idles at a
// twentieth of the memory that a webview takes.
func TestDaemonNeverImportsWails(t *testing.T) {
	all := imports(t)
	seen := map[string]bool{}
	var walk func(pkg string, trail []string)
	walk = func(pkg string, trail []string) {
		if seen[pkg] {
			return
		}
		seen[pkg] = true
		trail = append(slices.Clip(trail), pkg)
		for what := range all[pkg] {
			assert.NotContains(t, what, "wailsapp/", strings.Join(trail, " > "))
			if to, mine := ours(what); mine {
				walk(to, trail)
			}
		}
	}
	walk("app/drawbridge", nil)
	require.NotEmpty(t, all["app/drawbridge"], "found no imports of the daemon at all")
}

// The Wails tools build from the root; whatever else stood there would run while they
// look for bindings.
func TestRootHoldsOnlyTheWindowsEntry(t *testing.T) {
	src, err := os.ReadFile("../main.go")
	require.NoError(t, err)
	n := strings.Count(string(src), "\n")
	assert.Truef(t, n <= 15, "main.go has %d lines, at most 15 belong there", n)
	files, _ := filepath.Glob("../*.go")
	assert.Len(t, files, 1, "the root holds")
}
