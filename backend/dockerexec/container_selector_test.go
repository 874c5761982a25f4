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
)

// labelledContainer creates a stopped container with labels.
func labelledContainer(t *testing.T, labels map[string]string) (id string) {
	t.Helper()
	cli := needEngine(t)
	created, err := cli.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Config:     &container.Config{Image: shellImage, Cmd: []string{"/bin/sleep", "3600"}, Labels: labels},
		HostConfig: &container.HostConfig{NetworkMode: "none"},
	})
	must(t, err)
	t.Cleanup(func() {
		_, _ = cli.ContainerRemove(context.Background(), created.ID, client.ContainerRemoveOptions{Force: true})
	})
	return created.ID
}

func startContainer(t *testing.T, id string) {
	t.Helper()
	if _, err := engine.cli.ContainerStart(t.Context(), id, client.ContainerStartOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestContainerIsFoundByComposeService(t *testing.T) {
	t.Parallel()
	needEngine(t)
	service, project := "web-"+rand.Text(), "shop-"+rand.Text()
	id := labelledContainer(t, map[string]string{composeService: service, composeProject: project})
	labelledContainer(t, map[string]string{composeService: service, composeProject: "another"}) // newer but stopped
	for _, p := range []Selector{{Service: service}, {Service: service, Project: project}} {
		if _, err := Start(t.Context(), Spec{Selector: p, Cmd: []string{"cat"}}); !errors.Is(err, ErrNotRunning) {
			t.Errorf("%s: %v", p, err)
		}
	}
	startContainer(t, id)
	for _, p := range []Selector{{Service: service}, {Service: service, Project: project}} {
		if e := run(t, Spec{Selector: p, Cmd: []string{"cat"}}); e.container != id {
			t.Errorf("%s: %s", p, e.container)
		}
	}
	if _, err := Start(t.Context(), Spec{Selector: Selector{Service: service, Project: "none"}, Cmd: []string{"cat"}}); !errors.Is(err, ErrNoContainer) {
		t.Error(err)
	}
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
		if line, err := bufio.NewReader(e.Stdout()).ReadString('\n'); line != "hello\n" {
			t.Errorf("%q, %v", line, err)
		}
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
			if err != nil {
				t.Error(err)
			}
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
	if err := WaitUntilStartable(ctx, Selector{Name: "no-such-container"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := WaitUntilStartable(ctx, Selector{Engine: Engine{Host: "unix://" + filepath.Join(t.TempDir(), "none")}, Name: "x"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestDockerContextsAreListedAndUsed(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("DOCKER_CONFIG", folder)
	t.Setenv("DOCKER_HOST", "")
	t.Setenv("DOCKER_CONTEXT", "")
	meta := filepath.Join(folder, "contexts", "meta", contextID("work"))
	must(t, os.MkdirAll(meta, 0o700))
	for path, text := range map[string]string{
		filepath.Join(meta, "meta.json"):     `{"Name":"work","Endpoints":{"docker":{"Host":"unix:///run/work.sock"}}}`,
		filepath.Join(folder, "config.json"): `{"currentContext":"work"}`,
	} {
		must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	list := Contexts()
	if len(list) != 2 || list[0].Name != "default" || list[0].Current || list[1] != (DockerContext{"work", "unix:///run/work.sock", true}) {
		t.Errorf("%+v", list)
	}
	for _, e := range []Engine{{}, {Context: "work"}} {
		cli, at, err := newClient(e)
		if err != nil || at != (Engine{"unix:///run/work.sock", "work"}) {
			t.Fatalf("%+v, %v", at, err)
		}
		cli.Close()
	}
	if _, _, err := newClient(Engine{Context: "none"}); !errors.Is(err, ErrNoDocker) {
		t.Error(err)
	}
	t.Setenv("DOCKER_HOST", "tcp://10.0.0.1:2375")
	for want, e := range map[string]Engine{"tcp://10.0.0.1:2375": {}, "unix:///run/work.sock": {Context: "work"}, "unix:///x.sock": {Host: "unix:///x.sock", Context: "work"}} {
		cli, at, err := newClient(e)
		if err != nil || at.Host != want {
			t.Fatalf("%+v, %v", at, err)
		}
		cli.Close()
	}
}
