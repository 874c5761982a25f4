package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/mcptest"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// TestMain makes this program a node that runs "scripts": a script is what the server does, in words.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "node" {
		runScript(os.Args[1])
	}
	_ = os.Setenv("SHELL", "/bin/sh") // a login shell with little output
	goleak.VerifyTestMain(m)
}

// runScript records how it was started, and serves.
func runScript(path string) {
	script, err := os.ReadFile(path)
	if err != nil {
		os.Exit(2)
	}
	dir, _ := os.Getwd()
	record, _ := json.Marshal(started{Args: os.Args, Env: os.Environ(), Dir: dir})
	if err := os.WriteFile(os.Getenv("RECORD"), record, 0o600); err != nil {
		os.Exit(3)
	}
	parent, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", os.Getppid()))
	byNpx := strings.Contains(string(parent), "/npx\x00")
	switch words := string(script); {
	case strings.Contains(words, "exits"), strings.Contains(words, "needs npx") && !byNpx:
		fmt.Fprintln(os.Stderr, "this does not work")
		os.Exit(7)
	case strings.Contains(words, "hangs without npx") && !byNpx:
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(8)
	}
	mcptest.Main("legacy")
}

type started struct {
	Args, Env []string
	Dir       string
}

// npm is a small npm: a folder with node and npx, and a cache with one package.
type npm struct {
	t            *testing.T
	bin, folder  string
	record, work string
	feature      *Feature
	dialer       *upstream.Dialer
	server       config.Server
	restarted    []string
}

const npxScript = `#!/bin/sh
[ -e "$FAKE/broken" ] && { echo "npx is broken" >&2; exit 9; }
while case "$1" in -*) true;; *) false;; esac; do shift; done
shift
PATH="$FAKE/_npx/0123456789abcdef/node_modules/.bin:$PWD/node_modules/.bin:$PATH"
npm_execpath="$FAKE/npm/bin/npm-cli.js" npm_config_userconfig="$FAKE/npmrc" npm_package_json="$PWD/package.json" npm_lifecycle_event=npx INIT_CWD="$PWD" PATH="$PATH" \
  node "$FAKE/_npx/0123456789abcdef/node_modules/.bin/srv" "$@"
exit $?
`

func newNpm(t *testing.T) *npm {
	t.Helper()
	dir := t.TempDir()
	n := &npm{t: t, bin: filepath.Join(dir, "bin"), folder: filepath.Join(dir, "_npx", "0123456789abcdef"), record: filepath.Join(dir, "record"), work: filepath.Join(dir, "work")}
	self, err := os.Executable()
	require.NoError(t, err)
	for _, f := range []string{n.bin, n.work, filepath.Join(n.folder, "node_modules", ".bin")} {
		require.NoError(t, os.MkdirAll(f, 0o700))
	}
	text, err := os.ReadFile(self)
	require.NoError(t, err)
	n.write(filepath.Join(n.bin, "node"), string(text), 0o700)
	n.write(filepath.Join(n.bin, "npx"), npxScript, 0o700)
	n.write(filepath.Join(dir, "npmrc"), "fund=false\n", 0o600)
	n.write(filepath.Join(dir, "npm", "package.json"), `{"version":"11.0.0"}`, 0o600)
	n.write(filepath.Join(dir, "npm", "bin", "npm-cli.js"), "", 0o600)
	n.install("srv", "1.0.0", "serves")
	n.install("dep", "2.0.0", "exports = 1")
	require.NoError(t, os.Symlink("../srv/main.js", filepath.Join(n.folder, "node_modules", ".bin", "srv")))
	n.server = config.Server{ID: "one", Label: "one", Type: core.Stdio, Command: filepath.Join(n.bin, "npx"), Args: []string{"-y", "srv", "--root", "a b", ""}, Cwd: n.work, Launch: config.LaunchDirect,
		Env: map[string]string{"FAKE": dir, "RECORD": n.record, "PATH": n.bin + ":/usr/bin:/bin", "TOKEN": "t-1"}}
	n.open()
	log, logs := slog.New(slog.DiscardHandler), serverlog.Open("", nil)
	n.dialer = &upstream.Dialer{Spawner: process.NewSpawner(process.Options{Log: log}), Logs: logs, Log: log, Launcher: n.feature}
	t.Cleanup(func() {
		assert.NoError(t, errors.Join(n.dialer.Spawner.Close(context.Background()), logs.Close()))
	})
	return n
}

// open opens the Feature, with what an earlier one has remembered.
func (n *npm) open() {
	n.feature = New(Options{File: filepath.Join(filepath.Dir(n.bin), "launch.json"), Log: slog.New(slog.DiscardHandler)})
	n.feature.Servers = n
	n.apply()
	if n.dialer != nil {
		n.dialer.Launcher = n.feature
	}
}

