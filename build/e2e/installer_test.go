//go:build e2e && linux

package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The script installs exactly the archive that it was written for, or nothing.
func TestInstallerInstallsOnlyTheArchiveThatItKnows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	archive := func(program string) (content []byte) {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		w := tar.NewWriter(z)
		require.NoError(t, w.WriteHeader(&tar.Header{Name: "drawbridge-1.2.3/drawbridge", Mode: 0o755, Size: int64(len(program))}))
		_, err := w.Write([]byte(program))
		require.NoError(t, err)
		w.Close()
		z.Close()
		return b.Bytes()
	}
	name := "drawbridge-1.2.3-linux-" + runtime.GOARCH + ".tar.gz"
	served := archive("#!/bin/sh\necho it runs\n")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/"+name {
			http.NotFound(w, r)
			return
		}
		w.Write(served)
	}))
	defer server.Close()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), served, 0o644))
	run(t, command(t, []string{"RELEASE_URL=" + server.URL}, filepath.Join(root, "build/package/installer.sh"), dir), 0)
	script, err := os.ReadFile(filepath.Join(dir, "install.sh"))
	require.NoError(t, err)
	bin := filepath.Join(dir, "bin")
	install := func(script []byte) error {
		cmd := command(t, []string{"HOME=" + dir, "DRAWBRIDGE_BIN=" + bin}, "sh")
		cmd.Stdin = bytes.NewReader(script)
		return cmd.Run()
	}
	for cut := range strings.Count(string(script), "\n") {
		_ = install([]byte(strings.Join(strings.SplitAfter(string(script), "\n")[:cut], "")))
		_, err = os.Stat(bin)
		require.Errorf(t, err, "the first %d lines install something", cut)
	}
	served = archive("#!/bin/sh\necho another\n")
	assert.Error(t, install(script), "another archive is installed")
	_, err = os.Stat(bin)
	assert.Error(t, err, "another archive leaves something")
	served = archive("#!/bin/sh\necho it runs\n")
	require.NoError(t, install(script))
	assert.Equal(t, "it runs\n", run(t, exec.Command(filepath.Join(bin, "drawbridge")), 0))
}
