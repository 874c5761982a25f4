//go:build e2e

package e2e

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The test follows the use of the .deb: install, use, upgrade from an older version with a history,
// return to the older version, remove. It changes the machine, so it runs in CI only.
func TestDebianPackage(t *testing.T) {
	if os.Getenv("CI") != "true" || os.Getuid() != 0 {
		t.Log("not tried here: it installs a package into the system; CI=true and root do")
		return
	}
	home := t.TempDir()
	env := []string{"HOME=" + home, "CI=true", "DEBIAN_FRONTEND=noninteractive"}
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "GO") || strings.HasPrefix(v, "XDG_CACHE") {
			env = append(env, v)
		}
	}
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	modules := strings.TrimSpace(run(t, exec.Command("go", "env", "GOMODCACHE"), 0))
	env = append(env, "GOCACHE="+filepath.Join(cache, "go-build"), "GOMODCACHE="+modules)
	build := func(more ...string) string {
		t.Helper()
		cmd := exec.Command(filepath.Join(root, "build/package.sh"), "linux")
		cmd.Env = append(append(append([]string{"PATH=" + os.Getenv("PATH"), "VERSION=v0.0.1", "KINDS=deb", "PAGE=built"}, env...), npmEnvironment()...), more...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("package.sh: %v\n%s", err, tail(string(out)))
		}
		debs, _ := filepath.Glob(filepath.Join(root, "build/bin/package/*.deb"))
		require.Len(t, debs, 1)
		return debs[0]
	}
	// The other tests run the program that is built here, so it is restored.
	saved := t.TempDir()
	run(t, exec.Command("cp", "-a", filepath.Join(root, "build/bin")+"/.", saved), 0)
	defer run(t, exec.Command("cp", "-a", saved+"/.", filepath.Join(root, "build/bin")), 0)

	// Two builds of a commit are identical. build/reproduce.sh varies more than this. package.sh
	// fails if the bill of materials does not list a module of a program.
	first := filepath.Join(home, "first.deb")
	run(t, exec.Command("cp", build(), first), 0)
	sum := run(t, exec.Command("sha256sum", filepath.Join(root, "build/bin/package/SHA256SUMS")), 0)
	build("TZ=Pacific/Auckland", "HOME="+t.TempDir())
	assert.Equal(t, sum, run(t, exec.Command("sha256sum", filepath.Join(root, "build/bin/package/SHA256SUMS")), 0))
	lint := lintian(t, first)
	second := filepath.Join(t.TempDir(), "second.deb")
	newerPackage(t, env, first, second)
	lint()
	checkRepository(t, home)
	defer func() { exec.Command("dpkg", "--purge", "drawbridge").Run() }()
	run(t, exec.Command("dpkg", "-i", first), 0)
	run(t, exec.Command("desktop-file-validate", "/usr/share/applications/drawbridge.desktop"), 0)
	commit := strings.TrimSpace(run(t, exec.Command("git", "-C", root, "rev-parse", "HEAD"), 0))
	assert.Contains(t, run(t, command(t, env, "/usr/bin/drawbridge", "version", "--json"), 0), `"version":"0.0.1","commit":"`+commit+`","date":"2`)
	run(t, exec.Command("appstreamcli", "validate", "--no-net", "/usr/share/metainfo/io.github.drawbridge_mcp.drawbridge.metainfo.xml"), 0)
	if _, err := exec.LookPath("update-desktop-database"); err == nil {
		run(t, exec.Command("update-desktop-database", "/usr/share/applications"), 0)
	}
	got := run(t, command(t, append(env, "XDG_DATA_DIRS=/usr/share", "XDG_CURRENT_DESKTOP=XFCE"), "gio", "mime", "x-scheme-handler/drawbridge"), 0)
	assert.Contains(t, got, "drawbridge.desktop", "links of ours are opened")

	data := filepath.Join(home, "data")
	serve := func() (stop func()) {
		cmd := command(t, env, "/usr/bin/drawbridge", "serve", "--data", data, "--listen", "127.0.0.1:0", "--no-tray")
		require.NoError(t, cmd.Start())
		eventually.Complete(t, limit(10*time.Second), func() string {
			text, err := os.ReadFile(filepath.Join(data, "runtime.json"))
			if err != nil {
				return fmt.Sprintf("it does not answer yet: %s %v", text, err)
			}
			return ""
		})
		return func() {
			run(t, command(t, env, "/usr/bin/drawbridge", "quit", "--data", data), 0)
			cmd.Wait()
		}
	}
	require.NoError(t, os.MkdirAll(data, 0o700))
	config := `{"mcpServers": {"demo": {"command": "/usr/bin/drawbridge", "args": ["demo-server"]}}}`
	require.NoError(t, os.WriteFile(filepath.Join(data, "config.jsonc"), []byte(config), 0o600))
	stop := serve()
	run(t, command(t, env, "/usr/bin/drawbridge", "call", "demo", "echo", `{"text":"before the upgrade"}`, "--data", data), 0)
	stop()

	// The triggers of other packages, such as the index of all manual pages, run at the removal.
	run(t, exec.Command("dpkg", "--no-triggers", "-i", second), 0)
	stop = serve()
	assert.Contains(t, run(t, command(t, env, "/usr/bin/drawbridge", "history", "--json", "--data", data), 0), `"echo"`)
	run(t, command(t, env, "/usr/bin/drawbridge", "call", "demo", "echo", `{"text":"after"}`, "--data", data), 0)
	stop()

	// A version carries calls, but does not touch the history of a newer one.
	setSchema := func(version int) {
		t.Helper()
		db, err := sql.Open("sqlite", filepath.Join(data, "history.db"))
		if err == nil {
			_, err = db.Exec(fmt.Sprintf("PRAGMA user_version = %d", version))
		}
		require.NoError(t, errors.Join(err, db.Close()))
	}
	setSchema(99)
	run(t, exec.Command("dpkg", "--no-triggers", "-i", first), 0)
	stop = serve()
	run(t, command(t, env, "/usr/bin/drawbridge", "call", "demo", "echo", `{"text":"with the older version"}`, "--data", data), 0)
	out, err := command(t, env, "/usr/bin/drawbridge", "history", "--data", data).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "written by a newer version of Drawbridge") || !strings.Contains(string(out), "Install the newer version again.") {
		t.Errorf("the older version says of the newer history: %v %s", err, out)
	}
	stop()
	setSchema(1)
	run(t, exec.Command("dpkg", "--no-triggers", "-i", second), 0)
	stop = serve()
	assert.Equal(t, 2, strings.Count(run(t, command(t, env, "/usr/bin/drawbridge", "history", "--json", "--data", data), 0), `"tool":"echo"`))
	stop()

	run(t, exec.Command("dpkg", "--purge", "drawbridge"), 0)
	for _, gone := range []string{"/usr/bin/drawbridge", "/usr/bin/drawbridge-window", "/usr/share/applications/drawbridge.desktop", "/usr/lib/systemd/user/drawbridge.service"} {
		_, err = os.Stat(gone)
		assert.Errorf(t, err, "%s outlives the package", gone)
	}
	_, err = os.Stat(filepath.Join(data, "history.db"))
	assert.NoError(t, err, "the user's history went with the package")
}

