package clientconf

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
)

// TakeoverPlan describes the changes of moving the servers of all clients.
type TakeoverPlan struct {
	Servers int              `json:"servers" doc:"Number of servers to move"`
	Added   int              `json:"added" doc:"Number of servers that Drawbridge gets: servers with the same definition become one"`
	Clients []TakeoverClient `json:"clients" nullable:"false" doc:"In the order in which they are changed"`
	Skipped []TakeoverSkip   `json:"skipped" nullable:"false"`
	Plan    string           `json:"plan" doc:"Identifies this plan in the request that applies it"`
}

// TakeoverClient describes the changes for one client.
type TakeoverClient struct {
	Key      string   `json:"key"`
	Name     string   `json:"name"`
	Path     string   `json:"path"`
	Servers  int      `json:"servers"`
	Diff     string   `json:"diff" doc:"Changes to the configuration and to the client's file; secrets are masked"`
	Warnings []string `json:"warnings" nullable:"false"`
	Notes    []string `json:"notes" nullable:"false" doc:"Which servers become one with another or are renamed, and other sentences that need no attention"`
	Outside  string   `json:"outside" doc:"The file that would be changed, if the client's file is a link out of the home folder. It must be confirmed"`
}

// TakeoverSkip is a skipped client.
type TakeoverSkip struct {
	Client string `json:"client"`
	Reason string `json:"reason"`
}

// TakeoverRequest executes a plan that was shown.
type TakeoverRequest struct {
	Plan string `json:"plan" minLength:"1" maxLength:"64" doc:"Id of the plan that was shown; any other one is rejected"`

	Except []string `json:"except,omitempty" maxItems:"200" doc:"Keys of clients that stay as they are, as in the preview"`

	Outside []string `json:"outside,omitempty" doc:"Files outside the home folder that may be changed, as the plan names them"`
}

// TakeoverResult is the result for one client.
type TakeoverResult struct {
	Key     string `json:"key"`
	Name    string `json:"name"`
	Servers int    `json:"servers" doc:"Number of its servers that were moved"`
	Error   string `json:"error" doc:"Why it was not changed; empty on success"`
	Reload  string `json:"reload" doc:"How the client picks up the change, a sentence"`
}

// TakeoverUndone is the result of restoring one client.
type TakeoverUndone struct {
	Key    string `json:"key"`
	Result string `json:"result" doc:"restored, removed or wasAbsent; empty after an error"`
	Error  string `json:"error"`
}

type takeoverInput struct{ Body TakeoverRequest }

type takeoverUndoInput struct {
	Body struct {
		Keys []string `json:"keys" minItems:"1" maxItems:"200" doc:"Keys of the clients whose servers were moved"`
	}
}

type takeoverPlanInput struct {
	Except []string `query:"except" maxItems:"200" doc:"Keys of clients that stay as they are"`
}

func (f *Feature) planTakeover(_ context.Context, in *takeoverPlanInput) (*web.Answer[TakeoverPlan], error) {
	return web.Reply(takeoverPlan(f.Connector.PlanMoveAll(in.Except...)))
}

func takeoverPlan(t *Batch) TakeoverPlan {
	out := TakeoverPlan{Servers: t.ServerCount(), Clients: []TakeoverClient{}, Skipped: []TakeoverSkip{}}
	digest := sha256.New()
	for _, p := range t.Plans {
		if p.config != nil {
			out.Added += len(p.config.Servers)
		}
		out.Clients = append(out.Clients, TakeoverClient{
			Key: p.Key(), Name: p.Client.Name, Path: p.Path, Servers: p.MovedCount(), Diff: p.Diff,
			Warnings: append([]string{}, p.Warnings...), Notes: append([]string{}, p.Notes...), Outside: p.Outside(),
		})
		digest.Write([]byte(p.Key() + "\x00" + p.Diff + "\x00"))
	}
	for _, i := range t.Imports {
		one := TakeoverClient{Key: i.Client.ID, Name: i.Client.Name, Path: i.Path, Servers: len(i.config.Servers), Diff: i.Diff, Warnings: []string{}, Notes: []string{}}
		out.Added += len(i.config.Servers)
		for _, s := range i.Servers {
			for _, note := range s.Notes {
				one.Warnings = append(one.Warnings, s.Name+": "+note+".")
			}
		}
		for _, s := range i.Skipped {
			one.Warnings = append(one.Warnings, s.Name+" is skipped: "+s.Reason+".")
		}
		out.Clients = append(out.Clients, one)
		digest.Write([]byte(one.Key + "\x00" + i.Diff + "\x00"))
	}
	for _, s := range t.Skipped {
		out.Skipped = append(out.Skipped, TakeoverSkip(s))
	}
	out.Plan = hex.EncodeToString(digest.Sum(nil))
	return out
}

func (f *Feature) takeOver(ctx context.Context, in *takeoverInput) (*web.Answer[web.List[TakeoverResult]], error) {
	t := f.Connector.PlanMoveAll(in.Body.Except...)
	if takeoverPlan(t).Plan != in.Body.Plan {
		return nil, &core.Error{Code: core.CodeConflict, Retriable: true, Message: "a file has changed since the preview", Hint: "Nothing was written. Review it again."}
	}
	if err := checkOutside(in.Body.Outside, t.Plans...); err != nil {
		return nil, err
	}
	token := func(client string) error { // the client may start the shim immediately
		_, err := f.Tokens.CreateForEntry(client)
		return err
	}
	out := web.List[TakeoverResult]{Items: []TakeoverResult{}}
	_ = t.Apply(ctx, token, func(d ClientResult) { // each result has its own error
		one := TakeoverResult{Key: d.Client.ID, Name: d.Client.Name, Servers: d.Servers, Error: d.Reason()}
		if one.Error == "" {
			one.Reload = d.Client.ApplyHint()
		}
		out.Items = append(out.Items, one)
	})
	return web.Reply(out)
}

func (f *Feature) undoTakeover(ctx context.Context, in *takeoverUndoInput) (*web.Answer[web.List[TakeoverUndone]], error) {
	out := web.List[TakeoverUndone]{Items: []TakeoverUndone{}}
	moved := map[string]bool{}
	for _, s := range f.Connector.List() {
		moved[s.Key] = len(s.Choice.Servers) > 0
	}
	// A client that was disconnected since, and connected without a move, stays connected.
	keys := slices.DeleteFunc(slices.Clone(in.Body.Keys), func(key string) bool {
		has, known := moved[key]
		if known && !has {
			out.Items = append(out.Items, TakeoverUndone{Key: key, Result: string(WasAbsent)})
		}
		return known && !has
	})
	if len(keys) == 0 {
		return web.Reply(out)
	}
	failed := f.Connector.UndoKeys(ctx, keys, func(u UndoResult) {
		if u.Error == "" {
			if err := f.revokeUnused(u.Key); err != nil {
				u.Error = err.Error()
			}
		}
		out.Items = append(out.Items, TakeoverUndone{Key: u.Key, Result: string(u.Undone), Error: u.Error})
	})
	if failed != nil && len(out.Items) == 0 { // otherwise each result has its own error
		return nil, failed
	}
	return web.Reply(out)
}
