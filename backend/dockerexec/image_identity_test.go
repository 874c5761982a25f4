//go:build linux

package dockerexec

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tag adds a name to an image until the end of the test.
func tag(t *testing.T, source, name string) {
	t.Helper()
	_, err := engine.cli.ImageTag(t.Context(), client.ImageTagOptions{Source: source, Target: name})
	require.NoError(t, err)
	t.Cleanup(func() { removeImage(name) })
}

func TestRunningImageIsReportedAfterTagMoves(t *testing.T) {
	t.Parallel()
	needEngine(t)
	name := fmt.Sprintf("drawbridge-test/moves-%d:1", os.Getpid())
	tag(t, shellImage, name)
	was, err := Identify(t.Context(), Engine{}, "mover", name)
	if err != nil || was.Running || !strings.HasPrefix(was.ID, "sha256:") || !slices.Contains(was.Tags, name) || was.Digest(name) != "" {
		t.Fatalf("before any container: %+v, %v", was, err)
	}
	newContainer(t, ContainerSpec{Ref: name, Program: "/bin/cat", Server: "mover"})
	tag(t, bareImage, name) // as after a pull or a build
	for server, running := range map[string]bool{"mover": true, "another": false} {
		is, err := Identify(t.Context(), Engine{}, server, name)
		assert.Truef(t, err == nil && is.Running == running && (is.ID == was.ID) == running, "%s: %+v, %v; it was %s", server, is, err, was.ID)
	}
	is, err := Identify(t.Context(), Engine{}, "mover", shellImage)
	assert.Truef(t, err == nil && !is.Running, "a container of another name of the same image is taken for this one: %+v, %v", is, err)
	_, err = Identify(t.Context(), Engine{}, "mover", "drawbridge-test/never:1")
	assert.ErrorIs(t, err, ErrNoImage, "an image that is not here")
	b := newContainer(t, ContainerSpec{Ref: was.ID, Program: "/bin/cat", Server: "pinned"})
	fmt.Fprintln(b.Stdin(), "hello")
	is, err = Identify(t.Context(), Engine{}, "pinned", was.ID)
	assert.Truef(t, err == nil && is.Running && is.ID == was.ID, "by its id: %+v, %v", is, err)
}

// fakeRegistry is a minimal registry with one image. Its tag moves from the first manifest to the
// second.
type fakeRegistry struct {
	name      string // including the address
	manifests [2][]byte
	blobs     map[string][]byte
	moved     atomic.Bool
}

func digestOf(text []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(text)) }

func startFakeRegistry(t *testing.T) *fakeRegistry {
	t.Helper()
	layer := layer(t)
	s := &fakeRegistry{blobs: map[string][]byte{digestOf(layer): layer}}
	for i := range s.manifests {
		config, _ := json.Marshal(map[string]any{
			"architecture": "amd64", "os": "linux", "author": fmt.Sprint(i), "config": map[string]any{"Cmd": []string{"/cat"}},
			"rootfs": map[string]any{"type": "layers", "diff_ids": []string{digestOf(layer)}},
		})
		s.blobs[digestOf(config)] = config
		s.manifests[i], _ = json.Marshal(map[string]any{
			"schemaVersion": 2, "mediaType": manifestType,
			"config": map[string]any{"mediaType": "application/vnd.docker.container.image.v1+json", "size": len(config), "digest": digestOf(config)},
			"layers": []any{map[string]any{"mediaType": "application/vnd.docker.image.rootfs.diff.tar", "size": len(layer), "digest": digestOf(layer)}},
		})
	}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	s.name = strings.TrimPrefix(srv.URL, "http://") + "/drawbridge-test/shop"
	return s
}

const manifestType = "application/vnd.docker.distribution.manifest.v2+json"

