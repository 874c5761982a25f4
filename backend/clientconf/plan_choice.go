package clientconf

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
)

// TokenVar is the environment variable that holds a client's token if the file must not
// contain it.
const TokenVar = "DRAWBRIDGE_TOKEN"

// Choice selects how a client is connected. The zero value of every field but Client selects
// the default: one entry that starts the shim, in the user's own file.
type Choice struct {
	Client string `json:"client"`
	// Project is the absolute path of the directory whose project file is meant; "" for the
	// user's file.
	Project string `json:"project,omitempty"`
	// File is one of the further files that the client reads; "" for the one that is written by default.
	File string `json:"file,omitempty"`
	// Servers gives each server an entry of its own, under the name that the client knows. If
	// empty, one entry provides all servers.
	Servers []ServerEntry `json:"servers,omitempty"`
	// HTTP writes a URL instead of a program; nothing then starts Drawbridge when the client
	// needs it. URL is the daemon's base URL without a trailing slash.
	HTTP bool   `json:"http,omitempty"`
	URL  string `json:"url,omitempty"`
	// ByVariable writes a reference to TokenVar instead of the token.
	ByVariable bool `json:"byVariable,omitempty"`
	// Token is the client's token. It is required for HTTP and never stored.
	Token string `json:"-"`
}

// ServerEntry is one server with an entry of its own.
type ServerEntry struct {
	Name   string `json:"name"`   // name of the entry, as the client's permission rules refer to it
	Server string `json:"server"` // id of the server in our configuration
	// Scope is the project whose section of the user's file contains the entry; "" for all
	// projects. Only Claude Code has such sections.
	Scope string `json:"scope,omitempty"`
}

func (c Choice) key() string { return Key(c.Client, cmp.Or(c.File, c.Project)) }

// Key returns the key of one connection: the client's id, followed by a hash of the project or of the
// further file.
func Key(client, path string) string {
	if path == "" {
		return client
	}
	sum := sha256.Sum256([]byte(path))
	return client + "@" + hex.EncodeToString(sum[:4])
}
