package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/cli"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRemovedRuntimeFileIsWrittenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := t.TempDir()
		lock, err := loopback.Lock(data)
		require.NoError(t, err)
		defer lock.Close()
		log := slog.New(slog.DiscardHandler)
		d := &daemon{options: cli.ServeOptions{Folders: config.Folders{Data: data}}, log: log, life: newLifecycle(log), url: "http://127.0.0.1:1"}
		require.NoError(t, d.announce())
		file := filepath.Join(data, "runtime.json")
		require.NoError(t, os.Remove(file))
		time.Sleep(runtimeCheckInterval + time.Millisecond)
		rt, ok, err := loopback.FindDaemon(data)
		assert.Truef(t, ok && err == nil && rt.URL == d.url, "%+v, %v, %v", rt, ok, err)
		assert.NoError(t, d.life.stop())
		lock.Close()
		d.restoreRuntime()
		_, err = os.Stat(file)
		assert.Error(t, err, "it is written in a folder that is not locked")
	})
}