func (n *npm) apply() { n.feature.Apply(&config.Config{Servers: []config.Server{n.server}}) }

func (n *npm) Restart(_ context.Context, id string) error {
	n.restarted = append(n.restarted, id)
	return nil
}

func (n *npm) write(path, text string, mode fs.FileMode) {
	n.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), mode)); err != nil {
		n.t.Fatal(err)
	}
}

func (n *npm) module(name, file string) string {
	return filepath.Join(n.folder, "node_modules", name, file)
}

// install installs a package as npm does.
func (n *npm) install(name, version, script string) {
	n.t.Helper()
	n.write(n.module(name, "package.json"), `{"name":"`+name+`","version":"`+version+`"}`, 0o600)
	n.write(n.module(name, "main.js"), script, 0o700)
	list := map[string]any{}
	path := filepath.Join(n.folder, "node_modules", ".package-lock.json")
	if text, err := os.ReadFile(path); err == nil {
		if err := json.Unmarshal(text, &list); err != nil {
			n.t.Fatal(err)
		}
	}
	all, _ := list["packages"].(map[string]any)
	if all == nil {
		all = map[string]any{}
	}
	all["node_modules/"+name] = map[string]string{"version": version}
	list["packages"] = all
	text, _ := json.Marshal(list)
	n.write(path, string(text), 0o600)
}

// start starts and stops the server, and returns how it was started.
func (n *npm) start() (Start, error) {
	n.t.Helper()
	_ = os.Remove(n.record)
	ctx, cancel := context.WithTimeout(n.t.Context(), time.Minute)
	defer cancel()
	session, err := n.dialer.Connect(ctx, upstream.Request{Server: &n.server, Changed: func(core.Kind) {}})
	for len(n.feature.tasks) > 0 {
		(<-n.feature.tasks)()
	}
	if err == nil {
		if err := session.Close(ctx); err != nil {
			n.t.Error(err)
		}
	}
	all := n.feature.All().Items
	if len(all) != 1 {
		return Start{}, err
	}
	return all[0], err
}

// expect starts the server, which must be started in a way, for a reason that contains why.
func (n *npm) expect(how, why string) {
	n.t.Helper()
	s, err := n.start()
	if err != nil {
		n.t.Fatal(err)
	}
	if s.How != how || !strings.Contains(s.Why, why) || why == "" && s.Why != "" {
		n.t.Fatalf("it was started %q because %q, want %q because %q", s.How, s.Why, how, why)
	}
}

// learn starts the server by npx, so that the next start is direct.
func (n *npm) learn() {
	n.t.Helper()
	n.expect(ByNpx, learnedStart) // not that it has yet to start
}

func (n *npm) recorded() (s started) {
	n.t.Helper()
	text, err := os.ReadFile(n.record)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		n.t.Fatal(err)
	}
	s.Env = slices.DeleteFunc(s.Env, func(kv string) bool { return isOwn(kv) || strings.HasPrefix(kv, "_=") })
	slices.Sort(s.Env)
	s.Args = s.Args[1:]
	return s
}

func TestSecondStartIsDirectWithSameArgumentsFolderAndEnvironment(t *testing.T) {
	n := newNpm(t)
	n.learn()
	byNpx := n.recorded()
	n.expect(Directly, "")
	assert.Equal(t, fmt.Sprint(byNpx), fmt.Sprint(n.recorded()))
	n.open() // after a restart of Drawbridge
	assert.NotEqualValues(t, 0, n.feature.ExpectedStart("one"), "it is not known how long the direct start took")
	n.expect(Directly, "")
	n.server.Env["TOKEN"] = "t-2"
	n.expect(Directly, "")
	assert.Contains(t, n.recorded().Env, "TOKEN=t-2", "the program got an old value of a variable")
}

