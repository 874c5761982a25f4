package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/trust"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
)

// Trust reports trusted definitions and changes; *trust.Baseline implements it.
type Trust interface {
	Changes(ctx context.Context, server string) ([]trust.ToolChange, error)
	Waiting() []trust.ToolChange
	ToolStatuses(server string) map[string]trust.ToolStatus
	Instructions(server string) (trust.ToolStatus, bool)
	Decide(ctx context.Context, d trust.Decision) error
	Events(ctx context.Context, server string, before int64, limit int) ([]trust.Event, int64, error)
	Compare(ctx context.Context, server string, tools []core.Item) ([]trust.ToolChange, error)
	AcceptInAdvance(ctx context.Context, server string, tools []core.Item, why string) error
	Rename(ctx context.Context, from, to string, move func() error) error
}

// changed is the kind of changed tools. They are not items of the inbox, because they have no
// deadline.
const changed approvals.Kind = "tools"

// ToolTrust is the trust state of a tool.
type ToolTrust struct {
	Server     string `json:"server"`
	Tool       string `json:"tool" doc:"The server's own name for the tool; empty for the server's instructions"`
	PublicName string `json:"publicName" doc:"Empty while the tool is withheld from clients"`
	trust.ToolStatus
}

func (a *API) registerTrust(r *web.Router) {
	web.Op(r, "GET", "/api/v1/tool-changes", "Tools that are withheld because they changed or were blocked, with their changes", a.toolChanges)
	web.Op(r, "POST", "/api/v1/tool-changes", "Accept a tool change, always accept changes, block a tool, or require approval again", a.answerTool)
	web.Op(r, "GET", "/api/v1/tool-changes/log", "Log of tool definition changes, newest first", a.toolLog)
	web.Op(r, "GET", "/api/v1/tool-trust", "Tools that are new, withheld, suspicious, or always accepted", a.toolTrust)
}

type trustInput struct {
	Server string `query:"server" maxLength:"256" server:"name" doc:"Only this server, by id or name"`
}

func (a *API) toolChanges(ctx context.Context, in *trustInput) (*web.Answer[web.List[trust.ToolChange]], error) {
	list, err := a.Trust.Changes(ctx, in.Server)
	if err != nil {
		return nil, err
	}
	return web.Reply(web.List[trust.ToolChange]{Items: list})
}

// AnswerToolInputBody answers one changed definition.
type AnswerToolInputBody struct {
	Server string `json:"server" minLength:"1" maxLength:"256" server:"name" doc:"Server id or name"`
	Kind   string `json:"kind,omitempty" enum:"tool,instructions,prompt,resource,template" doc:"Default: tool"`
	Tool   string `json:"tool,omitempty" maxLength:"1024" doc:"The server's own name for the tool or prompt, or a URI"`
	Action string `json:"action" enum:"accept,always,block,ask" doc:"always also accepts all later changes; ask undoes always and block"`
	Hash   string `json:"hash,omitempty" maxLength:"64" doc:"newHash of the reviewed change; if it has changed since, the response is a conflict"`
}

type answerToolInput struct{ Body AnswerToolInputBody }

func (a *API) answerTool(ctx context.Context, in *answerToolInput) (*web.None, error) {
	b := in.Body
	if b.Kind == "" {
		b.Kind = trust.Tool
	}
	if err := a.Trust.Decide(ctx, trust.Decision{Server: b.Server, Kind: b.Kind, Name: b.Tool, Hash: b.Hash, Action: b.Action}); err != nil {
		return nil, err
	}
	a.waiting.publishChanges(a.Bus, a.pendingWithoutDeadline)
	return &web.None{}, nil
}

type toolLogInput struct {
	Server string `query:"server" maxLength:"256" server:"name" doc:"Only this server, by id or name"`
	Before string `query:"before" pattern:"^[0-9]{0,18}$" doc:"The value of 'next' in the previous page"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100"`
}

func (a *API) toolLog(ctx context.Context, in *toolLogInput) (*web.Answer[web.List[trust.Event]], error) {
	before := web.ParseID(in.Before)
	events, next, err := a.Trust.Events(ctx, in.Server, before, in.Limit)
	if err != nil {
		return nil, err
	}
	return web.Reply(web.List[trust.Event]{Items: events, Next: web.NextPage(next)})
}

