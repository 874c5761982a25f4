package history

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// memoryCheckStore keeps documents in memory.
type memoryCheckStore struct {
	mu     sync.Mutex
	checks [][]byte
	facts  map[string][]byte
}

func (s *memoryCheckStore) SavedChecks(context.Context) ([][]byte, error) { return s.checks, nil }

func (s *memoryCheckStore) Metadata(_ context.Context, key string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.facts[key]
	return v, ok, nil
}

func (s *memoryCheckStore) SaveMetadata(_ context.Context, key string, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.facts[key] = value
	return nil
}

type answering struct {
	mu    sync.Mutex
	text  string
	calls map[string]int
}

func (a *answering) Call(_ context.Context, c *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls[c.Name]++
	c.Outcome = core.OutcomeOK
	return core.Reply{Result: []byte(a.text)}, nil
}

func TestChecksRunAfterServerChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		check := func(name, tool, auto string) []byte {
			d, _ := json.Marshal(Check{Name: name, Auto: auto, Steps: []Step{{Server: "files", Tool: tool, Expect: Expect{Contains: []string{"fine"}}}}})
			return d
		}
		s := &memoryCheckStore{facts: map[string][]byte{}, checks: [][]byte{
			check("reads", "read", ""), check("writes", "write", ""), check("writes-on", "write-on", AutoAlways), check("reads-off", "read-off", AutoNever)}}
		a := &answering{text: `"fine"`, calls: map[string]int{}}
		offer := "v1"
		var said []string
		w := NewCheckRunner(CheckRunner{
			Store: s, Caller: a, Log: slog.New(slog.DiscardHandler),
			ReadOnly:   func(_, tool string) bool { return tool == "read" || tool == "read-off" },
			ServerHash: func(string) (string, bool) { return offer, offer != "" },
			Label:      func(server string) string { return map[string]string{"files": "My Files"}[server] },
			Notify:     func(check, sentence string) { said = append(said, check+": "+sentence) },
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		change := func() {
			for range 5 { // lists change in bursts
				w.Changed("files")
			}
			time.Sleep(2 * debounceDelay) // of the bubble's clock
			synctest.Wait()
		}
		change() // for the first time: there is nothing to compare with
		if len(a.calls) != 0 {
			t.Fatalf("checks ran without a change: %v", a.calls)
		}
		change() // the same again
		offer = ""
		change() // the server is away
		if len(a.calls) != 0 {
			t.Fatalf("checks ran without a change: %v", a.calls)
		}
		offer = "v2"
		change()
		if a.calls["read"] != 1 || a.calls["write-on"] != 1 || a.calls["write"] != 0 || a.calls["read-off"] != 0 {
			t.Fatalf("called %v", a.calls)
		}
		if last := w.Last(ctx, "reads"); !last.OK || last.At.IsZero() || last.Failed != 0 {
			t.Errorf("the last run is %+v", last)
		}
		offer, a.text = "v3", `"broken"`
		change()
		if last := w.Last(ctx, "reads"); last.OK || last.Failed != 1 || last.Trigger != "the version or tools of My Files changed" {
			t.Errorf("the last run is %+v", last)
		}
		if len(said) != 4 || said[0] != "reads: " || said[2] != `reads: The check "reads" failed after the version or tools of "My Files" changed.` {
			t.Errorf("said %q", said)
		}
		cancel()
		<-done
	})
}
