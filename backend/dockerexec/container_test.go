//go:build linux

package dockerexec

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newContainer creates a container that is stopped at the end of the test.
func newContainer(t *testing.T, image ContainerSpec) *Container {
	t.Helper()
	needEngine(t)
	image.CloseStdin, image.Term = 300*time.Millisecond, 300*time.Millisecond
	if image.Network == "" {
		image.Network = "none"
	}
	b, err := Create(t.Context(), image)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, b.Stop(context.Background()))
	})
	return b
}

// remainingContainers returns the containers that a Container left behind.
func remainingContainers(t *testing.T, mark string) []string {
	t.Helper()
	list, err := engine.cli.ContainerList(t.Context(), client.ContainerListOptions{All: true, Filters: make(client.Filters).Add("label", runLabel+"="+mark)})
	require.NoError(t, err)
	var ids []string
	for _, c := range list.Items {
		ids = append(ids, c.ID)
	}
	return ids
}

func TestImageContainerIsRemovedWithServer(t *testing.T) {
	t.Parallel()
	needEngine(t)
	ledger := t.TempDir()
	for name, image := range map[string]ContainerSpec{
		"ends with its input": {Ref: shellImage, Program: "/bin/cat"},
		"ends by TERM":        {Ref: shellImage, Program: "/bin/sh", Args: []string{"-c", `trap 'exit 7' TERM; cat; while :; do sleep 1 & wait $!; done`}},
		"ends by KILL":        {Ref: shellImage, Program: "/bin/sh", Args: []string{"-c", `trap '' TERM; cat; while :; do sleep 1; done`}},
		"has no shell":        {Ref: bareImage, Program: "/cat"},
		"without an init":     {Ref: bareImage, Program: "/cat", Init: false},
	} {
		t.Run(name, func(t *testing.T) {
			image.Ledger, image.Server = ledger, "mine"
			image.Init = name != "without an init"
			b := newContainer(t, image)
			fmt.Fprintln(b.Stdin(), "hello")
			line, err := bufio.NewReader(b.Stdout()).ReadString('\n')
			assert.Equal(t, "hello\n", line, err)
			if ids := remainingContainers(t, b.mark); len(ids) != 1 || !strings.HasPrefix(ids[0], b.ID()) {
				t.Errorf("%v carry the label, the container is %s", ids, b.ID())
			}
			began := time.Now()
			assert.NoError(t, b.Stop(t.Context()))
			t.Logf("stopped in %s: %s", time.Since(began).Round(time.Millisecond), b.Exit())
			ids := remainingContainers(t, b.mark)
			assert.Truef(t, len(ids) <= 0, "left behind: %v", ids)
			files, _ := os.ReadDir(ledger)
			assert.Truef(t, len(files) <= 0, "the ledger holds %v", files)
		})
	}
}

func TestContainerOptionsReachEngine(t *testing.T) {
	t.Parallel()
	needEngine(t)
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "note"), []byte("from here\n"), 0o644))
	require.NoError(t, os.Chmod(folder, 0o755))
	b := newContainer(t, ContainerSpec{
		Ref: shellImage, Program: "/bin/sh",
		Args: []string{"-c", `id -u; pwd; echo "$GREETING"; /bin/busybox cat /note/note; echo x 2>/dev/null >/note/y || echo read-only; /bin/busybox ps -o pid,args | /bin/busybox head -2 | /bin/busybox tail -1; cat`},
		Env:  []string{"GREETING=hi there"}, User: "1000:1000", Workdir: "/tmp",
		Mounts: []Mount{{Source: folder, Target: "/note", ReadOnly: true}},
		Memory: 64 << 20, CPUs: 0.5, Init: true, Server: "srv",
	})
	lines := bufio.NewReader(b.Stdout())
	for _, want := range []string{"1000", "/tmp", "hi there", "from here", "read-only", "init"} {
		line, err := lines.ReadString('\n')
		assert.NoError(t, err)
		assert.Contains(t, line, want)
	}
	is, err := engine.cli.ContainerInspect(t.Context(), b.id, client.ContainerInspectOptions{})
	require.NoError(t, err)
	host := is.Container.HostConfig
	if host.Memory != 64<<20 || host.NanoCPUs != 5e8 || host.NetworkMode != "none" || !host.AutoRemove || is.Container.Config.Tty || is.Container.Config.Labels[ServerLabel] != "srv" {
		t.Errorf("%+v %+v", host, is.Container.Config)
	}
}

