//go:build linux

package dockerexec

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// The tests use a real Engine and two images built here from a static busybox, so that no
// registry is needed. Without an Engine they are skipped, except in CI, where they fail.
const (
	shellImage = "drawbridge-test/shell:1"
	bareImage  = "drawbridge-test/bare:1" // no shell
)

var engine struct {
	cli  *client.Client
	once sync.Once
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if engine.cli != nil {
		engine.cli.Close()
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func needEngine(t *testing.T) *client.Client {
	t.Helper()
	engine.once.Do(func() { engine.err = prepareEngine() })
	if engine.err != nil {
		require.Emptyf(t, os.Getenv("CI"), "no Docker Engine, and CI is set: %v", engine.err)
		t.Skipf("no Docker Engine to test with: %v", engine.err)
	}
	return engine.cli
}

func prepareEngine() error {
	cli, _, err := newClient(Engine{})
	if err != nil {
		return err
	}
	engine.cli = cli
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := cli.Ping(ctx, client.PingOptions{}); err != nil {
		return err
	}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return fmt.Errorf("a static busybox is needed for the test images: %w", err)
	}
	program, err := os.ReadFile(busybox)
	if err != nil {
		return err
	}
	err = importImage(ctx, cli, shellImage, program, "bin/busybox", "bin/sh", "bin/cat", "bin/sleep", "bin/grep", "bin/setsid", "bin/env", "bin/id", "bin/pwd")
	return errors.Join(err, importImage(ctx, cli, bareImage, program, "busybox", "cat", "sleep"))
}

// importImage creates an image with one program under several names.
func importImage(ctx context.Context, cli *client.Client, ref string, program []byte, path string, links ...string) error {
	if _, err := cli.ImageInspect(ctx, ref); err == nil {
		return nil
	}
	var root bytes.Buffer
	w := tar.NewWriter(&root)
	headers := []*tar.Header{{Name: path, Mode: 0o755, Size: int64(len(program))}}
	for _, link := range links {
		headers = append(headers, &tar.Header{Name: link, Typeflag: tar.TypeSymlink, Linkname: "/" + path, Mode: 0o777})
	}
	for _, dir := range []string{"proc", "tmp", "etc"} {
		headers = append(headers, &tar.Header{Name: dir + "/", Typeflag: tar.TypeDir, Mode: 0o1777})
	}
	for i, header := range headers {
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		if i == 0 {
			if _, err := w.Write(program); err != nil {
				return err
			}
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	name, tag, _ := strings.Cut(ref, ":")
	answer, err := cli.ImageImport(ctx, client.ImageImportSource{Source: &root, SourceName: "-"}, name, client.ImageImportOptions{Tag: tag})
	if err != nil {
		return err
	}
	defer answer.Close()
	text, err := io.ReadAll(answer)
	if err == nil && bytes.Contains(text, []byte(`"error"`)) {
		err = fmt.Errorf("cannot import image: %s", text)
	}
	return err
}

// sleepingContainer creates a container that sleeps, and starts it if started is set.
func sleepingContainer(t *testing.T, image string, started bool) (id string) {
	t.Helper()
	cli := needEngine(t)
	sleep := "/bin/sleep"
	if image == bareImage {
		sleep = "/sleep"
	}
	created, err := cli.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Config:     &container.Config{Image: image, Cmd: []string{sleep, "3600"}},
		HostConfig: &container.HostConfig{NetworkMode: "none"},
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := cli.ContainerRemove(context.Background(), created.ID, client.ContainerRemoveOptions{Force: true})
		assert.False(t, err != nil && translateError(Engine{}, "", err) == err, err)
	})
	if started {
		_, err = cli.ContainerStart(t.Context(), created.ID, client.ContainerStartOptions{})
		require.NoError(t, err)
	}
	return created.ID
}

// processesInside returns the command lines of the processes in a container, without zombies and
// without the sleep that keeps it running.
func processesInside(t *testing.T, id string) (commands []string) {
	t.Helper()
	top, err := engine.cli.ContainerTop(t.Context(), id, client.ContainerTopOptions{Arguments: []string{"-eo", "pid,stat,args"}})
	require.NoError(t, err)
	for _, p := range top.Processes {
		if len(p) == 3 && !strings.HasPrefix(p[1], "Z") && p[2] != "/bin/sleep 3600" && p[2] != "/sleep 3600" {
			commands = append(commands, p[2])
		}
	}
	return commands
}

func run(t *testing.T, spec Spec) *Exec {
	t.Helper()
	if spec.CloseStdin == 0 {
		spec.CloseStdin, spec.Term = 200*time.Millisecond, 300*time.Millisecond
	}
	e, err := Start(t.Context(), spec)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = e.Stop(ctx)
	})
	return e
}
