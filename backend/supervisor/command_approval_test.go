package supervisor

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// memoryApprovals implements CommandApprovals in memory.
type memoryApprovals struct {
	mu   sync.Mutex
	keys map[string][]byte
}

func (a *memoryApprovals) Approved(_ context.Context, server, key string) ([]byte, bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	sandbox, ok := a.keys[server+key]
	return sandbox, ok, nil
}

func (a *memoryApprovals) Approve(_ context.Context, server, key string, sandbox []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keys[server+key] = sandbox
	return nil
}

func (g *rig) requireApproval(on bool) {
	c := *g.cfg
	c.Global.ApproveNewCommands = on
	g.cfg = &c
}

func TestNewCommandWaitsForApproval(t *testing.T) {
	kept := &memoryApprovals{keys: map[string][]byte{}}
	ctx := context.Background()
	changed := func(s *config.Server) { s.Args = []string{"--evil"} }
	inBubble(t, func(_ *rig, o *Options) { o.CommandApprovals = kept }, func(g *rig) {
		g.apply(server("used")) // in use before approvals were turned on
		g.requireApproval(true)
		g.apply(server("used"), server("new"))
		g.want("used", core.StateRunning)
		g.want("new", core.StateNeedsApproval)
		for name, act := range map[string]func() error{
			"call":    func() error { _, err := g.For(ctx, call("new")); return err },
			"start":   func() error { return g.Start(ctx, "new") },
			"restart": func() error { return g.Restart(ctx, "new") },
		} {
			if err := act(); core.CodeOf(err) != core.CodeUnavailable || !strings.Contains(err.Error(), "approval") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := len(g.started("new")); n != 0 {
			t.Fatalf("started %d times", n)
		}
		waiting := g.PendingCommands()
		if len(waiting) != 1 || waiting[0].Server != "new" || waiting[0].Command != "run-new" {
			t.Fatalf("got %+v", waiting)
		}
		if err := g.Approve(ctx, "new", "something else"); core.CodeOf(err) != core.CodeConflict {
			t.Fatalf("a word for another command: %v", err)
		}
		must(t, g.Approve(ctx, "new", waiting[0].Key))
		synctest.Wait()
		g.want("new", core.StateRunning)

		g.apply(server("used", changed), server("new"))
		g.want("used", core.StateNeedsApproval)
		if g.processes() != 1 {
			t.Error("the old command goes on although the configuration has another")
		}
		g.apply(server("used"), server("new")) // reverted
		g.want("used", core.StateRunning)
	})
	inBubble(t, func(_ *rig, o *Options) { o.CommandApprovals = kept }, func(g *rig) { // the next run
		g.requireApproval(true)
		g.apply(server("new"), server("used", changed))
		g.want("new", core.StateRunning)
		g.want("used", core.StateNeedsApproval)
		g.requireApproval(false)
		g.apply(server("new"), server("used", changed))
		g.want("used", core.StateRunning)
	})
}

func TestLoosenedSandboxWaitsForApproval(t *testing.T) {
	kept := &memoryApprovals{keys: map[string][]byte{}}
	confined := func(c *config.Server) {
		c.Sandbox = config.Sandbox{On: true, NoNetwork: true, Read: []string{"~/a"}}
	}
	open := func(*config.Server) {}
	pending := func(g *rig) []string {
		t.Helper()
		g.want("a", core.StateNeedsApproval)
		list := g.PendingCommands()
		if len(list) != 1 || list[0].Previous != list[0].Command || len(list[0].Sandbox) == 0 {
			t.Fatalf("got %+v", list)
		}
		return list[0].Sandbox
	}
	inBubble(t, func(_ *rig, o *Options) { o.CommandApprovals = kept }, func(g *rig) {
		g.apply(server("a")) // without a sandbox, which is saved as approved
		g.requireApproval(true)
		g.apply(server("a", confined)) // stricter
		g.want("a", core.StateRunning)
		g.apply(server("a", open))
		pending(g)
		if g.processes() != 0 {
			t.Error("it goes on without a sandbox")
		}
		g.apply(server("a", confined)) // reverted
		g.want("a", core.StateRunning)
		more := func(c *config.Server) {
			confined(c)
			c.Sandbox.Write = []string{"~/b"}
		}
		g.apply(server("a", more))
		if got := pending(g); len(got) != 1 || got[0] != "write to ~/b" {
			t.Errorf("shown: %q", got)
		}
		seen := g.PendingCommands()[0].Key
		g.apply(server("a", open)) // after the user saw it
		if err := g.Approve(context.Background(), "a", seen); core.CodeOf(err) != core.CodeConflict {
			t.Errorf("an approval for another sandbox: %v", err)
		}
		g.apply(server("a", more))
		must(t, g.Approve(context.Background(), "a", seen))
		synctest.Wait()
		g.want("a", core.StateRunning)
	})
	inBubble(t, func(_ *rig, o *Options) { o.CommandApprovals = kept }, func(g *rig) { // the next run
		g.requireApproval(true)
		g.apply(server("a", open))
		pending(g)
		g.requireApproval(false)
		g.apply(server("a", open))
		g.want("a", core.StateRunning)
		if len(g.Notices()) != 0 {
			t.Errorf("told of a new command: %+v", g.Notices())
		}
	})
}

func TestNonCommandSettingNeedsNoApproval(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		g.apply(server("a"))
		g.requireApproval(true)
		g.apply(server("a", func(s *config.Server) { s.Label, s.Debug, s.Framing = "A", true, config.FramingNDJSON }))
		g.want("a", core.StateRunning)
	})
}

// What a command is given decides what it does as much as its words: each of these waits.
func TestApprovalCoversEverythingThatRuns(t *testing.T) {
	base := server("a", accounts(map[string]string{"work": "w"}))
	for name, change := range map[string]func(*config.Server){
		"account":    accounts(map[string]string{"work": "x"}),
		"command":    func(s *config.Server) { s.Command = "another" },
		"args":       func(s *config.Server) { s.Args = []string{"x"} },
		"env":        func(s *config.Server) { s.Env = map[string]string{"LD_PRELOAD": "/tmp/x.so"} },
		"inheritEnv": func(s *config.Server) { s.InheritEnv = []string{"X"} },
		"cwd":        func(s *config.Server) { s.Cwd = "/tmp" },
		"container":  func(s *config.Server) { s.Type, s.Docker.Container = core.Docker, "x" },
		"image":      func(s *config.Server) { s.Docker.Image = "x" },
		"type":       func(s *config.Server) { s.Type = core.Docker },
	} {
		changed := base
		change(&changed)
		if commandKey(&changed) == commandKey(&base) {
			t.Errorf("another %s runs unasked", name)
		}
	}
}