func TestFailedContainerCreationIsNamedAndCleanedUp(t *testing.T) {
	t.Parallel()
	needEngine(t)
	ledger := t.TempDir()
	server := "none-" + strings.ToLower(rand.Text()[:8])
	for name, c := range map[string]struct {
		image ContainerSpec
		want  error
	}{
		"no Docker":  {ContainerSpec{Ref: shellImage, Engine: Engine{Host: "unix://" + filepath.Join(ledger, "none.sock")}}, ErrNoDocker},
		"no image":   {ContainerSpec{Ref: "drawbridge-test/none:1"}, ErrNoImage},
		"no fetch":   {ContainerSpec{Ref: "127.0.0.1:1/none:1", Pull: true}, ErrNoImage},
		"no program": {ContainerSpec{Ref: bareImage, Program: "/nothing"}, ErrNoBinary},
		"no command": {ContainerSpec{Ref: bareImage}, ErrNoBinary},
		"bad mount":  {ContainerSpec{Ref: shellImage, Program: "/bin/cat", Mounts: []Mount{{Source: "/no/such/folder/here", Target: "/x"}}}, ErrRefused},
	} {
		c.image.Ledger, c.image.Network, c.image.Server = ledger, "none", server
		_, err := Create(t.Context(), c.image)
		assert.ErrorIs(t, err, c.want, name)
		t.Logf("%s: %v", name, err)
		if name == "no Docker" { // which cannot be queried, so the record remains for EndOrphans
			files, _ := filepath.Glob(filepath.Join(ledger, "*"))
			for _, file := range files {
				os.Remove(file)
			}
		}
	}
	list, err := engine.cli.ContainerList(t.Context(), client.ContainerListOptions{All: true, Filters: make(client.Filters).Add("label", ServerLabel+"="+server)})
	assert.Truef(t, err == nil && len(list.Items) <= 0, "left behind: %v, %v", list.Items, err)
	files, _ := os.ReadDir(ledger)
	assert.Truef(t, len(files) <= 0, "the ledger holds %v", files)
}

func TestContainerExitEndsServer(t *testing.T) {
	t.Parallel()
	b := newContainer(t, ContainerSpec{Ref: shellImage, Program: "/bin/sh", Args: []string{"-c", "read x; echo bye; exit 3"}})
	fmt.Fprintln(b.Stdin())
	all, err := io.ReadAll(b.Stdout())
	assert.Truef(t, string(all) == "bye\n" && err == nil, "%q, %v", all, err)
	<-b.Done()
	e := b.Exit()
	assert.Truef(t, e.Code == 3 && !e.Lost, "%+v", e)
	removed := newContainer(t, ContainerSpec{Ref: shellImage, Program: "/bin/cat"})
	_, err = engine.cli.ContainerRemove(t.Context(), removed.id, client.ContainerRemoveOptions{Force: true})
	require.NoError(t, err)
	<-removed.Done()
}

func TestEndOrphansRemovesContainersOfKilledDaemon(t *testing.T) {
	t.Parallel()
	needEngine(t)
	ledger := t.TempDir()
	b := newContainer(t, ContainerSpec{Ref: shellImage, Program: "/bin/sh", Args: []string{"-c", "while :; do sleep 1; done"}, Ledger: ledger})
	n, err := EndOrphans(t.Context(), ledger)
	assert.Truef(t, n == 1 && err == nil, "%d, %v", n, err)
	ids := remainingContainers(t, b.mark)
	assert.Truef(t, len(ids) <= 0, "left behind: %v", ids)
	<-b.Done()
}
