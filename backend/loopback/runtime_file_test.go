package loopback

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOneDaemonPerDataFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	if held, err := IsDaemonRunning(dir); held || err != nil {
		t.Fatalf("a folder that is not there is held: %v", err)
	}
	lock, err := Lock(dir)
	require.NoError(t, err)
	_, ok, err := FindDaemon(dir)
	require.Truef(t, !ok && err == nil, "a daemon that does not answer yet is found: %v", err)
	assert.Equal(t, "Drawbridge is starting or stopping", StartingDaemon(dir), "a daemon that does not answer yet is described as")
	want := Runtime{PID: 42, URL: "http://127.0.0.1:7575", Version: "1", StartedAt: time.Unix(1, 0).UTC()}
	require.NoError(t, WriteRuntime(dir, want))
	rt, ok, err := FindDaemon(dir)
	require.Truef(t, ok && rt == want && err == nil, "got %+v, %v, %v", rt, ok, err)
	_, err = Lock(dir)
	held, ok := errors.AsType[*HeldError](err)
	require.Truef(t, ok && held.Runtime == want && strings.Contains(err.Error(), want.URL), "a second daemon gets %v", err)
	require.NoError(t, lock.Close())
	_, ok, err = FindDaemon(dir)
	require.Truef(t, !ok && err == nil, "a dead daemon's file is believed: %v", err)
	assert.Empty(t, StartingDaemon(dir), "a dead daemon is described as")
	for range 2 {
		require.NoError(t, RemoveRuntime(dir))
	}
	again, err := Lock(dir)
	require.NoError(t, err)
	_ = again.Close()
}
