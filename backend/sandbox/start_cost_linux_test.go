package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkStart measures what the sandbox adds to the start of a program: the median over pairs of
// a confined and a free start of the same program, with the rules that are computed at each start.
func BenchmarkStart(b *testing.B) {
	if landlockABIVersion() == 0 {
		b.Skip("this kernel has no Landlock")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		b.Skip(err)
	}
	dir := b.TempDir()
	run := func(confined bool) time.Duration {
		began := time.Now()
		cmd := exec.Command("/bin/true")
		if confined {
			w, err := Wrap("/bin/true", nil, os.Environ())
			require.NoError(b, err)
			cmd = exec.Command(w.Path, w.Args...)
			cmd.Env, cmd.ExtraFiles = w.Env, []*os.File{w.Inherit}
			passed := make(chan error, 1)
			go func() {
				passed <- w.Confine(RulesFor(Program{Home: home, Dir: dir, Path: "/bin/true", NoNetwork: true}))
			}()
			defer func() { require.NoError(b, errors.Join(<-passed, w.Inherit.Close())) }()
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		return time.Since(began)
	}
	var free, confined []time.Duration
	for b.Loop() {
		free, confined = append(free, run(false)), append(confined, run(true))
	}
	median := func(list []time.Duration) float64 {
		slices.Sort(list)
		return float64(list[len(list)/2].Microseconds()) / 1000
	}
	b.ReportMetric(median(free), "ms/free")
	b.ReportMetric(median(confined), "ms/confined")
	b.ReportMetric(median(confined)-median(free), "ms/added")
}
