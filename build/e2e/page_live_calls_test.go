//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPageShowsServersAndCallsLive(t *testing.T) {
	t.Parallel()
	d := start(t, object{"mcpServers": object{"demo": demo()}})
	d.running("demo")
	link := strings.TrimSpace(d.cli(0, "open", "--print"))
	require.Truef(t, strings.HasPrefix(link, d.url+"/") && strings.Contains(link, "#code="), "open --print prints %q", link)
	var found struct {
		Address          string
		StartSeenAfterMs int64
	}
	browse(t, d, "page-live-calls.mjs", object{"link": link}, &found)
	assert.NotContains(t, found.Address, "code=", "the code stays in the address")
	took := time.Duration(found.StartSeenAfterMs) * time.Millisecond
	assert.Truef(t, took <= limit(time.Second), "a call that starts is shown after %s", took)
}