// Each of these changes makes npx start the server once, and from then on it is started directly again.
func TestNpxStartsAfterEachChangeThatConcernsIt(t *testing.T) {
	for name, one := range map[string]struct {
		change func(n *npm)
		why    string
	}{
		"arguments":           {func(n *npm) { n.server.Args[4] = "more" }, "its entry"},
		"npm_config variable": {func(n *npm) { n.server.Env["npm_config_registry"] = "http://127.0.0.1:1" }, "its environment"},
		"folder":              {func(n *npm) { n.server.Cwd = filepath.Dir(n.work) }, "its entry"},
		"settings of npm":     {func(n *npm) { n.write(filepath.Join(filepath.Dir(n.bin), "npmrc"), "registry=x\n", 0o600) }, "npmrc changed"},
		"settings of project": {func(n *npm) { n.write(filepath.Join(n.work, ".npmrc"), "registry=x\n", 0o600) }, ".npmrc changed"},
		"version of npm": {func(n *npm) {
			n.write(filepath.Join(filepath.Dir(n.bin), "npm", "package.json"), `{"version":"12.0.0"}`, 0o600)
		}, "package.json changed"},
		"program of project":    {func(n *npm) { n.write(filepath.Join(n.work, "node_modules", ".bin", "srv"), "x", 0o700) }, "changed"},
		"version of package":    {func(n *npm) { n.install("srv", "1.1.0", "serves better") }, "npm changed the package in its cache: srv"},
		"version of dependency": {func(n *npm) { n.install("dep", "2.1.0", "exports = 2") }, "dep"},
		"other node": {func(n *npm) {
			text, _ := os.ReadFile(filepath.Join(n.bin, "node"))
			n.write(filepath.Join(n.bin, "node2"), string(text), 0o700)
			_ = os.Rename(filepath.Join(n.bin, "node2"), filepath.Join(n.bin, "node"))
		}, "node"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNpm(t)
			n.learn()
			one.change(n)
			n.expect(ByNpx, one.why)
			n.expect(Directly, "")
		})
	}
}

