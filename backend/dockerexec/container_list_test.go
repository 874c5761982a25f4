//go:build linux

package dockerexec

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestContainersAreListedWithTheirServers(t *testing.T) {
	t.Parallel()
	id, bare := sleepingContainer(t, shellImage, true), sleepingContainer(t, bareImage, true)
	list, at, version, err := List(t.Context(), Engine{}, false)
	require.Truef(t, err == nil && version != "" && at.Host != "", "%v, %q, %+v", err, version, at)
	i := slices.IndexFunc(list, func(f ContainerSummary) bool { return f.ID == shortID(id) })
	require.Truef(t, i >= 0 && list[i].State == "running" && list[i].Image == shellImage && list[i].Name != "", "%+v", list)
	in, err := Inspect(t.Context(), Engine{}, id)
	require.NoError(t, err)
	assert.Truef(t, in.Shell && !in.Init && len(in.Processes) == 1 && in.Processes[0].Command == "/bin/sleep 3600" && in.Image == shellImage, "%+v", in)
	if in, err := Inspect(t.Context(), Engine{}, bare); err != nil || in.Shell || len(in.Processes) != 1 {
		t.Errorf("%+v, %v", in, err)
	}
	_, err = Inspect(t.Context(), Engine{}, "no-such-container")
	assert.ErrorIs(t, err, ErrNoContainer)
	_, _, _, err = List(t.Context(), Engine{Host: "unix://" + filepath.Join(t.TempDir(), "none")}, false)
	assert.ErrorIs(t, err, ErrNoDocker)
}
