package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// handshake is what the server declared during the handshake.
type handshake struct {
	capabilities json.RawMessage
	info         json.RawMessage
	instructions string
	offers       map[core.Kind]bool
	notifies     map[core.Kind]bool // the server announces changes of the list
	logs         bool
}

// rpcError is a JSON-RPC error in response to a request of Drawbridge itself.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    struct {
		Supported   []string `json:"supported"`   // with codeUnsupportedVersion
		Undelivered bool     `json:"undelivered"` // the server did not process the request
	} `json:"data"`
}

// codeUnsupportedVersion means that the server does not support the protocol version of the
// request.
const codeUnsupportedVersion = -32022

// suggestsModernVersion reports whether the server refused a version but lists ours as supported.
func suggestsModernVersion(err error) bool {
	answer, ok := errors.AsType[*rpcError](err)
	return ok && answer.Code == codeUnsupportedVersion && slices.Contains(answer.Data.Supported, core.ModernVersion)
}

func (e *rpcError) Error() string {
	return fmt.Sprintf("the server responded with error %d: %.200s", e.Code, e.Message)
}

// request sends a request of Drawbridge itself and returns the raw result.
func (c *Conn) request(ctx context.Context, method string, params []byte) (json.RawMessage, error) {
	reply, err := c.t.Call(ctx, method, params, core.Span{}, nil)
	if err != nil {
		return nil, err
	}
	if reply.Error != nil {
		e := &rpcError{}
		// Ignore error data of another shape.
		if err := json.Unmarshal(reply.Error, e); err != nil && e.Message == "" {
			e.Message = "a malformed error"
		}
		return nil, e
	}
	return reply.Result, nil
}

func (c *Conn) initialize(ctx context.Context) error {
	c.setEra(core.Legacy, "")
	var params bytes.Buffer
	fmt.Fprintf(&params, `{"protocolVersion":%q,"capabilities":%s,"clientInfo":%s}`, core.LegacyVersion, c.o.Capabilities, c.o.ClientInfo)
	raw, err := c.request(ctx, "initialize", params.Bytes())
	if err != nil {
		return err
	}
	var result struct {
		ProtocolVersion string          `json:"protocolVersion"`
		Capabilities    json.RawMessage `json:"capabilities"`
		ServerInfo      json.RawMessage `json:"serverInfo"`
		Instructions    json.RawMessage `json:"instructions"`
	}
	if err := decodeResult("initialize", raw, &result); err != nil {
		return err
	}
	c.setEra(core.Legacy, result.ProtocolVersion)
	c.storeHandshake(result.Capabilities, result.ServerInfo, result.Instructions)
	if err := c.t.Notify(ctx, "notifications/initialized", nil); err != nil {
		return err
	}
	if c.handshake.logs {
		c.running.Go(c.requestAllLogs)
	}
	return nil
}

const setLevelTimeout = 10 * time.Second

// requestAllLogs requests log messages of all levels: they are filtered for each client of a shared
// connection, and many servers send none until a level is set. Nothing depends on the response.
func (c *Conn) requestAllLogs() {
	ctx, cancel := context.WithTimeout(context.Background(), setLevelTimeout)
	defer cancel()
	if _, err := c.request(ctx, "logging/setLevel", []byte(`{"level":"debug"}`)); err != nil {
		c.o.Log.Debug("Cannot set the log level", "server", c.o.Server, "error", err)
	}
}

func (c *Conn) discover(ctx context.Context) error {
	c.setEra(core.Modern, core.ModernVersion)
	raw, err := c.request(ctx, "server/discover", c.addModernMeta(nil, nil))
	if suggestsModernVersion(err) {
		raw, err = c.request(ctx, "server/discover", c.addModernMeta(nil, nil))
	}
	if err != nil {
		return err
	}
	var result struct {
		Versions     []string                   `json:"supportedVersions"`
		Capabilities json.RawMessage            `json:"capabilities"`
		Instructions json.RawMessage            `json:"instructions"`
		Meta         map[string]json.RawMessage `json:"_meta"`
	}
	if err := decodeResult("server/discover", raw, &result); err != nil {
		return err
	}
	if len(result.Versions) == 0 {
		return fmt.Errorf("the server lists no protocol version")
	}
	found := false
	for _, v := range result.Versions {
		found = found || v == core.ModernVersion
	}
	if !found {
		return fmt.Errorf("the server supports only protocol versions that Drawbridge does not support: %.100q", result.Versions)
	}
	c.storeHandshake(result.Capabilities, result.Meta[wire.MetaServerInfo], result.Instructions)
	return nil
}

