//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSandboxOfContainerIsEnforcedByDocker tries in the container of a server what its sandbox
// forbids.
func TestSandboxOfContainerIsEnforcedByDocker(t *testing.T) {
	t.Parallel()
	image := shellImage(t, dockerCommand)
	dir := t.TempDir()
	for _, name := range []string{"in", "out"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o777))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "in/text"), []byte("hello"), 0o644))
	entry := func(sandbox any) object {
		return object{"type": "docker", "command": "/server", "args": []string{"legacy"}, "docker": object{"image": image, "pull": "never"}, "sandbox": sandbox}
	}
	confined := entry(object{"read": []string{filepath.Join(dir, "in")}, "write": []string{filepath.Join(dir, "out")}, "network": "none"})
	d := start(t, object{"mcpServers": object{"confined": confined, "free": entry("off")}})
	d.running("confined", "free")
	byServer := map[bool]string{}
	for _, id := range containersOf(t, image) {
		var config []struct {
			HostConfig struct {
				ReadonlyRootfs bool
				NetworkMode    string
				SecurityOpt    []string
			}
		}
		require.NoError(t, json.Unmarshal([]byte(run(t, exec.Command("docker", "inspect", id), 0)), &config))
		host := config[0].HostConfig
		byServer[host.ReadonlyRootfs] = id
		none := host.NetworkMode == "none"
		assert.Truef(t, none == host.ReadonlyRootfs && strings.Contains(strings.Join(host.SecurityOpt, " "), "no-new-privileges") == none, "%+v", host)
	}
	require.NotEmpty(t, byServer[true])
	require.NotEmpty(t, byServer[false])
	for script, allowed := range map[string]bool{
		"echo x >/new":                      false,
		"echo x >/bin/new":                  false,
		"echo x >/tmp/new":                  true,
		"grep -q hello " + dir + "/in/text": true,
		"echo x >" + dir + "/in/new":        false,
		"echo x >" + dir + "/out/new":       true,
		"grep -q 'eth0' /proc/net/dev":      false,
	} {
		assert.Equal(t, allowed, exec.Command("docker", "exec", byServer[true], "sh", "-c", script).Run() == nil, script)
	}
	for _, script := range []string{"echo x >/new", "grep -q eth0 /proc/net/dev"} { // they say nothing if they never work
		out, err := exec.Command("docker", "exec", byServer[false], "sh", "-c", script).CombinedOutput()
		assert.NoErrorf(t, err, "%v %v", script, out)
	}
}
