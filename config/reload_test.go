package config

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const one = `{"mcpServers": {"a": {"command": "a"}}}`
const two = `{"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}}}`

// soon is shorter than the polling interval, so a change that is found within it was an event.
const soon = pollInterval - time.Second

func ids(c *Config) string {
	var out []string
	for _, s := range c.Servers {
		out = append(out, s.ID+"="+s.Command)
	}
	return strings.Join(out, " ")
}

type running struct {
	*Reloader
	t       *testing.T
	dir     string
	file    string
	applied chan *Config
	events  *core.Subscription
}

// run starts a Reloader on dir/c/config.jsonc, whose initial configuration has already been read.
func run(t *testing.T, src string) *running {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "c", "config.jsonc")
	writeConfig(t, file, src)
	return runOn(t, dir, file)
}

func runOn(t *testing.T, dir, file string) *running {
	t.Helper()
	bus := new(core.Bus)
	x := &running{t: t, dir: dir, file: file, applied: make(chan *Config, 100), events: bus.Subscribe(1000, core.ConfigEvent)}
	x.Reloader = NewReloader(ReloaderOptions{
		Sources:  Sources{DefaultFile: file, ConfDir: filepath.Join(filepath.Dir(file), "conf.d")},
		LastGood: filepath.Join(dir, "state", "good.json"),
		Backups:  BackupsOf(dir),
		Bus:      bus,
		Debounce: 40 * time.Millisecond,
	})
	x.Load()
	done := make(chan error, 1)
	ctx := t.Context()
	go func() { done <- x.Run(ctx, func(c *Config) { x.applied <- c }) }()
	t.Cleanup(func() { // t.Context is already done
		err := <-done
		assert.NoError(t, err)
	})
	<-x.applied // Run applies the current configuration
	return x
}

func writeConfig(t *testing.T, path, src string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(src), 0o600))
}

func (x *running) expect(step, want string) {
	x.t.Helper()
	select {
	case c := <-x.applied:
		if got := ids(c); got != want {
			x.t.Fatalf("%s: applied %q, want %q", step, got, want)
		}
	case <-time.After(soon):
		x.t.Fatalf("%s: nothing was applied; problems %v", step, x.Problems())
	}
}

// expectRefused waits for a report and checks that nothing was applied.
func (x *running) expectRefused(step, message, still string) {
	x.t.Helper()
	deadline := time.After(soon)
	for {
		select {
		case e := <-x.events.Events():
			change := e.Data.(core.ConfigChange)
			if len(change.Problems) == 0 || !strings.Contains(strings.Join(change.Problems, "\n"), message) {
				continue
			}
		case <-deadline:
			x.t.Fatalf("%s: no report with %q; problems %v", step, message, x.Problems())
		}
		break
	}
	select {
	case c := <-x.applied:
		x.t.Fatalf("%s: applied %q", step, ids(c))
	default:
	}
	if got := ids(x.Current()); got != still {
		x.t.Fatalf("%s: running %q, want %q", step, got, still)
	}
}

func (x *running) expectNothing(step string) {
	x.t.Helper()
	select {
	case c := <-x.applied:
		x.t.Fatalf("%s: applied %q", step, ids(c))
	case <-time.After(300 * time.Millisecond):
	}
}

func TestEverySaveStyleTriggersOneReload(t *testing.T) {
	t.Parallel()
	x := run(t, one)
	flip := []string{two, one}
	seen := []string{"a=a b=b", "a=a"}
	for i, save := range []struct {
		name string
		do   func(src string)
	}{
		{"in place", func(src string) { writeConfig(t, x.file, src) }},
		{"rename over", func(src string) {
			writeConfig(t, x.file+".new", src)
			require.NoError(t, os.Rename(x.file+".new", x.file))
		}},
		{"delete and recreate", func(src string) { os.Remove(x.file); writeConfig(t, x.file, src) }},
		{"rename away, then write", func(src string) { os.Rename(x.file, x.file+"~"); writeConfig(t, x.file, src) }},
		{"a burst of saves", func(src string) {
			for range 20 {
				writeConfig(t, x.file, src)
			}
		}},
		{"in two halves", func(src string) {
			writeConfig(t, x.file, src[:len(src)/2])
			writeConfig(t, x.file, src)
		}},
	} {
		save.do(flip[i%2])
		x.expect(save.name, seen[i%2])
		x.expectNothing(save.name)
	}
}

func TestSymbolicLinksAreFollowed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	t.Parallel()
	dir := t.TempDir()
	// As Kubernetes mounts a ConfigMap: config.jsonc > ..data/config.jsonc, ..data > v1.
	writeConfig(t, filepath.Join(dir, "c", "v1", "config.jsonc"), one)
	writeConfig(t, filepath.Join(dir, "c", "v2", "config.jsonc"), two)
	file := filepath.Join(dir, "c", "config.jsonc")
	for link, target := range map[string]string{filepath.Join(dir, "c", "..data"): "v1", file: "..data/config.jsonc"} {
		require.NoError(t, os.Symlink(target, link))
	}
	x := runOn(t, dir, file)
	os.Symlink("v2", filepath.Join(dir, "c", "..tmp"))
	require.NoError(t, os.Rename(filepath.Join(dir, "c", "..tmp"), filepath.Join(dir, "c", "..data")))
	x.expect("swapped link", "a=a b=b")
	writeConfig(t, filepath.Join(dir, "c", "v2", "config.jsonc"), one)
	x.expect("write behind the link", "a=a")
}

