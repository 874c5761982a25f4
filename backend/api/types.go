package api

import (
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Status is the summary of the whole state.
type Status struct {
	Version       string                   `json:"version"`
	URL           string                   `json:"url"`
	StartedAt     time.Time                `json:"startedAt"`
	ConfigPath    string                   `json:"configPath"`
	Problems      []config.Problem         `json:"problems" nullable:"false"`
	RequireToken  bool                     `json:"requireToken"`
	Recorder      history.RecorderStatus   `json:"recorder"`
	Notices       []core.Notice            `json:"notices" nullable:"false"`
	Servers       []core.ServerStatus      `json:"servers" nullable:"false"`
	Usage         []supervisor.ServerUsage `json:"usage" nullable:"false" doc:"Resource usage of the servers that run on this machine"`
	KnowsReleases bool                     `json:"knowsReleases" doc:"Whether this build has an update source, so that updates.check can be turned on"`
	Visible       map[string]int           `json:"visibleTools,omitempty" doc:"Number of tools that clients see, by server id; only servers with hidden tools"`
	Withheld      map[string]int           `json:"withheld,omitempty" doc:"Number of changed definitions that are withheld from clients until you review them, by server id"`
	Idle          config.Idle              `json:"idle,omitzero" doc:"Why no server can run; absent if one can"`
}

// ConfigFile is the main configuration file.
type ConfigFile struct {
	Path     string           `json:"path"`
	Text     string           `json:"text"`
	ETag     string           `json:"etag"`
	Problems []config.Problem `json:"problems" nullable:"false"`
}

// Health is the response of /healthz.
type Health struct {
	Status  string         `json:"status"` // "ok" or "degraded"
	Version string         `json:"version"`
	Reasons []HealthReason `json:"reasons"`
}

// HealthReason is one problem. Server is "" if it concerns Drawbridge itself.
// Without a token Server is always "", Reason repeats the code in State, and Count is the
// number of problems.
type HealthReason struct {
	Server string `json:"server"`
	State  string `json:"state"`
	Reason string `json:"reason"`
	Count  int    `json:"count,omitempty"`
}

// Snapshot is the first event of the stream.
type Snapshot struct {
	Status Status         `json:"status"`
	Calls  []history.Call `json:"calls" nullable:"false" doc:"Latest calls, including those in flight, newest first"`

	Approvals []approvals.Approval `json:"approvals" nullable:"false" doc:"Pending approvals"`
}
