package supervisor

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
)

func TestStartProgressIsShownLive(t *testing.T) {
	var line atomic.Value
	line.Store("")
	inBubble(t, func(g *rig, o *Options) {
		o.Fetching = func(string) string { return "npx" }
		o.LastLines = func(_ string, n int, since time.Time) []string {
			if since.IsZero() || line.Load() == "" {
				return nil
			}
			return []string{line.Load().(string)}
		}
		g.start = func(context.Context, Request, int) (*core.Catalog, error) {
			time.Sleep(time.Minute)
			return nil, nil
		}
	}, func(g *rig) {
		sub := g.bus.Subscribe(64)
		defer sub.Close()
		g.apply(server("a"))
		advance(3 * time.Second)
		if st := g.want("a", core.StateStarting); st.Detail != "downloading (npx)" {
			t.Errorf("detail %q", st.Detail)
		}
		line.Store("npm warn deprecated")
		advance(2 * time.Second)
		if st := g.want("a", core.StateStarting); st.Detail != "downloading (npx): npm warn deprecated" {
			t.Errorf("detail %q", st.Detail)
		}
		if n := len(sub.Events()); n > 5 {
			t.Errorf("%d events about three things", n)
		}
		advance(time.Minute)
		if st := g.want("a", core.StateRunning); st.Detail != "" {
			t.Errorf("running, with detail %q", st.Detail)
		}
	})
}

func TestLauncherIsKnownByItsName(t *testing.T) {
	for command, want := range map[string]string{"/usr/bin/npx": "npx", "/home/u/.local/bin/uvx": "uvx", "bunx": "bunx", "/usr/bin/docker": "docker", "/usr/bin/node": ""} {
		if got := launcher(command); got != want {
			t.Errorf("%s: %q", command, got)
		}
	}
}

func TestImagePullIsShownUntilImageIsPresent(t *testing.T) {
	said := func(texts ...string) (lines []serverlog.Line) {
		for _, text := range texts {
			lines = append(lines, serverlog.Line{Level: serverlog.Stderr, Text: text})
		}
		return lines
	}
	for _, c := range []struct {
		lines []serverlog.Line
		want  bool
	}{
		{nil, false},
		{said("Unable to find image 'mcp/time:latest' locally", "latest: Pulling from mcp/time"), true},
		{said("Unable to find image 'mcp/time:latest' locally", "Status: Downloaded newer image for mcp/time:latest"), false},
		{append(said("Unable to find image 'mcp/time:latest' locally"), serverlog.Line{Level: serverlog.Info, Text: "starting: start 2 of 5"}), false},
	} {
		if got := pulling(c.lines); got != c.want {
			t.Errorf("%v: %v", c.lines, got)
		}
	}
}