func TestFoldersMayAppearVanishAndReturn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "not", "yet", "config.jsonc")
	x := runOn(t, dir, file)
	writeConfig(t, file, one)
	x.expect("late folder", "a=a")
	writeConfig(t, filepath.Join(filepath.Dir(file), "conf.d", "more.yaml"), "mcpServers:\n  y: {command: y}\n")
	x.expect("late conf.d", "a=a y=y")
	writeConfig(t, filepath.Join(filepath.Dir(file), "conf.d", "more.yaml"), "mcpServers:\n  y: {command: z}\n")
	x.expect("change in conf.d", "a=a y=z")
	os.Remove(filepath.Join(filepath.Dir(file), "conf.d", "more.yaml"))
	x.expect("removed from conf.d", "a=a")

	away := filepath.Join(dir, "away")
	require.NoError(t, os.Rename(filepath.Dir(file), away))
	x.expectRefused("folder gone", "file was removed", "a=a")
	writeConfig(t, filepath.Join(away, "config.jsonc"), two)
	require.NoError(t, os.Rename(away, filepath.Dir(file)))
	x.expect("folder back", "a=a b=b")
}

// Problems of single servers are logged at startup, too, and not only after a change.
func TestFirstConfigIsLoggedWithProblems(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.jsonc")
	writeConfig(t, file, `{"mcpServers": {"a": {"command": "a"}, "b": {"command": 7}}, "mcpServer": {}}`)
	var log strings.Builder
	r := NewReloader(ReloaderOptions{Sources: Sources{DefaultFile: file}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err := r.Load(); err != nil || ids(r.Current()) != "a=a" {
		t.Fatalf("%v, %s", err, ids(r.Current()))
	}
	for _, want := range []string{"level=ERROR msg=Configuration", "'command' in server 'b'", "level=WARN msg=Configuration", "did you mean 'mcpServers'?"} {
		assert.Contains(t, log.String(), want, "the log lacks")
	}
}

func TestFailedReloadKeepsServersRunning(t *testing.T) {
	t.Parallel()
	x := run(t, two)
	for _, bad := range []struct{ src, message string }{
		{`{"mcpServers": {"a": {"comm`, ":1:28: unexpected end of file"},
		{``, "file is empty"},
		{`{"mcpServers": 5}`, "must be an object of servers"},
		{"\xff\xfe{\x00}\x00", "not UTF-8"},
		{`{"bridge": {"listen": "0.0.0.0:1"}}`, "loopback"},
		{`[]`, "must be an object"},
	} {
		writeConfig(t, x.file, bad.src)
		x.expectRefused(bad.src, bad.message, "a=a b=b")
	}
	writeConfig(t, x.file, one)
	x.expect("good again", "a=a")
	assert.Empty(t, x.Problems(), "old problems stay")
}

func TestInvalidServerKeepsFormerConfig(t *testing.T) {
	t.Parallel()
	x := run(t, two)
	writeConfig(t, x.file, `{"mcpServers": {"a": {"command": 5}, "b": {"command": "new"}, "c": {}}}`)
	x.expect("one wrong", "b=new a=a")
	problems := x.Problems()
	if len(problems) != 2 || !strings.Contains(problems[0].Suggestion, "keeps its previous configuration") || strings.Contains(problems[1].Suggestion, "previous") {
		t.Errorf("%v", problems)
	}
	writeConfig(t, x.file, `{"mcpServers": {"a": {"command": "fixed"}, "b": {"command": "new"}}}`)
	x.expect("fixed", "a=fixed b=new")
}

func TestUnchangedFileCausesNoReload(t *testing.T) {
	t.Parallel()
	x := run(t, one)
	now := time.Now()
	os.Chtimes(x.file, now, now)
	writeConfig(t, x.file, one)
	writeConfig(t, x.file, "// a comment\n"+one)
	x.expectNothing("touched, rewritten, commented")
}

// Clients that display the text of the file must reload it. Otherwise they would display outdated
// text, and saving an edit of it would fail unexpectedly.
func TestIrrelevantChangeIsNotApplied(t *testing.T) {
	t.Parallel()
	x := run(t, one)
	heard := func(step string, applied bool) {
		t.Helper()
		select {
		case e := <-x.events.Events():
			change := e.Data.(core.ConfigChange)
			require.Truef(t, e.Kind == core.ConfigEvent && change.Applied == applied && len(change.Changed) <= 0, "%s: heard %+v", step, e)
		case <-time.After(soon):
			t.Fatalf("%s: nothing was heard", step)
		}
	}
	writeConfig(t, x.file, "// a comment\n"+one)
	heard("a comment came", true)
	writeConfig(t, x.file, one+"\n// {")
	heard("it moved", true)
	_, old, tag, err := x.Text()
	require.NoError(t, err)
	require.NoError(t, x.Replace(t.Context(), append(old, "\n// mine"...), tag))
	heard("a comment by way of an edit", true)
	writeConfig(t, x.file, "{")
	heard("a mistake", false)
	writeConfig(t, x.file, "{ ")
	heard("the same mistake, other text", false)
	x.expectNothing("comments and mistakes")
}

func TestLastGoodConfigIsUsedAtStart(t *testing.T) {
	t.Parallel()
	x := run(t, two)
	for _, s := range []string{"", "{", `{"bridge": 1}`} {
		dir := t.TempDir()
		bad := filepath.Join(dir, "config.jsonc")
		writeConfig(t, bad, s)
		r := NewReloader(ReloaderOptions{Sources: Sources{DefaultFile: bad}, LastGood: x.o.LastGood})
		assert.Errorf(t, r.Load(), "%q loads", s)
		if got := ids(r.Current()); got != "a=a b=b" || !r.Current().Broken() {
			t.Errorf("%q: running %q with %v", s, got, r.Problems())
		}
		r = NewReloader(ReloaderOptions{Sources: Sources{DefaultFile: bad}, LastGood: filepath.Join(dir, "none")})
		if r.Load(); len(r.Current().Servers) != 0 || !r.Current().Broken() {
			t.Errorf("%q without a copy: %+v", s, r.Current())
		}
	}
	info, err := os.Stat(x.o.LastGood)
	if err != nil || info.Mode().Perm() != 0o600 && os.PathSeparator == '/' {
		t.Errorf("the copy is for everybody: %v, %v", info.Mode(), err)
	}
}

func TestUnreadableFileKeepsServersAndRecovers(t *testing.T) {
	t.Parallel()
	x := run(t, one)
	// A directory in its place, because root can read every file.
	os.Remove(x.file)
	os.Mkdir(x.file, 0o700)
	x.expectRefused("unreadable", "cannot read file", "a=a")
	os.Remove(x.file)
	writeConfig(t, x.file, two)
	x.expect("readable again", "a=a b=b")
}

func TestFileBeingWrittenIsNotReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "config.jsonc")
		writeConfig(t, file, one)
		bus := new(core.Bus)
		events := bus.Subscribe(10)
		defer events.Close()
		r := NewReloader(ReloaderOptions{Sources: Sources{DefaultFile: file}, Bus: bus})
		require.NoError(t, r.Load())
		writeConfig(t, file, two[:20])
		done := make(chan struct{})
		go func() { r.Reload(t.Context()); close(done) }()
		synctest.Wait() // it has read the partial file and is waiting
		writeConfig(t, file, two)
		<-done
		assert.Equal(t, "a=a b=b", ids(r.Current()))
		e := (<-events.Events()).Data.(core.ConfigChange)
		assert.Truef(t, len(e.Problems) <= 0 && e.Applied, "reported %v", e.Problems)
	})
}