func (s *fakeRegistry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	if blob, ok := s.blobs[at]; ok {
		w.Header().Set("Docker-Content-Digest", at)
		_, _ = w.Write(blob)
		return
	}
	if !strings.Contains(r.URL.Path, "/manifests/") {
		_, _ = io.WriteString(w, "{}")
		return
	}
	manifest := s.manifests[0]
	if at == digestOf(s.manifests[1]) || at == "1" && s.moved.Load() {
		manifest = s.manifests[1]
	}
	w.Header().Set("Content-Type", manifestType)
	w.Header().Set("Docker-Content-Digest", digestOf(manifest))
	w.Header().Set("Content-Length", fmt.Sprint(len(manifest)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(manifest)
	}
}

func TestRegistryImageDigestAndLatestAreResolved(t *testing.T) {
	t.Parallel()
	needEngine(t)
	s := startFakeRegistry(t)
	ref := s.name + ":1"
	t.Cleanup(func() { removeImage(ref) })
	newContainer(t, ContainerSpec{Ref: ref, Program: "/cat", Server: "shopper", Pull: true})
	is, err := Identify(t.Context(), Engine{}, "shopper", ref)
	first, second := digestOf(s.manifests[0]), digestOf(s.manifests[1])
	require.Truef(t, err == nil && is.Running && is.Digest(s.name) == first, "%+v, %v; its digest is %s", is, err, first)
	s.moved.Store(true)
	newest, err := LatestDigest(t.Context(), Engine{}, ref)
	assert.Truef(t, err == nil && newest == second, "the newest is %s, %v; want %s", newest, err, second)
	pinned := ref + "@" + second // the tag is ignored
	t.Cleanup(func() { removeImage(s.name + "@" + second) })
	newContainer(t, ContainerSpec{Ref: pinned, Program: "/cat", Server: "pinned", Pull: true})
	if is, err := Identify(t.Context(), Engine{}, "pinned", pinned); err != nil || !is.Running || is.Digest(s.name) != second {
		t.Errorf("pinned: %+v, %v", is, err)
	}
	_, err = LatestDigest(t.Context(), Engine{}, "127.0.0.1:9/drawbridge-test/none:1")
	assert.Truef(t, err != nil && !strings.Contains(err.Error(), ErrNoDocker.Error()), "a registry that does not answer: %v", err)
}

func TestRegistryDigestIsFoundUnderShortName(t *testing.T) {
	t.Parallel()
	i := ImageIdentity{Digests: []string{"other/x@sha256:1", "docker.io/library/alpine@sha256:2", "mcp/time@sha256:3"}}
	for name, want := range map[string]string{"alpine": "sha256:2", "docker.io/mcp/time": "sha256:3", "mcp/tim": "", "x": "", "index.docker.io/other/x": "sha256:1"} {
		assert.Equal(t, want, i.Digest(name), name)
	}
}

func TestEngineOfDockerCommandIsParsed(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]Engine{
		"run -i img":                         {},
		"--context far run -i img":           {Context: "far"},
		"-c far run img":                     {Context: "far"},
		"--context=far -D run img":           {Context: "far"},
		"-Hunix:///s container run img":      {Host: "unix:///s"},
		"-H unix:///s run img":               {Host: "unix:///s"},
		"--host=tcp://h:1 --tls run -H img":  {Host: "tcp://h:1"},
		"--config /c --host tcp://h:1 run i": {Host: "tcp://h:1"},
		"exec -H x":                          {},
	} {
		assert.Equal(t, want, RunEngine(strings.Fields(args)), args)
	}
}

// removeImage removes a name of an image. The Engine keeps an image that has other names.
func removeImage(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, _ = engine.cli.ImageRemove(ctx, name, client.ImageRemoveOptions{Force: true})
}

// layer returns a layer with one program, which copies its input.
func layer(t *testing.T) []byte {
	t.Helper()
	path, err := exec.LookPath("busybox")
	require.NoError(t, err)
	program, err := os.ReadFile(path)
	require.NoError(t, err)
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range []tar.Header{{Name: "busybox", Mode: 0o755, Size: int64(len(program))}, {Name: "cat", Typeflag: tar.TypeSymlink, Linkname: "/busybox", Mode: 0o777}} {
		require.NoError(t, w.WriteHeader(&h))
		_, err = w.Write(program[:h.Size])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}
