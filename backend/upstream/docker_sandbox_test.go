package upstream

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/dockerexec"
	"github.com/drawbridge-mcp/drawbridge/config"
)

func TestSandboxOfImageIsReadOnlyRootMountsAndNetwork(t *testing.T) {
	home, err := os.UserHomeDir()
	require.NoError(t, err)
	c := &config.Server{ID: "a", Type: core.Docker, Docker: config.Docker{Image: "mcp/time", Network: "bridge"},
		Sandbox: config.Sandbox{On: true, NoNetwork: true, Read: []string{"/srv/data"}, Write: []string{"~/out"}}}
	image, err := (&Dialer{}).imageSpec(c, environment{})
	require.NoError(t, err)
	out := filepath.Join(home, "out")
	want := []dockerexec.Mount{{Source: "/srv/data", Target: "/srv/data", ReadOnly: true}, {Source: out, Target: out}}
	diff := cmp.Diff(want, image.Mounts)
	assert.Truef(t, diff == "" && image.ReadOnly && image.Network == "none", "%s%+v", diff, image)
	c.Sandbox = config.Sandbox{}
	if image, err = (&Dialer{}).imageSpec(c, environment{}); err != nil || image.ReadOnly || image.Network != "bridge" || len(image.Mounts) != 0 {
		t.Errorf("without a sandbox: %+v, %v", image, err)
	}
}
