package config

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestMain lets the test binary act as the process that is killed.
func TestMain(m *testing.M) {
	if file := os.Getenv("RELOAD_WRITE"); file != "" {
		for n := 0; ; n++ {
			label := fmt.Sprintf("%s-%d", os.Getenv("RELOAD_LABEL"), n)
			if err := addAsAnotherProgram(context.Background(), file, label); err != nil {
				fmt.Println("cannot:", err)
				os.Exit(1)
			}
			fmt.Println(label)
		}
	}
	goleak.VerifyTestMain(m)
}

// TestTwoWritersLoseNothingWhenOneIsKilled kills one of two processes that write continuously.
// Every edit that was reported as saved remains, and the file is never torn.
// DRAWBRIDGE_KILL_ROUNDS sets the number of rounds.
func TestTwoWritersLoseNothingWhenOneIsKilled(t *testing.T) {
	t.Parallel()
	rounds := 8
	if n, err := strconv.Atoi(os.Getenv("DRAWBRIDGE_KILL_ROUNDS")); err == nil {
		rounds = n
	}
	r, file := newEditable(t)
	base, err := os.ReadFile(file)
	require.NoError(t, err)
	ours, theirs := 0, 0
	for round := range rounds {
		require.NoError(t, os.WriteFile(file, base, 0o600))
		other := exec.Command(os.Args[0])
		other.Env = append(os.Environ(), "RELOAD_WRITE="+file, fmt.Sprintf("RELOAD_LABEL=other-%d", round))
		out, err := other.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, other.Start())
		said := bufio.NewReader(out)
		first, err := said.ReadString('\n') // it has started to write
		require.NoError(t, err)
		kill := time.Now().Add(time.Duration(rand.IntN(40_000)) * time.Microsecond) // the moment is random on purpose
		var saved []string
		var killer sync.WaitGroup
		killer.Go(func() {
			time.Sleep(time.Until(kill))
			_ = other.Process.Kill()
		})
		for n := 0; n < 2 || time.Now().Before(kill); n++ {
			label := fmt.Sprintf("daemon-%d-%d", round, n)
			if err := r.Add(t.Context(), label, []byte(`{"command": "d", "disabled": true}`)); err != nil {
				t.Errorf("round %d: %v", round, err)
				break
			}
			saved = append(saved, label)
		}
		killer.Wait()
		rest, _ := io.ReadAll(said)
		_ = other.Wait()
		lines := strings.Split(first+string(rest), "\n")
		told := lines[:len(lines)-1] // the last line may be incomplete
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		c, problems := Parse(file, text)
		require.Falsef(t, HasErrors(problems), "round %d: the file is torn: %v\n%s", round, problems, text)
		for _, label := range append(saved, told...) {
			_, there := c.Server(label)
			require.Truef(t, there, "round %d: %q was saved and is lost", round, label)
		}
		ours, theirs = ours+len(saved), theirs+len(told)
	}
	t.Logf("%d kills; %d edits of ours and %d of the other program were all there", rounds, ours, theirs)
}
