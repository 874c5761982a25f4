package bridge

import (
	"encoding/json"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// How a feature works between one client and one server.
const (
	Passes       = "passes"        // works, with or without translation between the eras
	WithApproval = "with approval" // the client cannot, so Drawbridge asks the user
	NotClient    = "not client"    // the client did not declare the capability
	NotServer    = "not server"    // the server does not offer it
)

// Feature describes whether a feature works between one client and one server.
type Feature struct {
	Name string `json:"name"`
	How  string `json:"how"`            // Passes, WithApproval, NotClient or NotServer
	Note string `json:"note,omitempty"` // a sentence about a limitation, or ""
}

// Peer is one side of a connection: its era and its raw declared capabilities.
type Peer struct {
	Era          core.Era
	Capabilities json.RawMessage
	// OwnConnection, for a server, means that each client has its own connection, so that every
	// message of the server can be attributed to a client.
	OwnConnection bool
}

// FeatureMatrix returns the features between a client and a server in a fixed order. canAskUser
// means that the user can be asked for a client without elicitation. The features that a server
// offers are known from its capabilities. What it will request from the client is not known, so
// those features depend on the client alone.
func FeatureMatrix(client, server Peer, canAskUser bool) []Feature {
	var has map[string]json.RawMessage
	_ = json.Unmarshal(server.Capabilities, &has)
	offers := func(name string) bool {
		raw := has[name]
		return len(raw) > 0 && raw[0] == '{'
	}
	var resources struct{ Subscribe bool }
	_ = json.Unmarshal(has["resources"], &resources)

	list := make([]Feature, 0, 12)
	offered := func(name string, ok bool, note string) {
		f := Feature{Name: name, How: Passes, Note: note}
		if !ok {
			f.How, f.Note = NotServer, ""
		}
		list = append(list, f)
	}
	offered("tools", offers("tools"), "")
	offered("prompts", offers("prompts"), "")
	offered("resources", offers("resources"), "")
	offered("subscriptions", resources.Subscribe, "")
	offered("completions", offers("completions"), "")
	logging := ""
	if server.Era == core.Legacy && !server.OwnConnection {
		logging = "A client receives log messages only while its call is the only one in flight on the server."
	}
	offered("logging", offers("logging"), logging)
	offered("progress", true, "")
	offered("cancellation", true, "")

	can := parseClientCapabilities(client.Capabilities)
	shared := ""
	if server.Era == core.Legacy && !server.OwnConnection {
		shared = "While several calls to the server are in flight, a request from it is forwarded only if it says which call it belongs to."
	}
	asked := func(name string, able, question bool) {
		f := Feature{Name: name, How: NotClient}
		switch {
		case able:
			f.How, f.Note = Passes, shared
		case question && canAskUser:
			f.How = WithApproval
		}
		list = append(list, f)
	}
	asked("sampling", can.sampling, false)
	asked("elicitation", can.form, true)
	asked("elicitation by URL", can.url, true)
	asked("roots", can.roots, false)
	return list
}
