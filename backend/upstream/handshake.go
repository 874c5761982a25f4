package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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

// setLevelTimeout is the timeout of logging/setLevel.
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
