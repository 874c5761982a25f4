package upstream

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/dockerexec"
	"github.com/drawbridge-mcp/drawbridge/config"
)

func TestSandboxOfImageIsReadOnlyRootMountsAndNetwork(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	c := &config.Server{ID: "a", Type: core.Docker, Docker: config.Docker{Image: "mcp/time", Network: "bridge"},
		Sandbox: config.Sandbox{On: true, NoNetwork: true, Read: []string{"/srv/data"}, Write: []string{"~/out"}}}
	image, err := (&Dialer{}).imageSpec(c, environment{})
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(home, "out")
	want := []dockerexec.Mount{{Source: "/srv/data", Target: "/srv/data", ReadOnly: true}, {Source: out, Target: out}}
	if diff := cmp.Diff(want, image.Mounts); diff != "" || !image.ReadOnly || image.Network != "none" {
		t.Errorf("%s%+v", diff, image)
	}
	c.Sandbox = config.Sandbox{}
	if image, err = (&Dialer{}).imageSpec(c, environment{}); err != nil || image.ReadOnly || image.Network != "bridge" || len(image.Mounts) != 0 {
		t.Errorf("without a sandbox: %+v, %v", image, err)
	}
}
