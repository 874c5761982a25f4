package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// Send sends call to the server in the era of the connection and returns the raw reply. It sets
// call.Instance and call.ServedBy, and changes nothing else in call. Messages that belong to the
// call are passed to sink, which may be nil, before Send returns.
//
// The _meta members that a modern server requires are added to a legacy call, and removed from a
// modern call to a legacy server. The result is unchanged: a modern result has a resultType,
// whatever the era of the call. The modern era has no request for a subscription to a resource: it
// becomes part of subscriptions/listen.
func (c *Conn) Send(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
	call.Instance, call.ServedBy = c.id, c.servedBy(call)
	if isSubscription(call.Method) && c.era == core.Modern {
		c.recordSubscription(call)
		return core.Reply{Result: []byte(`{}`)}, nil
	}
	if call.Method == core.SubscribeTask || call.Method == core.UnsubscribeTask {
		c.recordTaskSubscription(call)
		return core.Reply{Result: []byte(`{}`)}, nil
	}
	params, token, known := []byte(call.Params), call.ProgressToken, false
	switch {
	case c.era == core.Modern && call.Era == core.Modern && call.HasModernMeta:
	case c.era == core.Modern:
		params = c.addModernMeta(params, call)
	case call.Era == core.Modern && !call.Meta.Empty():
		params, token = removeModernMetaAt(params, call.Meta, token)
		known = true
	case call.Era == core.Modern:
		params = removeModernMeta(params)
	}
	if call.Era == core.Modern && c.era == core.Legacy && call.Method == "tools/call" && wire.MentionsTask(params) {
		// It would create a task of 2025-11-25, which a modern client cannot fetch.
		if without, err := wire.WithoutMember(params, "task"); err == nil {
			params, known = without, false
		}
	}
	if len(params) != len(call.Params) && !known { // the params were changed
		p, err := wire.ScanParams(params)
		if err != nil {
			return core.Reply{}, &core.Error{Code: core.CodeValidation, Message: "cannot parse the parameters", Cause: err}
		}
		token = p.ProgressToken
	}
	if call.OneWay {
		return core.Reply{Result: []byte(`{}`)}, c.t.Notify(ctx, call.Method, params)
	}
	reply, err := core.Reply{}, error(nil)
	if c.remote != nil {
		reply, err = c.remote.CallWith(ctx, c.paramHeaders(call), call.Method, params, token, sink)
	} else {
		reply, err = c.t.Call(ctx, call.Method, params, token, sink)
	}
	if err == nil && len(reply.Error) == 0 && isSubscription(call.Method) {
		c.recordSubscription(call)
	}
	return reply, err
}

// Ping checks that the server responds. Any response counts, even an error, except an error about a
// lost session.
func (c *Conn) Ping(ctx context.Context) error {
	method, params := "ping", []byte(nil)
	if c.era == core.Modern {
		method, params = "server/discover", c.addModernMeta(nil, nil)
	}
	_, err := c.request(ctx, method, params)
	if answer, ok := errors.AsType[*rpcError](err); ok && !answer.Data.Undelivered {
		return nil
	}
	return err
}

// addModernMeta returns params with the _meta members that every modern request requires. Existing
// members are unchanged. call is nil for requests of Drawbridge itself.
func (c *Conn) addModernMeta(params []byte, call *core.Call) []byte {
	p, err := wire.ScanParams(params)
	if err != nil {
		return params // the server will respond with an error
	}
	info, capabilities, level := c.o.ClientInfo, c.o.Capabilities, ""
	if call != nil {
		if call.Client.Name != "" {
			info = clientInfo(call.Client)
		}
		if len(call.Capabilities) > 0 {
			capabilities = call.Capabilities
		}
		level = call.LogLevel
	}
	var add []byte
	field := func(present core.Span, key string, value []byte) {
		if present.Empty() && len(value) > 0 {
			add = append(append(append(append(append(add, ','), '"'), key...), `":`...), value...)
		}
	}
	field(p.ProtocolVersion, wire.MetaProtocolVersion, []byte(`"`+core.ModernVersion+`"`))
	field(p.ClientInfo, wire.MetaClientInfo, info)
	field(p.ClientCapabilities, wire.MetaClientCapabilities, capabilities)
	if level != "" {
		field(p.LogLevel, wire.MetaLogLevel, wire.AppendString(nil, level))
	}
	if len(add) == 0 {
		return params
	}
	return addToMeta(params, p.Meta, add)
}

func clientInfo(client core.Client) []byte {
	raw := wire.AppendString([]byte(`{"name":`), client.Name)
	raw = wire.AppendString(append(raw, `,"version":`...), client.Version)
	return append(raw, '}')
}