// storeHandshake stores what the server declared. Malformed values are ignored.
func (c *Conn) storeHandshake(capabilities, info, instructions json.RawMessage) {
	h := handshake{capabilities: capabilities, info: info, offers: map[core.Kind]bool{}, notifies: map[core.Kind]bool{}}
	_ = json.Unmarshal(instructions, &h.instructions)
	var declared map[string]json.RawMessage
	_ = json.Unmarshal(capabilities, &declared)
	h.logs = len(declared["logging"]) > 0 && declared["logging"][0] == '{'
	for key, kinds := range map[string][]core.Kind{
		"tools": {core.Tools}, "prompts": {core.Prompts}, "resources": {core.Resources, core.Templates},
	} {
		value, ok := declared[key]
		if !ok || string(value) == "null" || string(value) == "false" {
			continue
		}
		var detail struct {
			ListChanged bool `json:"listChanged"`
		}
		_ = json.Unmarshal(value, &detail)
		for _, kind := range kinds {
			h.offers[kind] = true
			h.notifies[kind] = detail.ListChanged
		}
	}
	c.handshake = h
}

// Offers reports whether the server declared the capability for this kind.
func (c *Conn) Offers(kind core.Kind) bool { return c.handshake.offers[kind] }

// malformedResultError reports a result of the server that does not have the form that MCP
// requires.
type malformedResultError struct{ method, reason string }

func (e *malformedResultError) Error() string {
	return fmt.Sprintf("the server's response to %s is not valid: %s", e.method, e.reason)
}

// decodeResult decodes the result of method, which must be an object, into result. Its errors
// describe JSON values, not Go types.
func decodeResult(method string, raw json.RawMessage, result any) error {
	if kind := jsonKind(raw); kind != "an object" {
		return &malformedResultError{method, "expected an object, found " + kind}
	}
	err := json.Unmarshal(raw, result)
	if err == nil {
		return nil
	}
	reason := "it is not valid JSON"
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		reason = fmt.Sprintf("expected %s in %q, found %s", requiredKind(mismatch.Type), mismatch.Field, article(mismatch.Value))
	}
	return &malformedResultError{method, reason}
}

// jsonKind returns the type of a JSON value, with its article.
func jsonKind(raw []byte) string {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

func requiredKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Bool:
		return "a boolean"
	}
	return "a number"
}

// article returns the JSON type that json.UnmarshalTypeError names, such as "object" or "number 5",
// with its article.
func article(value string) string {
	kind, _, _ := strings.Cut(value, " ")
	switch kind {
	case "object", "array":
		return "an " + kind
	case "bool":
		return "a boolean"
	}
	return "a " + kind
}

// checkTransportSecurity refuses plain http to any other machine. The host is parsed, because a
// name can begin like a loopback address.
func (r *Remote) checkTransportSecurity(server string) error {
	u, err := url.Parse(r.URL)
	if err != nil || u.Scheme != "http" || r.AllowInsecure || isLoopback(u.Hostname()) {
		return nil // invalid URLs are refused elsewhere
	}
	return &core.Error{
		Code:    core.CodeValidation,
		Message: fmt.Sprintf("cannot reach server %q: its url uses plain http to another machine", server),
		Hint:    `Use https, or set "allowInsecure": true if you trust the network in between.`,
		Remedy:  core.EditConfig("url"),
		Fields:  []core.FieldError{{Field: "url", Error: "uses plain http to another machine"}},
	}
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback() && address.Zone() == ""
}