// newerPackage writes a copy of the package old with version 0.0.2.
func newerPackage(t *testing.T, env []string, old, path string) {
	t.Helper()
	dir := t.TempDir()
	files := filepath.Join(dir, "files")
	run(t, exec.Command("dpkg-deb", "-R", old, files), 0)
	control := filepath.Join(files, "DEBIAN/control")
	fields, err := os.ReadFile(control)
	require.NoError(t, err)
	newer := strings.Replace(string(fields), "Version: 0.0.1\n", "Version: 0.0.2\n", 1)
	require.NotEqual(t, string(fields), newer, "the package is not of version 0.0.1")
	require.NoError(t, os.WriteFile(control, []byte(newer), 0o600))
	cmd := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w -X main.version=0.0.2",
		"-o", filepath.Join(files, "usr/bin/drawbridge"), "./app/drawbridge")
	cmd.Dir, cmd.Env = root, append([]string{"PATH=" + os.Getenv("PATH"), "CGO_ENABLED=0"}, env...)
	run(t, cmd, 0)
	run(t, exec.Command("dpkg-deb", "-Zgzip", "-z1", "--root-owner-group", "-b", files, path), 0)
}

// lintian starts a check of the package, whose overrides list what is intended. The returned
// function waits for its end and fails the test for each error and warning.
func lintian(t *testing.T, deb string) (wait func()) {
	t.Helper()
	program, err := exec.LookPath("lintian")
	if err != nil {
		return func() {}
	}
	cmd := exec.CommandContext(t.Context(), program, "--allow-root", "--fail-on", "none", deb)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	return func() {
		t.Helper()
		assert.NoError(t, cmd.Wait())
		for line := range strings.Lines(out.String()) {
			assert.Truef(t, !strings.HasPrefix(line, "E:") && !strings.HasPrefix(line, "W:"), "lintian: %s", line)
		}
	}
}

// npmEnvironment returns the variables that npm needs to find its registry on this machine.
func npmEnvironment() (env []string) {
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if upper := strings.ToUpper(name); strings.HasPrefix(upper, "NPM_") || strings.HasSuffix(upper, "_PROXY") || strings.HasPrefix(upper, "NODE_") || strings.HasPrefix(upper, "SSL_") {
			env = append(env, v)
		}
	}
	return env
}

// checkRepository checks that apt finds the package in a repository with the .deb files of a
// folder.
func checkRepository(t *testing.T, debs string) {
	t.Helper()
	dir := t.TempDir()
	run(t, exec.Command(filepath.Join(root, "build/package/repository.sh"), debs, dir), 0)
	state := filepath.Join(dir, "state")
	for _, folder := range []string{"lists/partial", "cache/archives/partial"} {
		require.NoError(t, os.MkdirAll(filepath.Join(state, folder), 0o755))
	}
	sources := filepath.Join(state, "sources.list")
	require.NoError(t, os.WriteFile(sources, []byte("deb [trusted=yes] file:"+dir+"/apt stable main\n"), 0o644))
	apt := func(program string, args ...string) string {
		t.Helper()
		options := []string{
			"-o", "Dir::Etc::sourcelist=" + sources, "-o", "Dir::Etc::sourceparts=-", "-o", "APT::Sandbox::User=root",
			"-o", "Dir::State::lists=" + filepath.Join(state, "lists"), "-o", "Dir::Cache=" + filepath.Join(state, "cache"),
		}
		return run(t, exec.Command(program, append(options, args...)...), 0)
	}
	apt("apt-get", "update")
	assert.Contains(t, apt("apt-cache", "policy", "drawbridge"), "Candidate: 0.0.1", "apt offers")
}
