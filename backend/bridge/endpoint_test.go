package bridge

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
)

func TestFeatureMatrixMatchesPeers(t *testing.T) {
	const all = `{"tools":{},"prompts":{},"resources":{"subscribe":true},"completions":{},"logging":{}}`
	for _, c := range []struct {
		name           string
		client, server Peer
		person         bool
		want           string
	}{
		{"everything", Peer{Era: core.Legacy, Capabilities: json.RawMessage(allClientCapabilities)}, Peer{Era: core.Modern, Capabilities: json.RawMessage(all)}, false,
			"tools:passes prompts:passes resources:passes subscriptions:passes completions:passes logging:passes progress:passes cancellation:passes sampling:passes elicitation:passes elicitation by URL:passes roots:passes"},
		{"a plain pair", Peer{Era: core.Modern, Capabilities: json.RawMessage(`{}`)}, Peer{Era: core.Legacy, Capabilities: json.RawMessage(`{"tools":{},"resources":{}}`)}, false,
			"tools:passes prompts:not server resources:passes subscriptions:not server completions:not server logging:not server progress:passes cancellation:passes sampling:not client elicitation:not client elicitation by URL:not client roots:not client"},
		{"the user at hand", Peer{Era: core.Modern, Capabilities: json.RawMessage(`{"elicitation":{},"roots":{}}`)}, Peer{Era: core.Legacy, Capabilities: nil}, true,
			"tools:not server prompts:not server resources:not server subscriptions:not server completions:not server logging:not server progress:passes cancellation:passes sampling:not client elicitation:passes elicitation by URL:with approval roots:passes"},
	} {
		var got []string
		for _, f := range FeatureMatrix(c.client, c.server, c.person) {
			got = append(got, f.Name+":"+f.How)
			assert.Equal(t, f.How == Passes && f.Name == "roots" && c.server.Era == core.Modern, f.How == Passes && f.Name == "roots" && f.Note == "")
		}
		checkEqual(t, c.name, strings.Join(got, " "), c.want)
	}
}