// Sync is how an operation that wrote the file itself waits for its effect.
func TestSyncReturnsWhenTheFileIsInUse(t *testing.T) {
	t.Parallel()
	x := run(t, one)
	writeConfig(t, x.file, two)
	require.NoError(t, x.Sync(t.Context(), ""))
	assert.Equal(t, "a=a b=b", ids(<-x.applied))
	require.NoError(t, x.Sync(t.Context(), ""))
	writeConfig(t, x.file, two[:20])
	for range 2 {
		if err := x.Sync(t.Context(), ""); core.CodeOf(err) != core.CodeValidation || len(x.applied) > 0 {
			t.Errorf("a file with errors: %v, applied %d more", err, len(x.applied))
		}
	}
	r := NewReloader(ReloaderOptions{Sources: Sources{DefaultFile: x.file}})
	ctx, cancel := context.WithCancel(t.Context())
	if cancel(); !errors.Is(r.Sync(ctx, ""), context.Canceled) { // nothing runs before the first configuration is applied
		t.Error("a configuration that is not applied is in use")
	}
}

// Whatever is written to the file, the running configuration is valid.
func TestThousandMutationsKeepValidState(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "config.jsonc")
	writeConfig(t, file, two)
	r := NewReloader(ReloaderOptions{Sources: Sources{DefaultFile: file}, Debounce: time.Nanosecond})
	require.NoError(t, r.Load())
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 1000 {
		src := []byte(two)
		for range 1 + random.IntN(3) {
			at := random.IntN(len(src))
			switch random.IntN(3) {
			case 0:
				src[at] = byte(random.IntN(128))
			case 1:
				src = slices.Delete(src, at, at+1)
			default:
				src = slices.Insert(src, at, "{}[],:\"x"[random.IntN(8)])
			}
		}
		writeConfig(t, file, string(src))
		r.Reload(t.Context())
		for _, s := range r.Current().Servers {
			require.Truef(t, s.ID != "" && !(s.Type == "stdio" && s.Command == ""), "mutation %d %s: %+v", i, src, s)
		}
	}
	writeConfig(t, file, one)
	r.Reload(t.Context())
	require.Equal(t, "a=a", ids(r.Current()))
}
