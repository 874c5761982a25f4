//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestDebianPackage is the user's whole way with the .deb: installed, used, put over an
// older version and its history, removed. It changes the machine, so it runs in CI alone.
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
	if err != nil {
		t.Fatal(err)
	}
	modules := strings.TrimSpace(run(t, exec.Command("go", "env", "GOMODCACHE"), 0))
	env = append(env, "GOCACHE="+filepath.Join(cache, "go-build"), "GOMODCACHE="+modules)
	build := func(version string) string {
		t.Helper()
		cmd := exec.Command(filepath.Join(root, "build/package.sh"), "linux")
		cmd.Env = append(append([]string{"PATH=" + os.Getenv("PATH"), "VERSION=" + version, "KINDS=deb"}, env...), npmEnvironment()...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("package.sh: %v\n%s", err, tail(string(out)))
		}
		debs, _ := filepath.Glob(filepath.Join(root, "build/bin/package/*.deb"))
		if len(debs) != 1 {
			t.Fatalf("packages: %v", debs)
		}
		kept := filepath.Join(home, version+".deb")
		run(t, exec.Command("cp", debs[0], kept), 0)
		return kept
	}
	// The tests beside this one run the program that is built here: it is put back.
	saved := t.TempDir()
	run(t, exec.Command("cp", "-a", filepath.Join(root, "build/bin")+"/.", saved), 0)
	defer run(t, exec.Command("cp", "-a", saved+"/.", filepath.Join(root, "build/bin")), 0)

	first := build("v0.0.1")
	defer func() { exec.Command("dpkg", "--purge", "drawbridge").Run() }()
	run(t, exec.Command("dpkg", "-i", first), 0)
	run(t, exec.Command("desktop-file-validate", "/usr/share/applications/drawbridge.desktop"), 0)
	if got := run(t, command(t, env, "/usr/bin/drawbridge", "version"), 0); !strings.Contains(got, "0.0.1") {
		t.Errorf("version: %s", got)
	}
	if _, err := exec.LookPath("update-desktop-database"); err == nil {
		run(t, exec.Command("update-desktop-database", "/usr/share/applications"), 0)
	}
	if got := run(t, command(t, append(env, "XDG_DATA_DIRS=/usr/share", "XDG_CURRENT_DESKTOP=XFCE"), "gio", "mime", "x-scheme-handler/drawbridge"), 0); !strings.Contains(got, "drawbridge.desktop") {
		t.Errorf("links of ours are opened by %s", got)
	}

	data := filepath.Join(home, "data")
	serve := func() (stop func()) {
		cmd := command(t, env, "/usr/bin/drawbridge", "serve", "--data", data, "--listen", "127.0.0.1:0", "--no-tray")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, limit(10*time.Second), func() string {
			if _, err := os.Stat(filepath.Join(data, "runtime.json")); err != nil {
				return err.Error()
			}
			return ""
		})
		return func() {
			run(t, command(t, env, "/usr/bin/drawbridge", "quit", "--data", data), 0)
			cmd.Wait()
		}
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	config := `{"mcpServers": {"demo": {"command": "/usr/bin/drawbridge", "args": ["demo-server"]}}}`
	if err := os.WriteFile(filepath.Join(data, "config.jsonc"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	stop := serve()
	run(t, command(t, env, "/usr/bin/drawbridge", "call", "demo", "echo", `{"text":"before the upgrade"}`, "--data", data), 0)
	stop()

	run(t, exec.Command("dpkg", "-i", build("v0.0.2")), 0)
	stop = serve()
	if got := run(t, command(t, env, "/usr/bin/drawbridge", "history", "--json", "--data", data), 0); !strings.Contains(got, `"echo"`) {
		t.Errorf("after the upgrade the history is %s", got)
	}
	run(t, command(t, env, "/usr/bin/drawbridge", "call", "demo", "echo", `{"text":"after"}`, "--data", data), 0)
	stop()

	if lintian, err := exec.LookPath("lintian"); err == nil {
		// Explained: the program is static on purpose; the window's libraries are
		// recommended, not needed; the changelog is nfpm's and points to the commits.
		explained := []string{"statically-linked-binary", "hardening-no-pie", "undeclared-elf-prerequisites", "syntax-error-in-debian-changelog", "wrong-name-for-changelog-of-native-package", "no-manual-page"}
		cmd := exec.Command(lintian, "--allow-root", "--fail-on", "none", "--suppress-tags", strings.Join(explained, ","), filepath.Join(home, "v0.0.2.deb"))
		out, _ := cmd.CombinedOutput()
		for line := range strings.Lines(string(out)) {
			if strings.HasPrefix(line, "E:") || strings.HasPrefix(line, "W:") {
				t.Errorf("lintian: %s", line)
			}
		}
	}

	run(t, exec.Command("dpkg", "--purge", "drawbridge"), 0)
	for _, gone := range []string{"/usr/bin/drawbridge", "/usr/bin/drawbridge-window", "/usr/share/applications/drawbridge.desktop", "/usr/lib/systemd/user/drawbridge.service"} {
		if _, err := os.Stat(gone); err == nil {
			t.Errorf("%s outlives the package", gone)
		}
	}
	if _, err := os.Stat(filepath.Join(data, "history.db")); err != nil {
		t.Errorf("the user's history went with the package: %v", err)
	}
}

// npmEnvironment is what npm needs to find its registry, as this machine has it.
func npmEnvironment() (env []string) {
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if upper := strings.ToUpper(name); strings.HasPrefix(upper, "NPM_") || strings.HasSuffix(upper, "_PROXY") || strings.HasPrefix(upper, "NODE_") || strings.HasPrefix(upper, "SSL_") {
			env = append(env, v)
		}
	}
	return env
}
