// Package features lists the features of the program. Nothing else knows them all.
package features

import (
	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/desktop"
	"github.com/drawbridge-mcp/drawbridge/backend/doctor"
	"github.com/drawbridge-mcp/drawbridge/backend/guests"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/marketplace"
	"github.com/drawbridge-mcp/drawbridge/backend/oauth"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/backend/profiles"
	"github.com/drawbridge-mcp/drawbridge/backend/sandbox"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/backend/shim"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/backend/trust"
)

// Commands returns what adds the commands of each feature.
func Commands() []terminal.Commands {
	return []terminal.Commands{approvals.Commands, clientconf.Commands, desktop.Commands, doctor.Commands, guests.Commands, history.Commands, marketplace.Commands, oauth.Commands, policy.Commands, profiles.Commands, sandbox.Commands, secret.Commands, shim.Commands, supervisor.Commands, trust.Commands}
}
