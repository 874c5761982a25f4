package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/drawbridge-mcp/drawbridge/backend/dockerexec"
	"github.com/drawbridge-mcp/drawbridge/backend/event"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// startupCleanup ends what an earlier run left behind, beside the rest of the start: lists are
// answered meanwhile.
//
// It never ends what is of this run. Nothing is started before it is over: every start of
// a server waits for it (supervisor.Dialer.Ready), else two processes of one server would
// run at once, and the ledgers would hold what is ours. And what is ours all the same,
// such as the login shell that is asked for its environment, is not taken for the other's:
// marks name their run, ledgers name processes with the time of their birth, and whoever
// descends from neither is let alone, which goes for this process, its parents, and all
// that it starts.
type startupCleanup struct {
	spawner    *process.Spawner
	containers string // ledger of what runs in them
	bus        *event.Bus
	log        *slog.Logger
	over       chan struct{} // closed at the end
	left       cleanupResult // to be read after that
}

// run sweeps once, then waits for the end of ctx, which ends the look into containers.
func (s *startupCleanup) run(ctx context.Context) error {
	if swept, err := s.spawner.EndOrphans(); err != nil {
		s.log.Warn("Cannot look for processes of an earlier run", "error", err)
	} else if len(swept) > 0 {
		s.left.processes = len(swept)
		s.log.Warn("Ended processes that an earlier run left behind", "count", len(swept))
	}
	if ended, err := dockerexec.Sweep(ctx, s.containers); err != nil {
		s.log.Debug("Cannot look into containers for processes of an earlier run", "error", err)
	} else if ended > 0 {
		s.left.contained = ended
		s.log.Warn("Ended processes that an earlier run left behind in containers", "count", ended)
	}
	close(s.over)
	for _, notice := range s.left.notices() { // for a page that is open already
		s.bus.Publish(event.Health, notice)
	}
	<-ctx.Done()
	return nil
}

// wait returns when nothing of an earlier run is left, or with the error of ctx.
func (s *startupCleanup) wait(ctx context.Context) error {
	select {
	case <-s.over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *startupCleanup) notices() []event.Notice {
	select {
	case <-s.over:
		return s.left.notices()
	default:
		return nil
	}
}

// cleanupResult are what an earlier run left behind and the start of this one ended.
type cleanupResult struct {
	processes int
	contained int // processes in containers, and containers
}

// notices tells the person of it, in at most one sentence. It stays until the next start.
func (l cleanupResult) notices() []event.Notice {
	var what string
	switch {
	case l.processes > 0 && l.contained > 0:
		what = fmt.Sprintf("%s and %d in containers", counted(l.processes), l.contained)
	case l.processes > 0:
		what = counted(l.processes)
	case l.contained > 0:
		what = counted(l.contained) + " in containers"
	default:
		return nil
	}
	return []event.Notice{{Subject: "cleanup", Message: "Ended " + what + " that an earlier run left behind."}}
}

func counted(n int) string {
	if n == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
}

// execLedger is the folder in which processes inside containers are kept for a sweep.
func execLedger(f config.Folders) string { return filepath.Join(f.State, "containers") }
