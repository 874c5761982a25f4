package supervisor

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

func TestStartProgressIsShownLive(t *testing.T) {
	var line atomic.Value
	line.Store("")
	inBubble(t, func(g *rig, o *Options) {
		o.DownloadingLauncher = func(string) string { return "npx" }
		o.LastLines = func(_ string, n int, since time.Time) []string {
			if since.IsZero() || line.Load() == "" {
				return nil
			}
			return []string{line.Load().(string)}
		}
		g.start = slow(time.Minute)
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
