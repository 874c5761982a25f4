//go:build linux

package dockerexec

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// labelledContainer creates a stopped container with labels.
func labelledContainer(t *testing.T, labels map[string]string) (id string) {
	t.Helper()
	cli := needEngine(t)
	created, err := cli.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Config:     &container.Config{Image: shellImage, Cmd: []string{"/bin/sleep", "3600"}, Labels: labels},
		HostConfig: &container.HostConfig{NetworkMode: "none"},
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		_, _ = cli.ContainerRemove(context.Background(), created.ID, client.ContainerRemoveOptions{Force: true})
	})
	return created.ID
}

func startContainer(t *testing.T, id string) {
	t.Helper()
	_, err := engine.cli.ContainerStart(t.Context(), id, client.ContainerStartOptions{})
	require.NoError(t, err)
}

func TestContainerIsFoundByComposeService(t *testing.T) {
	t.Parallel()
	needEngine(t)
	service, project := "web-"+rand.Text(), "shop-"+rand.Text()
	id := labelledContainer(t, map[string]string{composeService: service, composeProject: project})
	labelledContainer(t, map[string]string{composeService: service, composeProject: "another"}) // newer but stopped
	for _, p := range []Selector{{Service: service}, {Service: service, Project: project}} {
		_, err := Start(t.Context(), Spec{Selector: p, Cmd: []string{"cat"}})
		assert.ErrorIs(t, err, ErrNotRunning, p)
	}
	startContainer(t, id)
	for _, p := range []Selector{{Service: service}, {Service: service, Project: project}} {
		assert.Equal(t, id, run(t, Spec{Selector: p, Cmd: []string{"cat"}}).container, p)
	}
	_, err := Start(t.Context(), Spec{Selector: Selector{Service: service, Project: "none"}, Cmd: []string{"cat"}})
	assert.ErrorIs(t, err, ErrNoContainer)
}

func TestStoppedContainerIsStartedWhenConfigured(t *testing.T) {
	t.Parallel()
	needEngine(t)
	label := "drawbridge.test=" + rand.Text()
	for _, p := range []Selector{{Name: sleepingContainer(t, shellImage, false), Start: true}, {Label: label, Start: true}} {
		if p.Label != "" {
			labelledContainer(t, map[string]string{"drawbridge.test": label[len("drawbridge.test="):]})
		}
		e := run(t, Spec{Selector: p, Cmd: []string{"cat"}})
		fmt.Fprintln(e.Stdin(), "hello")
		line, err := bufio.NewReader(e.Stdout()).ReadString('\n')
		assert.Equal(t, "hello\n", line, err)
	}
}

func TestAwaitReturnsWhenContainerStarts(t *testing.T) {
	t.Parallel()
	needEngine(t)
	service := "web-" + rand.Text()
	byName := sleepingContainer(t, shellImage, false)
	byService := labelledContainer(t, map[string]string{composeService: service})
	for id, p := range map[string]Selector{byName: {Name: byName}, byService: {Service: service}} {
		came := make(chan error, 1)
		go func() { came <- WaitUntilStartable(t.Context(), p) }()
		select {
		case err := <-came:
			t.Fatalf("%s: before its container ran: %v", p, err)
		case <-time.After(300 * time.Millisecond):
		}
		startContainer(t, id)
		began := time.Now()
		select {
		case err := <-came:
			assert.NoError(t, err)
			t.Logf("noticed after %s", time.Since(began).Round(time.Millisecond))
		case <-time.After(time.Minute):
			t.Fatalf("%s: not noticed", p)
		}
		if err := WaitUntilStartable(t.Context(), p); err != nil { // it already runs
			t.Error(err)
		}
	}
	stopped := sleepingContainer(t, shellImage, false)
	passing, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	err := WaitUntilStartable(passing, Selector{Name: stopped, Start: true})
	found, ierr := engine.cli.ContainerInspect(t.Context(), stopped, client.ContainerInspectOptions{})
	if !errors.Is(err, context.DeadlineExceeded) || ierr != nil || found.Container.State.Running {
		t.Errorf("who only waits started the container: %v, %v", err, ierr)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, WaitUntilStartable(ctx, Selector{Name: "no-such-container"}), context.Canceled)
	assert.ErrorIs(t, WaitUntilStartable(ctx, Selector{Engine: Engine{Host: "unix://" + filepath.Join(t.TempDir(), "none")}, Name: "x"}), context.Canceled)
}

func TestDockerContextsAreListedAndUsed(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("DOCKER_CONFIG", folder)
	t.Setenv("DOCKER_HOST", "")
	t.Setenv("DOCKER_CONTEXT", "")
	meta := filepath.Join(folder, "contexts", "meta", contextID("work"))
	require.NoError(t, os.MkdirAll(meta, 0o700))
	for path, text := range map[string]string{
		filepath.Join(meta, "meta.json"):     `{"Name":"work","Endpoints":{"docker":{"Host":"unix:///run/work.sock"}}}`,
		filepath.Join(folder, "config.json"): `{"currentContext":"work"}`,
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	list := Contexts()
	if len(list) != 2 || list[0].Name != "default" || list[0].Current || list[1] != (DockerContext{"work", "unix:///run/work.sock", true}) {
		t.Errorf("%+v", list)
	}
	for _, e := range []Engine{{}, {Context: "work"}} {
		cli, at, err := newClient(e)
		require.NoError(t, err)
		require.Equal(t, Engine{"unix:///run/work.sock", "work"}, at)
		cli.Close()
	}
	_, _, err := newClient(Engine{Context: "none"})
	assert.ErrorIs(t, err, ErrNoDocker)
	t.Setenv("DOCKER_HOST", "tcp://10.0.0.1:2375")
	for want, e := range map[string]Engine{"tcp://10.0.0.1:2375": {}, "unix:///run/work.sock": {Context: "work"}, "unix:///x.sock": {Host: "unix:///x.sock", Context: "work"}} {
		cli, at, err := newClient(e)
		require.NoError(t, err)
		require.Equal(t, want, at.Host)
		cli.Close()
	}
}
