//go:build linux

package dockerexec

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
)

func TestContainersAreListedWithTheirServers(t *testing.T) {
	t.Parallel()
	id, bare := sleepingContainer(t, shellImage, true), sleepingContainer(t, bareImage, true)
	list, at, version, err := List(t.Context(), Engine{}, false)
	if err != nil || version == "" || at.Host == "" {
		t.Fatalf("%v, %q, %+v", err, version, at)
	}
	i := slices.IndexFunc(list, func(f ContainerSummary) bool { return f.ID == shortID(id) })
	if i < 0 || list[i].State != "running" || list[i].Image != shellImage || list[i].Name == "" {
		t.Fatalf("%+v", list)
	}
	in, err := Inspect(t.Context(), Engine{}, id)
	must(t, err)
	if !in.Shell || in.Init || len(in.Processes) != 1 || in.Processes[0].Command != "/bin/sleep 3600" || in.Image != shellImage {
		t.Errorf("%+v", in)
	}
	if in, err := Inspect(t.Context(), Engine{}, bare); err != nil || in.Shell || len(in.Processes) != 1 {
		t.Errorf("%+v, %v", in, err)
	}
	if _, err := Inspect(t.Context(), Engine{}, "no-such-container"); !errors.Is(err, ErrNoContainer) {
		t.Error(err)
	}
	if _, _, _, err := List(t.Context(), Engine{Host: "unix://" + filepath.Join(t.TempDir(), "none")}, false); !errors.Is(err, ErrNoDocker) {
		t.Error(err)
	}
}
