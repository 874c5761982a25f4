//go:build !windows

// The channels are made on Linux, with bash.

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const testVersion = "0.1.0~git20260102.0123abcd"

// fakeRelease writes a release whose programs print their name, and returns its folder and
// checksums.
func fakeRelease(t *testing.T) (dir string, sums map[string]string) {
	t.Helper()
	dir, sums = t.TempDir(), map[string]string{}
	var list strings.Builder
	add := func(platform string, content []byte) {
		name := "drawbridge-" + testVersion + "-" + platform
		sums[name] = fmt.Sprintf("%x", sha256.Sum256(content))
		fmt.Fprintf(&list, "%s  %s\n", sums[name], name)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	for _, arch := range []string{"amd64", "arm64"} {
		var tgz, zipped bytes.Buffer
		z := gzip.NewWriter(&tgz)
		w := tar.NewWriter(z)
		for name, text := range map[string]string{"drawbridge": "#!/bin/sh\necho " + arch + " \"$@\"\nexit 3\n", "LICENSE": "l", "THIRD-PARTY.txt": "t", "completions/drawbridge": "no program"} {
			require.NoError(t, w.WriteHeader(&tar.Header{Name: "drawbridge-" + testVersion + "/" + name, Mode: 0o755, Size: int64(len(text)), Typeflag: tar.TypeReg}))
			_, _ = w.Write([]byte(text))
		}
		_, _ = w.Close(), z.Close()
		add("linux-"+arch+".tar.gz", tgz.Bytes())
		writeZip(&zipped, platforms[2].files, arch)
		add("windows-"+arch+".zip", zipped.Bytes())
		add("windows-"+arch+"-setup.exe", []byte(arch))
	}
	var app bytes.Buffer
	writeZip(&app, macOSFiles, "macOS")
	add(macOSArchive, app.Bytes())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(list.String()), 0o600))
	return dir, sums
}

func writeZip(w io.Writer, names []string, text string) {
	z := zip.NewWriter(w)
	for _, name := range names {
		f, _ := z.Create(name)
		_, _ = io.WriteString(f, text)
	}
	_ = z.Close()
}

// The release has no application for macOSArchive if its build failed. Then no channel offers it.
func TestChannelsWithoutTheApplicationForMacOS(t *testing.T) {
	packages, _ := fakeRelease(t)
	out := t.TempDir()
	generated := func() (dependencies string, files []string) {
		t.Helper()
		require.NoError(t, generate(packages, out))
		text, err := os.ReadFile(filepath.Join(out, "npm/drawbridge-mcp/package.json"))
		require.NoError(t, err)
		for _, pattern := range []string{"npm/darwin-*/*", "homebrew/Casks/*"} {
			found, _ := filepath.Glob(filepath.Join(out, pattern))
			files = append(files, found...)
		}
		return string(text), files
	}
	dependencies, files := generated()
	assert.Contains(t, dependencies, `"@drawbridge-mcp/darwin-arm64"`, "with the application")
	assert.Len(t, files, 2*4+1, "with the application")
	sums := filepath.Join(packages, "SHA256SUMS")
	text, _ := os.ReadFile(sums)
	require.NoError(t, os.WriteFile(sums, []byte(strings.Replace(string(text), macOSArchive, "other", 1)), 0o600))
	out = t.TempDir()
	dependencies, files = generated()
	assert.NotContains(t, dependencies, "darwin", "without the application")
	assert.Empty(t, files, "without the application")
}

