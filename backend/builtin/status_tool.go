package builtin

import (
	"context"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// serverSummary is what a client may know about a server: no command, no path, no stderr.
type serverSummary struct {
	ID      string     `json:"id"`
	Label   string     `json:"label"`
	State   core.State `json:"state"`
	Reason  string     `json:"reason,omitempty"`
	Since   time.Time  `json:"since"`
	Tools   int        `json:"tools"`
	Prompts int        `json:"prompts"`
	Warning []string   `json:"warnings,omitempty"`
}

func summarizeServer(s core.ServerStatus) serverSummary {
	return serverSummary{s.ID, s.Label, s.State, s.Reason, s.Since, s.Tools, s.Prompts, s.Warnings}
}

func (o *Server) status(_ context.Context, _ core.Client, arguments []byte) (any, error) {
	if err := decodeArguments(arguments, &struct{}{}); err != nil {
		return nil, err
	}
	list := []serverSummary{}
	for _, s := range o.o.Status() {
		list = append(list, summarizeServer(s))
	}
	return map[string]any{"version": o.o.Version, "servers": list}, nil
}
