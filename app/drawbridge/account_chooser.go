package main

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// accountChooser chooses the account of each call by the configuration.
type accountChooser struct {
	current atomic.Pointer[accountChoices]
}

type accountChoices struct {
	config  *config.Config
	servers map[string]*config.Server
}

func (a *accountChooser) apply(c *config.Config) {
	next := &accountChoices{c, make(map[string]*config.Server, len(c.Servers))}
	for i := range c.Servers {
		next.servers[c.Servers[i].ID] = &c.Servers[i]
	}
	a.current.Store(next)
}

// choose implements gateway.Options.ChooseAccount.
func (a *accountChooser) choose(call *core.Call) error {
	now := a.current.Load()
	if now == nil {
		return nil
	}
	s := now.servers[call.Server]
	switch {
	case s == nil:
		return nil // the supervisor says what there is instead
	case call.Account == "":
		call.Account = now.config.AccountOf(s, call.Client.Token, call.Profile, call.Workspace)
		call.AccountChosen = true
	case len(s.Accounts) == 0 && call.Account == config.DefaultAccount: // of a repeated call
		call.Account = ""
	}
	if call.Account == "" || slices.Contains(s.AccountNames(), call.Account) {
		return nil
	}
	return &core.Error{Code: core.CodeNotFound, Message: fmt.Sprintf("server %q has no account %q", s.ID, call.Account),
		Hint: "Add it to the server's 'accounts' in the configuration, or choose another account."}
}

// recheck refuses a call that has waited if its account was removed, or if another one is chosen now.
func (a *accountChooser) recheck(call *core.Call) error {
	again := *call
	if call.AccountChosen {
		again.Account = ""
	}
	err := a.choose(&again)
	if err == nil && again.Account != call.Account {
		err = &core.Error{Code: core.CodeRejected, Message: fmt.Sprintf("the account of server %q for this client has changed while the call waited", call.Server),
			Hint: "Make the call again.", Retriable: true}
	}
	return err
}

// folderDecides reports whether the account of a call to the server may depend on the folder of the
// client.
func (a *accountChooser) folderDecides(server string) bool {
	now := a.current.Load()
	if now == nil {
		return false
	}
	s := now.servers[server]
	return s != nil && now.config.FolderDecides(s)
}

// processOf returns the function that chooses the account of a call and identifies the process that
// would serve it.
func processOf(accounts *accountChooser, servers *supervisor.Supervisor) func(*core.Call) (string, error) {
	return func(call *core.Call) (string, error) {
		err := accounts.choose(call) // first: the process depends on the account
		return servers.OwnerOf(call), err
	}
}
