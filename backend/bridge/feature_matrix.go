package bridge

import (
	"encoding/json"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// How a feature passes between one client and one server.
const (
	Passes    = "passes"     // end to end, as the peer speaks it or translated between the eras
	ByPerson  = "by person"  // the client cannot, so Drawbridge asks the user
	NotClient = "not client" // the client did not say that it can
	NotServer = "not server" // the server does not offer it
)

// Feature says whether something works between one client and one server.
type Feature struct {
	Name string `json:"name"`
	How  string `json:"how"`            // Passes, ByPerson, NotClient or NotServer
	Note string `json:"note,omitempty"` // a sentence where it works with less than one may expect
}

// Peer is one side: the era it speaks and the raw capabilities that it declared.
type Peer struct {
	Era          core.Era
	Capabilities json.RawMessage
	// Own says of a server that no two clients share its connection, so that there is
	// never a doubt whose call it speaks of.
	Own bool
}

// FeatureMatrix says what passes end to end between a client and a server, in a fixed
// order. person says that there is an inbox. What a server offers is known from its
// capabilities; what it will ask for is not, so that those features depend on the
// client alone.
func FeatureMatrix(client, server Peer, person bool) []Feature {
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
	if server.Era == core.Legacy && !server.Own {
		logging = "Log lines reach a client while its call is the only one of the server."
	}
	offered("logging", offers("logging"), logging)
	offered("progress", true, "")
	offered("cancellation", true, "")

	can := parseClientCapabilities(client.Capabilities)
	shared := ""
	if server.Era == core.Legacy && !server.Own {
		shared = "While the server has several calls at once, a request that does not say which one it belongs to reaches no client."
	}
	asked := func(name string, able, question bool) {
		f := Feature{Name: name, How: NotClient}
		switch {
		case able:
			f.How, f.Note = Passes, shared
		case question && person:
			f.How = ByPerson
		}
		list = append(list, f)
	}
	asked("sampling", can.sampling, false)
	asked("elicitation", can.form, true)
	asked("elicitation by URL", can.url, true)
	asked("roots", can.roots, false)
	return list
}
