package store

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const packerEnv = "DRAWBRIDGE_TEST_PACKER"

// packerIfAsked turns this process into one that moves payloads into blocks and vacuums, and prints
// a line after each step, until it is killed.
func packerIfAsked() bool {
	path := os.Getenv(packerEnv)
	if path == "" {
		return false
	}
	s, err := Open(context.Background(), Options{Path: path, Now: later})
	if err != nil {
		fmt.Println("error", err)
		return true
	}
	for {
		more, err := s.packStep(context.Background())
		if err == nil {
			err = s.exec(context.Background(), `PRAGMA incremental_vacuum(20)`)
		}
		if err != nil {
			fmt.Println("error", err)
			return true
		}
		if !more {
			fmt.Println("done")
			return true
		}
		fmt.Println("step")
	}
}

// TestKillDuringPackingLosesNoPayload kills a process during its steps: each payload is in its row
// or in a block, and unchanged.
func TestKillDuringPackingLosesNoPayload(t *testing.T) {
	t.Parallel()
	const calls = 640 // ten blocks
	whole := filepath.Join(t.TempDir(), "whole.db")
	b := openAt(t, whole, later)
	for i := range calls {
		b.Recorder().Record(aCall(i), longReply(i))
	}
	indexed(t, b)
	b.stop()
	start, err := os.ReadFile(whole)
	require.NoError(t, err)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	path, midway := "", 0
	for round := range max(5, rounds(t)/4) {
		if path == "" {
			path = filepath.Join(t.TempDir(), "history.db")
			require.NoError(t, os.WriteFile(path, start, 0o600))
		}
		killPacker(t, path, r.IntN(4), time.Duration(r.IntN(4000))*time.Microsecond)
		b := openAt(t, path, later)
		requireIntegrity(t, b)
		for i := range calls {
			got, err := b.Call(t.Context(), aCall(i).ID)
			require.NoErrorf(t, err, "round %d: call %d", round, i)
			if want := fmt.Sprintf(`{"n":%d}`, i); string(got.Arguments) != want || !bytes.Equal(got.Result, longReply(i).Result) {
				t.Fatalf("round %d: call %d came back as %s, %s", round, i, got.Arguments, got.Result)
			}
		}
		_, packed, loose := countPayloadBlocks(t, b)
		require.Equalf(t, calls, packed+loose, "round %d", round)
		if packed > 0 && loose > 0 {
			midway++
		}
		b.stop()
		if loose == 0 {
			path = ""
		}
	}
	assert.NotEqual(t, 0, midway, "no kill came while there was something left to pack")
}

// killPacker starts a process, waits for some steps and kills it during the next one.
func killPacker(t *testing.T, path string, steps int, into time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), packerEnv+"="+path)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for range steps + 1 {
		if !lines.Scan() || lines.Text() != "step" {
			break
		}
	}
	said := lines.Text()
	assert.Falsef(t, said != "step" && said != "done", "the packing process said %q", said)
	<-time.After(into)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}
