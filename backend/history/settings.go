package history

import (
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Apply applies the history settings. In the configuration 0 means no limit.
func Apply(kept *store.Store, c config.History) {
	keep := store.RetentionLimits{Age: c.KeepFor, Bytes: c.MaxBytes}
	if keep.Age == 0 {
		keep.Age = -1
	}
	if keep.Bytes == 0 {
		keep.Bytes = -1
	}
	kept.SetRetentionLimits(keep)
	kept.Recorder().SetEnabled(c.Enabled)
	kept.Recorder().SetMaxField(c.MaxPayload)
	kept.Recorder().SetFullSession(c.FullSession)
}