// addToMeta inserts members into the _meta of params, which is at the span meta. Each member begins
// with a comma. Missing objects are created.
func addToMeta(params []byte, meta core.Span, members []byte) []byte {
	if !meta.Empty() && params[meta.Start] == '{' {
		if emptyObject(wire.Bytes(params, meta)) {
			members = members[1:]
		}
		at := core.Span{Start: meta.End - 1, End: meta.End - 1}
		return wire.Splice(nil, params, wire.Edit{Span: at, With: members})
	}
	object := append(append([]byte(`{`), members[1:]...), '}')
	if !meta.Empty() { // "_meta":null
		return wire.Splice(nil, params, wire.Edit{Span: meta, With: object})
	}
	object = append([]byte(`"_meta":`), object...)
	start := 0
	for start < len(params) && params[start] != '{' {
		start++
	}
	if start == len(params) || emptyObject(params[start:]) {
		return append(append([]byte(`{`), object...), '}')
	}
	at := core.Span{Start: start + 1, End: start + 1}
	return wire.Splice(nil, params, wire.Edit{Span: at, With: append(object, ',')})
}

func emptyObject(object []byte) bool {
	empty := true
	_ = wire.Members(object, func(wire.Member) error { empty = false; return nil })
	return empty
}

// removeModernMeta returns params without the _meta members of the modern era.
func removeModernMeta(params []byte) []byte {
	p, err := wire.ScanParams(params)
	if err != nil {
		return params
	}
	params, _ = removeModernMetaAt(params, p.Meta, core.Span{})
	return params
}

// removeModernMetaAt is removeModernMeta with known spans of _meta and of the progress token in it.
// It returns the new span of the token.
func removeModernMetaAt(params []byte, at, token core.Span) ([]byte, core.Span) {
	if at.Empty() || params[at.Start] != '{' {
		return params, token
	}
	meta := wire.Bytes(params, at)
	kept, dropped := make([]byte, 1, len(meta)), false
	kept[0] = '{'
	now := token
	_ = wire.Members(meta, func(m wire.Member) error {
		switch string(m.Name) {
		case wire.MetaProtocolVersion, wire.MetaClientInfo, wire.MetaClientCapabilities, wire.MetaLogLevel:
			dropped = true
			return nil
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		if token.Start == at.Start+m.Value.Start {
			start := at.Start + len(kept) + m.Value.Start - m.Key.Start
			now = core.Span{Start: start, End: start + m.Value.End - m.Value.Start}
		}
		kept = append(kept, meta[m.Key.Start:m.Value.End]...)
		return nil
	})
	if !dropped {
		return params, token
	}
	out := make([]byte, 0, at.Start+len(kept)+1+len(params)-at.End)
	out = append(append(out, params[:at.Start]...), kept...)
	return append(append(out, '}'), params[at.End:]...), now
}

// servedBy has what answers the calls of a connection while its catalog is the same. It is
// immutable: a further tool replaces it.
type servedBy struct {
	catalog *core.Catalog
	server  *core.ServedBy
	tools   map[string]*core.ServedBy
}

// SetPackage sets the package, with its version, that the server runs. It must be called before
// the first Send.
func (c *Conn) SetPackage(name string) { c.packageName = name }

// servedBy returns what answers call. The hash of a tool is computed for its first call.
func (c *Conn) servedBy(call *core.Call) *core.ServedBy {
	now, catalog := c.served.Load(), c.Catalog()
	if now == nil || now.catalog != catalog {
		now = &servedBy{catalog: catalog, server: c.describeServer()}
		c.served.Store(now)
	}
	if call.Method != "tools/call" || c.o.DefinitionHash == nil {
		return now.server
	}
	if known, ok := now.tools[call.Name]; ok {
		return known
	}
	tool := *now.server
	for i := range catalog.Tools {
		if catalog.Tools[i].Name == call.Name {
			tool.Definition = c.o.DefinitionHash(catalog.Tools[i].Raw)
		}
	}
	next := *now
	next.tools = maps.Clone(now.tools)
	if next.tools == nil || len(next.tools) > maxItems { // a client may call tools that do not exist
		next.tools = map[string]*core.ServedBy{}
	}
	next.tools[call.Name] = &tool
	c.served.Store(&next) // another call may have added its tool meanwhile: its next one adds it again
	return &tool
}

// maxVersion limits what a server reports about itself, in bytes.
const maxVersion = 200

func (c *Conn) describeServer() *core.ServedBy {
	var info struct{ Name, Version string }
	_ = json.Unmarshal(c.handshake.info, &info) // a malformed one leaves both empty
	short := func(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxVersion)], "") }
	return &core.ServedBy{Name: short(info.Name), Version: short(info.Version), Package: c.packageName}
}

// paramHeaders returns the Mcp-Param headers of a call, or nil.
func (c *Conn) paramHeaders(call *core.Call) http.Header {
	all := c.headerParams.Load()
	if all == nil || call.Method != "tools/call" {
		return nil
	}
	p, err := wire.ScanParams(call.Params)
	if err != nil {
		return nil
	}
	name, _ := wire.Unquote(wire.Bytes(call.Params, p.Name))
	list := (*all)[name]
	if len(list) == 0 {
		return nil
	}
	var params struct {
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(call.Params, &params) != nil {
		return nil
	}
	header := http.Header{}
	for _, b := range list {
		if text, ok := b.Argument(params.Arguments); ok {
			header[b.Header] = []string{wire.HeaderValue(text)}
		}
	}
	return header
}
