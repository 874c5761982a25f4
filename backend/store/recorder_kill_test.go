package store

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/require"
)

const hammerEnv = "DRAWBRIDGE_TEST_HAMMER"

// recordUntilKilledIfAsked turns this process into one that records a call per millisecond and
// prints when each ended and how many were on disk, until it is killed.
func recordUntilKilledIfAsked() bool {
	path := os.Getenv(hammerEnv)
	if path == "" {
		return false
	}
	s, err := Open(context.Background(), Options{Path: path})
	if err != nil {
		fmt.Println("error", err)
		return true
	}
	go func() { _ = s.Recorder().Run(context.Background()) }()
	last, _ := s.LastCallID(context.Background())
	out := bufio.NewWriter(os.Stdout)
	tick := time.NewTicker(time.Millisecond)
	for id := last + 1; ; id++ {
		c := aCall(0)
		c.At, c.Took = time.Now(), 0 // the call has just ended, so it waits for its batch
		id = max(id, c.At.UnixMicro())
		c.ID = id
		s.Recorder().Record(c, core.Reply{Result: []byte(`{"text":"` + strings.Repeat("x", 2000) + `"}`)})
		written, _ := s.Recorder().progress()
		fmt.Fprintln(out, id, time.Now().UnixMilli(), written)
		_ = out.Flush()
		<-tick.C
	}
}

// parallelRecorders is the number of processes that record to their own files in parallel; they
// mostly wait.
const parallelRecorders = 5

// rounds returns the number of kills: 5, 15 with CI=true, or DRAWBRIDGE_KILL_ROUNDS.
func rounds(t *testing.T) int {
	if said := os.Getenv("DRAWBRIDGE_KILL_ROUNDS"); said != "" {
		n, err := strconv.Atoi(said)
		require.NoError(t, err)
		return n
	}
	if os.Getenv("CI") == "true" {
		return 15
	}
	return 5
}

// TestKillLosesNoCallOlderThan100ms scales the limit on a slow machine by how much longer than a
// millisecond the process took per call, adds twice its longest pause, and allows five times as
// much except in make soak, which runs alone. Calls that the recorder counted as written must
// always exist.
func TestKillLosesNoCallOlderThan100ms(t *testing.T) {
	all := rounds(t)
	for lane := range parallelRecorders {
		t.Run(strconv.Itoa(lane), func(t *testing.T) {
			t.Parallel()
			killRecorderRepeatedly(t, (all+parallelRecorders-1-lane)/parallelRecorders)
		})
	}
}

// killRecorderRepeatedly kills one process after another, all of which record to the same file.
func killRecorderRepeatedly(t *testing.T, rounds int) {
	usual := 500.0
	if raceDetectorEnabled {
		usual = 1000
	} else if os.Getenv("DRAWBRIDGE_KILL_ROUNDS") != "" && os.Getenv("CI") != "true" {
		usual = 100
	}
	longest, over := int64(0), 0 // longest wait of a queued call at a kill; kills with more than 100 ms
	defer func() {
		t.Logf("at a kill a call had waited for the disk for %d ms at most; more than 100 ms in %d of %d", longest, over, rounds)
	}()
	path := filepath.Join(t.TempDir(), "history.db")
	for round := range rounds {
		if round%20 == 19 { // a larger file is only slower to check
			path = filepath.Join(t.TempDir(), "history.db")
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), hammerEnv+"="+path)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		type said struct{ id, at, written int64 }
		var all []said
		enough := 200 + 37*(round%10)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var s said
			_, err = fmt.Sscan(lines.Text(), &s.id, &s.at, &s.written)
			require.NoErrorf(t, err, "round %d", round)
			all = append(all, s)
			if len(all) == enough {
				break
			}
		}
		killed := time.Now().UnixMilli()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		require.Truef(t, len(all) >= enough, "the recording process ended by itself after %d calls", len(all))

		took, standstill := killed-all[0].at, killed-all[len(all)-1].at
		for i := range all[1:] {
			standstill = max(standstill, all[i+1].at-all[i].at)
		}
		limit := int64(usual*max(1, float64(took)/float64(enough))) + 2*standstill

		written := int(all[len(all)-1].written)
		if written < len(all) {
			waited := killed - all[written].at
			longest = max(longest, waited)
			if waited > 100 {
				over++
			}
		}
		b := open(t, path)
		requireIntegrity(t, b)
		for i, s := range all {
			if i >= written && killed-s.at <= limit {
				continue
			}
			if _, err := b.Call(t.Context(), s.id); err != nil {
				t.Fatalf("round %d: call %d, number %d of %d, ended %d ms before the kill, of %d that are allowed; %d were on disk by the recorder's count: %v",
					round, s.id, i, len(all), killed-s.at, limit, written, err)
			}
		}
		b.stop()
	}
}