func (a *API) toolTrust(_ context.Context, in *trustInput) (*web.Answer[web.List[ToolTrust]], error) {
	list := web.List[ToolTrust]{Items: []ToolTrust{}}
	view := a.Views.All()
	public := map[[2]string]string{}
	for _, item := range view.Items(core.Tools) {
		public[[2]string{item.Server, item.Name}] = item.Public
	}
	for _, offer := range view.Offers() {
		if offer.Catalog == nil || in.Server != "" && offer.Server != in.Server {
			continue
		}
		standings := a.Trust.ToolStatuses(offer.Server)
		for _, tool := range offer.Catalog.Tools {
			if st, ok := standings[tool.Name]; ok && needsAttention(st) {
				list.Items = append(list.Items, ToolTrust{offer.Server, tool.Name, public[[2]string{offer.Server, tool.Name}], st})
			}
		}
		if st, ok := a.Trust.Instructions(offer.Server); ok && needsAttention(st) {
			list.Items = append(list.Items, ToolTrust{Server: offer.Server, ToolStatus: st})
		}
	}
	return web.Reply(list)
}

// withheld reports whether a tool is hidden from clients because its definition changed.
func (a *API) withheld(server, tool string) bool {
	view, ok := a.Views.Server(server)
	if !ok {
		return false
	}
	_, held := view.Withheld(core.Tools, tool)
	return held
}

func needsAttention(st trust.ToolStatus) bool {
	return st.New || st.Always || st.Withheld != "" || len(st.Warnings) > 0
}

// changedTools returns one pending approval for each server with changed tools.
func (a *API) changedTools() []approvals.Item {
	var list []approvals.Item
	for from, all := 0, a.Trust.Waiting(); from < len(all); {
		to := from
		for to < len(all) && all[to].Server == all[from].Server {
			to++
		}
		list = append(list, toolsItem(all[from:to]))
		from = to
	}
	return list
}

// toolsItem identifies the changes of one server by their content, so that an answer applies to
// exactly the changes that the user saw.
func toolsItem(changes []trust.ToolChange) approvals.Item {
	var names, warnings []string
	at := changes[0].At
	for _, c := range changes {
		name := c.Name
		switch c.Kind {
		case trust.Tool:
		case trust.Instructions:
			name = "its instructions"
		default:
			name = c.Kind + " " + name
		}
		if len(names) < 5 {
			names = append(names, name)
		}
		for _, w := range c.Warnings {
			if len(warnings) < 5 {
				warnings = append(warnings, name+": "+w.Reason)
			}
		}
		if c.At.Before(at) {
			at = c.At
		}
	}
	text := strings.Join(names, ", ")
	if more := len(changes) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	text = "Changed since you trusted it, and withheld from clients: " + text
	if len(warnings) > 0 {
		text += "\n" + strings.Join(warnings, "\n")
	}
	return approvals.Item{ID: "tools:" + changes[0].Server + ":" + changesKey(changes), Kind: changed, Server: changes[0].Server, Message: trust.Visible(text), At: at.UTC().Truncate(time.Microsecond)}
}

func changesKey(changes []trust.ToolChange) string {
	sum := sha256.New()
	for _, c := range changes {
		fmt.Fprintf(sum, "%s\x00%s\x00%s\x00", c.Kind, c.Name, c.NewHash)
	}
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

// answerTools accepts all changes of a server that the user saw. Any other answer leaves them
// pending: single changes are answered elsewhere.
func (a *API) answerTools(ctx context.Context, id, action string) error {
	server, key, _ := strings.Cut(id, ":")
	changes := slices.DeleteFunc(a.Trust.Waiting(), func(c trust.ToolChange) bool { return c.Server != server })
	if len(changes) == 0 || changesKey(changes) != key {
		return &core.Error{Code: core.CodeNotFound, Message: "these changes are no longer pending", Hint: "Review the changes that are pending now."}
	}
	if action != approvals.Accept {
		return nil
	}
	for _, c := range changes {
		if err := a.Trust.Decide(ctx, trust.Decision{Server: server, Kind: c.Kind, Name: c.Name, Hash: c.NewHash, Action: trust.DecideAccept}); err != nil {
			return err
		}
	}
	a.waiting.publishEnd(a.Bus, "tools:"+id, approvals.Accept)
	return nil
}
