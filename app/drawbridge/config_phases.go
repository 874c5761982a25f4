package main

import (
	"log/slog"
	"time"

	"github.com/drawbridge-mcp/drawbridge/config"
)

// configPhases are what a new configuration is applied to. A phase begins when the one before it
// is complete; within a phase the order has no meaning.
type configPhases []configPhase

type configPhase struct {
	name  string
	apply []func(*config.Config)
}

func (p configPhases) apply(c *config.Config) {
	for _, phase := range p {
		began := time.Now()
		for _, apply := range phase.apply {
			apply(c)
		}
		slog.Debug("Configuration applied", "phase", phase.name, "took", time.Since(began))
	}
}
