package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// LaunchKey returns a hash of the settings that need a restart when they change.
func (s *Server) LaunchKey() string {
	b, _ := json.Marshal(struct {
		Type       core.Transport
		Command    string
		Args       []string
		Env        map[string]string
		InheritEnv []string
		Cwd        string
		URL        string
		Headers    map[string]string
		Docker     Docker
		Framing    string
		Debug      bool
		Insecure   bool    `json:",omitempty"` // omitted when unset, so that keys saved by earlier versions stay valid
		OAuth      OAuth   `json:",omitzero"`
		Sandbox    Sandbox `json:",omitzero"`
		Replay     Replay  `json:",omitzero"`
	}{s.Type, s.Command, s.Args, s.Env, s.InheritEnv, s.Cwd, s.URL, s.Headers, s.Docker, s.Framing, s.Debug, s.AllowInsecure, s.OAuth, s.Sandbox, s.Replay})
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}