// Each archive of the release is named with its checksum in the files of the channels that use it.
func TestChannelFilesNameTheArchivesOfTheRelease(t *testing.T) {
	packages, sums := fakeRelease(t)
	out := t.TempDir()
	require.NoError(t, generate(packages, out))
	named := map[string]int{}
	err := filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for name, sum := range sums {
			assert.Equal(t, bytes.Contains(text, []byte(sum)), bytes.Contains(text, []byte("/v"+testVersion+"/"+name)), path)
			named[name] += bytes.Count(text, []byte(sum))
		}
		assert.Falsef(t, filepath.Ext(path) == ".json" && !json.Valid(text), "%s is not valid JSON:\n%s", path, text)
		return err
	})
	require.NoError(t, err)
	for name, want := range map[string]int{"linux-amd64.tar.gz": 3, "linux-arm64.tar.gz": 3, "windows-amd64.zip": 1, "windows-arm64.zip": 1, "windows-amd64-setup.exe": 1, "windows-arm64-setup.exe": 1, macOSArchive: 1} {
		assert.Equal(t, want, named["drawbridge-"+testVersion+"-"+name], name)
	}
	// The schema of Scoop does not permit "~".
	scoop, _ := os.ReadFile(filepath.Join(out, "scoop/drawbridge.json"))
	assert.Truef(t, bytes.Contains(scoop, []byte(`"version": "0.1.0-git20260102.0123abcd"`)), "the version for Scoop is not valid:\n%s", scoop)
	output, err := exec.Command("bash", "-n", filepath.Join(out, "aur/PKGBUILD")).CombinedOutput()
	assert.NoError(t, err, output)
}

// The AUR shows what .SRCINFO says, and builds what PKGBUILD says.
func TestSrcinfoAgreesWithPkgbuild(t *testing.T) {
	packages, _ := fakeRelease(t)
	out := t.TempDir()
	require.NoError(t, generate(packages, out))
	const list = `. ./PKGBUILD
echo "pkgbase = $pkgname"
for v in pkgdesc pkgver pkgrel url arch license provides conflicts options source_x86_64 sha256sums_x86_64 source_aarch64 sha256sums_aarch64; do
	declare -n values=$v
	for x in "${values[@]}"; do printf '\t%s = %s\n' "$v" "$x"; done
done
printf '\npkgname = %s\n' "$pkgname"
`
	cmd := exec.Command("bash", "-c", list)
	cmd.Dir = filepath.Join(out, "aur")
	want, err := cmd.Output()
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(out, "aur/.SRCINFO"))
	require.NoError(t, err)
	assert.Empty(t, cmp.Diff(string(want), string(got)))
}

// npm installs only the package of this system; the command runs its program and passes on the
// arguments and the exit code.
func TestNpmCommandRunsTheProgramOfThisSystem(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("needs Node.js on Linux")
	}
	packages, _ := fakeRelease(t)
	out := t.TempDir()
	require.NoError(t, generate(packages, out))
	command := filepath.Join(out, "npm/drawbridge-mcp/drawbridge.js")
	text, err := exec.Command(node, command, "version").CombinedOutput()
	assert.Error(t, err, "without the package of this system")
	assert.Contains(t, string(text), "--omit=optional", "without the package of this system")
	cpu := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	scope := filepath.Join(out, "npm/drawbridge-mcp/node_modules/@drawbridge-mcp")
	require.NoError(t, os.MkdirAll(scope, 0o700))
	require.NoError(t, os.Rename(filepath.Join(out, "npm/linux-"+cpu), filepath.Join(scope, "linux-"+cpu)))
	cmd := exec.Command(node, command, "call", "a b")
	text, _ = cmd.Output()
	require.Equal(t, runtime.GOARCH+" call a b\n", string(text), "exit code")
	require.Equal(t, 3, cmd.ProcessState.ExitCode(), "exit code")
}

func TestIncompleteReleaseIsRefused(t *testing.T) {
	packages, _ := fakeRelease(t)
	sums := filepath.Join(packages, "SHA256SUMS")
	text, _ := os.ReadFile(sums)
	less := ""
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, "windows-arm64.zip") {
			less += line
		}
	}
	require.NoError(t, os.WriteFile(sums, []byte(less), 0o600))
	assert.ErrorContains(t, generate(packages, t.TempDir()), "SHA256SUMS does not list drawbridge-"+testVersion+"-windows-arm64.zip")
}