// Where npx does something else than expected, nothing is learned from it.
func TestNothingIsLearnedFromAnUnknownStart(t *testing.T) {
	for why, change := range map[string][2]string{
		"did not start a program of its cache": {`node "$FAKE/_npx/0123456789abcdef/`, `node "$FAKE/_npx/0123456789abcdef/../../_npx/0123456789ABCDEF/`},
		"changed the PATH in an unknown way":   {`PATH="$PATH" \`, `PATH="$FAKE/bin:/usr/bin" \`},
		"in another folder":                    {`npm_package_json="$PWD/`, `npm_package_json="/`},
		"is not the node that ran it":          {`  node "$FAKE`, `  "$FAKE/other/node" "$FAKE`},
		"the package is not in the folder":     {`_npx/0123456789abcdef/node_modules/.bin/srv`, `_npx/fedcba9876543210/node_modules/.bin/srv`},
	} {
		t.Run(why, func(t *testing.T) {
			n := newNpm(t)
			fake := filepath.Dir(n.bin)
			err := errors.Join(os.MkdirAll(filepath.Join(fake, "other"), 0o700), os.Symlink(filepath.Base(n.folder), filepath.Join(fake, "_npx", "0123456789ABCDEF")))
			require.NoError(t, err)
			text, _ := os.ReadFile(filepath.Join(n.bin, "node"))
			n.write(filepath.Join(fake, "other", "node"), string(text), 0o700)
			n.write(filepath.Join(fake, "_npx", "fedcba9876543210", "node_modules", ".bin", "srv"), "serves", 0o700)
			n.write(filepath.Join(n.bin, "npx"), strings.Replace(npxScript, change[0], change[1], 1), 0o700)
			for range 2 {
				n.expect(ByNpx, why)
			}
		})
	}
}

func TestNpxStartsWhenPackageIsNoLongerInCache(t *testing.T) {
	n := newNpm(t)
	n.learn()
	require.NoError(t, os.RemoveAll(n.folder))
	_, err := n.start()
	require.Error(t, err, "it started without its package")
	s := n.feature.All().Items[0]
	assert.Truef(t, s.How == ByNpx && strings.Contains(s.Why, "no longer in npm's cache"), "%+v", s)
}

func TestLaunchNpxIsKept(t *testing.T) {
	n := newNpm(t)
	n.learn()
	n.server.Launch = config.LaunchNpx
	n.apply()
	n.expect(ByNpx, "launch is set to npx")
	n.server.Launch = config.LaunchDirect
	n.apply()
	n.expect(Directly, "")
}

func TestReplacedPackageIsNotStartedBeforeUserDecides(t *testing.T) {
	for name, replace := range map[string]func(n *npm){
		"same version":             func(n *npm) { n.write(n.module("srv", "main.js"), "evil, serves", 0o700) },
		"dependency":               func(n *npm) { n.write(n.module("dep", "main.js"), "evil", 0o700) },
		"named like types":         func(n *npm) { n.write(n.module("dep", "x.d.js"), "evil", 0o600) },
		"added file":               func(n *npm) { n.write(n.module("dep", "index.js"), "evil", 0o600) },
		"added package":            func(n *npm) { n.write(n.module("srv/node_modules/dep", "package.json"), `{"version":"1.0.0"}`, 0o600) },
		"version not known to npm": func(n *npm) { n.write(n.module("srv", "package.json"), `{"version":"1.0.1"}`, 0o600) },
		"same time and size": func(n *npm) {
			path := n.module("srv", "main.js")
			info, _ := os.Stat(path)
			n.write(path, "Serves", 0o700)
			_ = os.Chtimes(path, info.ModTime(), info.ModTime())
		},
		"link": func(n *npm) {
			link := filepath.Join(n.folder, "node_modules", ".bin", "srv")
			n.write(filepath.Join(n.folder, "other"), "serves", 0o700)
			_ = os.Remove(link)
			_ = os.Symlink("../../other", link)
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNpm(t)
			n.learn()
			replace(n)
			for range 2 {
				_, err := n.start()
				require.Equal(t, core.CodeValidation, core.CodeOf(err))
				require.Contains(t, err.Error(), "were replaced")
				_, err = os.Stat(n.record)
				require.Error(t, err, "the replaced program was started")
			}
			pending := n.feature.Pending()
			require.Len(t, pending, 1)
			require.Equal(t, "one", pending[0].Server)
			ended, err := n.feature.Answer(t.Context(), pending[0].ID, "decline")
			assert.Truef(t, !ended && err == nil && len(n.feature.Pending()) == 1, "declined: %v %v", ended, err)
			ended, err = n.feature.Answer(t.Context(), pending[0].ID, "accept")
			require.Truef(t, ended && err == nil && len(n.restarted) == 1, "accepted: %v %v", ended, err)
			n.expect(Directly, "")
			n.write(n.module("srv", "main.js"), "evil again, serves", 0o700)
			_, err = n.start()
			assert.Error(t, err, "what changed after the answer was accepted, too")
			_, err = n.feature.Answer(t.Context(), pending[0].ID, "accept")
			assert.Equal(t, core.CodeNotFound, core.CodeOf(err), "the first answer was accepted for another change")
		})
	}
}

func TestDataOfServerInItsPackageIsNoReplacement(t *testing.T) {
	n := newNpm(t)
	n.learn()
	n.write(n.module("srv", "memory.json"), "{}", 0o600)
	n.write(n.module("srv", "README.md"), "new", 0o600)
	n.write(n.module("srv", "main.d.ts"), "new", 0o600)
	now := time.Now()
	_ = os.Chtimes(n.module("srv", "main.js"), now, now) // the same content
	n.expect(Directly, "")
}

func TestServerThatFailsDirectlyIsStartedByNpxUntilItsVersionChanges(t *testing.T) {
	for script, reason := range map[string]string{"needs npx": "exited with status 7; last output: this does not work", "hangs without npx": "it did not answer"} {
		t.Run(script, func(t *testing.T) {
			n := newNpm(t)
			n.server.StartupTimeout = 4 * time.Second
			n.install("srv", "1.0.0", script)
			n.learn()
			n.expect(ByNpx, "it failed when it was started directly: "+reason)
			n.open()
			began := time.Now()
			n.expect(ByNpx, "it failed when it was started directly")
			assert.True(t, time.Since(began) <= 2*time.Second, "it was started directly again")
			n.install("srv", "1.0.1", "serves")
			n.expect(ByNpx, "npm changed")
			n.expect(Directly, "")
		})
	}
}

func TestServerThatFailsByNpxTooFailsWithErrorOfNpx(t *testing.T) {
	n := newNpm(t)
	n.learn()
	n.write(filepath.Join(filepath.Dir(n.bin), "broken"), "", 0o600)
	n.expect(Directly, "") // npx is not needed
	n.install("srv", "1.0.0", "exits")
	_, err := n.start()
	require.Equal(t, core.CodeValidation, core.CodeOf(err), "a changed file was not noticed")
	_, err = n.feature.Answer(t.Context(), n.feature.Pending()[0].ID, "accept")
	require.NoError(t, err)
	_, err = n.start()
	require.Error(t, err, "it started")
	assert.Nil(t, n.feature.known.of("one").Off, "direct starts are off")
}

func TestKnowledgeIsGoneWithServerAndBounded(t *testing.T) {
	n := newNpm(t)
	n.learn()
	for i := range maxLearned + 2 {
		n.server.Args[4] = fmt.Sprint("instance ", i)
		n.expect(ByNpx, "its entry")
	}
	assert.Equal(t, maxLearned, len(n.feature.known.of("one").Learned))
	n.feature.Apply(&config.Config{})
	text, err := os.ReadFile(n.feature.File)
	assert.Truef(t, err == nil && !strings.Contains(string(text), "one") && len(n.feature.All().Items) == 0, "%s %v", text, err)
	info, err := os.Stat(n.feature.File)
	assert.Truef(t, err == nil && info.Mode().Perm() == 0o600, "%v %v", info, err)
}

func TestUnreadableKnowledgeMeansNpx(t *testing.T) {
	n := newNpm(t)
	n.learn()
	for _, text := range []string{"{", "null", `{"format":0,"servers":{"one":{"learned":[null]}}}`} {
		n.write(n.feature.File, text, 0o600)
		n.open()
		n.learn()
		n.expect(Directly, "")
	}
}
