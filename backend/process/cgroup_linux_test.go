package process

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCgroupEndsWhateverAServerStarts: processes that fork again and again, each in its own session and with
// an empty environment, are in no list of processes, but in the control group of their server.
func TestCgroupEndsWhateverAServerStarts(t *testing.T) {
	if cgroupParent() == "" {
		t.Skip("SKIPPED: this user may make no control groups (version 2) here; run it as root, or in a service of systemd's user manager")
	}
	for name, end := range map[string]func(t *testing.T, s *Spawner, p *Process, ledger string){
		"the server is stopped": func(t *testing.T, _ *Spawner, p *Process, _ string) { require.NoError(t, p.Stop(t.Context())) },
		"the daemon stops":      func(t *testing.T, s *Spawner, _ *Process, _ string) { require.NoError(t, s.Close(t.Context())) },
		"the next run starts": func(t *testing.T, _ *Spawner, _ *Process, ledger string) {
			_, err := NewSpawner(Options{Ledger: ledger}).EndOrphans()
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			script, births := filepath.Join(dir, "reborn.sh"), filepath.Join(dir, "births")
			require.NoError(t, os.WriteFile(script, []byte("trap '' TERM\n"+whileTestRuns()+"echo >>\"$2\"\nsetsid env -i PATH=\"$PATH\" sh \"$1\" \"$1\" \"$2\" &\n"), 0o600))
			ledger := filepath.Join(dir, "processes.json")
			s := NewSpawner(Options{Ledger: ledger})
			defer func() { _ = s.Close(t.Context()) }()
			p, err := s.Start(Spec{Name: "reborn", Path: "/bin/sh", Args: []string{"-c", `sh "$1" "$1" "$2"; exec sleep 600`, "sh", script, births}, Env: os.Environ()})
			require.NoError(t, err)
			group := p.tree.group
			require.Truef(t, group != "" && isCgroupPopulated(group), "the server is not in its group %q", group)
			born := func() int64 {
				info, err := os.Stat(births)
				if err != nil {
					return 0
				}
				return info.Size()
			}
			eventually.True(t, "something is reborn", func() bool { return born() > 20 })
			end(t, s, p, ledger)
			after := born()
			for range 10 { // each takes as long as several generations of the process
				listDescendants()
			}
			n := born()
			assert.Truef(t, n <= after, "%d were born after the end", n-after)
			_, err = os.Stat(group)
			assert.Errorf(t, err, "the group %s is left", group)
		})
	}
}
