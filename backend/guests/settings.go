package guests

import (
	"context"
	"fmt"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Editor writes the settings of guests, which are those of any client; *config.Reloader implements it.
type Editor interface {
	Current() *config.Config
	SetClientAccess(ctx context.Context, client, profile, approval string) error
}

// save writes the settings of a new guest, and returns an error unless they are in use.
func (f *Feature) save(ctx context.Context, name, profile, approval string) error {
	if _, ok := f.Config.Current().Profile(profile); !ok && profile != "" {
		return core.Errorf(core.CodeNotFound, "there is no profile named %q", profile)
	}
	if err := f.Config.SetClientAccess(ctx, name, profile, approval); err != nil {
		return err
	}
	c := f.Config.Current()
	if c.Policy.Clients[name].Approval == approval && c.Clients[name].Profile == profile {
		return nil
	}
	return &core.Error{
		Code: core.CodeConflict, Message: fmt.Sprintf("the configuration has other settings for a client named %q", name),
		Hint: "Choose another name for the guest, or remove those settings.",
	}
}
