package supervisor

import (
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// A remote server runs no command, so its presence does not mean that commands have been seen
// before.
func TestFirstConfigDoesNotRestartRemoteServer(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		g.apply(server("a"), server("far", func(s *config.Server) { s.Command, s.Type, s.URL = "", core.HTTP, "https://far.test/mcp" }))
		g.want("a", core.StateRunning)
		if list := g.Notices(); len(list) != 0 {
			t.Errorf("got %+v", list)
		}
	})
}

func TestNewCommandIsAppliedWithNotice(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		sub := g.o.Bus.Subscribe(1000)
		defer sub.Close()
		told := func() (list []core.Notice) {
			for {
				select {
				case e := <-sub.Events():
					if n, ok := e.Data.(core.Notice); ok && e.Kind == core.NoticeEvent {
						list = append(list, n)
					}
				default:
					return list
				}
			}
		}
		runs := func(command string) config.Server {
			return server("a", func(s *config.Server) { s.Command = command })
		}
		g.apply(runs("one"))
		g.want("a", core.StateRunning)
		if list := g.Notices(); len(list) != 0 || len(told()) != 0 {
			t.Fatalf("the first configuration is no news: %v", list)
		}
		g.apply(runs("two"))
		g.want("a", core.StateRunning)
		want := core.Notice{Subject: "command:a", Message: `Server "a" has a new command: two (before: one)`}
		if list := g.Notices(); len(list) != 1 || list[0] != want {
			t.Fatalf("got %+v", list)
		}
		if heard := told(); len(heard) != 1 || heard[0] != want {
			t.Errorf("told %+v", heard)
		}
		g.apply(runs("two"), server("far", func(s *config.Server) { s.Command, s.Type, s.URL = "", core.HTTP, "https://far.test/mcp" }))
		if list := g.Notices(); len(list) != 1 || len(told()) != 0 {
			t.Errorf("another change took the notice away: %+v", list)
		}
		if !g.Dismiss("command:a") || g.Dismiss("command:a") || len(g.Notices()) != 0 {
			t.Error("a notice that was seen stays")
		}
		if heard := told(); len(heard) != 1 || heard[0] != (core.Notice{Subject: "command:a"}) {
			t.Errorf("told %+v", heard)
		}

		// A change that is undone leaves no notice: the old command runs again.
		g.apply(runs("three"))
		if list := g.Notices(); len(list) != 1 || len(told()) != 1 {
			t.Errorf("got %+v", list)
		}
		g.apply(runs("two"))
		if list, heard := g.Notices(), told(); len(list) != 0 || len(heard) != 1 || heard[0].Message != "" {
			t.Errorf("the notice of a change that was undone stays: %+v, told %+v", list, heard)
		}

		// The user who adds a server knows its command.
		g.SuppressCommandNotice("b")
		g.apply(runs("two"), server("b"))
		if list := g.Notices(); len(list) != 0 {
			t.Errorf("got %+v", list)
		}
		// A removed server loses its notice. A change that is not in the command makes none.
		g.apply(runs("two"), server("b"), server("c"))
		if list := g.Notices(); len(list) != 1 {
			t.Errorf("got %+v", list)
		}
		g.apply(runs("two"), server("b", func(s *config.Server) { s.IdleStop = 5 }))
		if list := g.Notices(); len(list) != 0 {
			t.Errorf("got %+v", list)
		}
	})
}

// The command of a server that the user has just moved, imported or confirmed otherwise is no news.
func TestConfirmedCommandMakesNoNotice(t *testing.T) {
	confirmed := func(s *config.Server) bool { return s.ID == "moved" }
	inBubble(t, func(_ *rig, o *Options) { o.Confirmed = confirmed }, func(g *rig) {
		g.apply(server("a"))
		g.apply(server("a"), server("moved"), server("new"))
		if list := g.Notices(); len(list) != 1 || list[0].Subject != "command:new" {
			t.Errorf("got %+v", list)
		}
	})
}
