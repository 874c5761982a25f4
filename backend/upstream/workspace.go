package upstream

import (
	"os"
	"path/filepath"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// workspace returns the value of ${workspaceFolder} for one start.
func (d *Dialer) workspace(r Request) (string, error) {
	if !r.Server.UsesWorkspace() {
		return "", nil
	}
	if r.Workspace == "" {
		if d.DefaultWorkspace == "" {
			return os.UserHomeDir()
		}
		return d.DefaultWorkspace, os.MkdirAll(d.DefaultWorkspace, 0o700)
	}
	info, err := os.Stat(r.Workspace)
	if !filepath.IsAbs(r.Workspace) || err != nil || !info.IsDir() {
		return "", &core.Error{Code: core.CodeValidation, Cause: err,
			Message: "the client's workspace is not a folder on this machine"}
	}
	return r.Workspace, nil
}
