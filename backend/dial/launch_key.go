package dial

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// LaunchKey returns a hash of the settings that need a restart when they change.
func LaunchKey(c *config.Server) string {
	b, _ := json.Marshal(struct {
		Type       core.Transport
		Command    string
		Args       []string
		Env        map[string]string
		InheritEnv []string
		Cwd        string
		URL        string
		Headers    map[string]string
		Docker     config.Docker
		Framing    string
		Debug      bool
		Insecure   bool           `json:",omitempty"` // omitted when unset, so that keys saved by earlier versions stay valid
		OAuth      config.OAuth   `json:",omitzero"`
		Sandbox    config.Sandbox `json:",omitzero"`
		Replay     config.Replay  `json:",omitzero"`
	}{c.Type, c.Command, c.Args, c.Env, c.InheritEnv, c.Cwd, c.URL, c.Headers, c.Docker, c.Framing, c.Debug, c.AllowInsecure, c.OAuth, c.Sandbox, c.Replay})
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}
