package bridge

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// eraOf returns the era of a request. A request is modern if its header names a modern revision or
// if its params have a protocol version in _meta. Either is sufficient, so that a request whose
// header and body disagree is refused as a modern one. Everything else is legacy, including an
// initialize without _meta that has modern headers.
func eraOf(header http.Header, p *wire.Params) core.Era {
	if headerValue(header, versionHeader) >= core.ModernVersion || !p.ProtocolVersion.Empty() {
		return core.Modern
	}
	return core.Legacy
}

// firstWithoutBatches is the first revision without JSON-RPC batches.
const firstWithoutBatches = "2025-06-18"

// admit checks a message before anything is done with it, and acquires its session, which the
// caller must release in any case. No other function checks the headers of a POST request, or the
// revision and the form of a message.
func (b *Bridge) admit(x *exchange) *rpcError {
	header, kind := x.request.Header, x.env.Kind
	switch {
	case kind == wire.Other:
		return newRefusal(http.StatusBadRequest, codeInvalidRequest, "the message is neither a request, a notification nor a response")
	case kind != wire.Batch && !x.env.HasVersion:
		return newRefusal(http.StatusBadRequest, codeInvalidRequest, `"jsonrpc":"2.0" is missing from the message`)
	case b.stopping.Load() && (kind == wire.Request || kind == wire.Batch):
		return newRefusal(http.StatusServiceUnavailable, codeRefused, "Drawbridge is stopping: try again when it runs")
	}
	if refusal := checkVersion(header, &x.params); refusal != nil {
		return refusal
	}
	if x.era == core.Legacy {
		if refusal := b.acquireSession(x); refusal != nil {
			return refusal
		}
	}
	switch kind {
	case wire.Request:
		return b.admitRequest(x)
	case wire.Batch:
		if headerValue(header, versionHeader) >= firstWithoutBatches {
			return newRefusal(http.StatusBadRequest, codeInvalidRequest, "batches are no longer supported as of revision "+firstWithoutBatches)
		}
	}
	return nil
}

func (b *Bridge) admitRequest(x *exchange) *rpcError {
	if document, stream := accepts(x.request.Header); !document || !stream {
		return newRefusal(http.StatusBadRequest, codeInvalidRequest, "Accept must contain both 'application/json' and 'text/event-stream'")
	}
	if x.request.Header["Last-Event-Id"] != nil {
		return newRefusal(http.StatusBadRequest, codeInvalidRequest, "Last-Event-ID must not be sent with a POST request")
	}
	if refusal := b.checkParams(x); refusal != nil || x.era == core.Legacy {
		return refusal
	}
	return b.checkModern(x)
}

// admitStream is admit for the GET request of a legacy client.
func (b *Bridge) admitStream(x *exchange) *rpcError {
	if refusal := checkVersion(x.request.Header, &x.params); refusal != nil {
		return refusal
	}
	if _, stream := accepts(x.request.Header); !stream {
		return newRefusal(http.StatusBadRequest, codeInvalidRequest, "Accept must contain 'text/event-stream'")
	}
	if x.request.Header["Last-Event-Id"] != nil {
		return newRefusal(http.StatusBadRequest, codeInvalidRequest, "streams are not resumed: send the request without Last-Event-ID")
	}
	return b.acquireSession(x)
}

// acquireSession sets the session of a legacy message. Before there is one, a client may only send
// some methods.
func (b *Bridge) acquireSession(x *exchange) *rpcError {
	id := headerValue(x.request.Header, sessionHeader)
	if id == "" {
		if m := b.methods[x.env.Method]; m != nil && m.withoutSession && x.env.Kind == wire.Request {
			return nil
		}
		return newRefusal(http.StatusBadRequest, codeInvalidRequest, "there is no session yet: send initialize first, then its Mcp-Session-Id with every request")
	}
	if x.session = b.sessions.acquire(id, x.origin.token, x.endpoint.path, b.Now()); x.session == nil {
		return newRefusal(http.StatusNotFound, codeNotFound, "the session is unknown or has ended")
	}
	return nil
}

// checkParams finds how a request is served, and checks that its params are an object, or absent
// where they may be.
func (b *Bridge) checkParams(x *exchange) *rpcError {
	raw := x.rawParams()
	x.served = b.methodOf(x)
	switch {
	case len(raw) > 0 && raw[0] == '{':
		return nil
	case len(raw) > 0 && raw[0] == '[':
		return newRefusal(http.StatusBadRequest, codeInvalidParams, "the params must be an object")
	case x.served != nil && x.served.needsParams:
		return newRefusal(http.StatusBadRequest, codeInvalidRequest, "the params are missing")
	}
	return nil
}

// supportedVersions are the supported protocol revisions, newest first.
var supportedVersions = []string{core.ModernVersion, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// legacyVersions are the protocol revisions that a legacy client may send in its version header.
var legacyVersions = func() map[string]bool {
	legacy := map[string]bool{}
	for _, version := range supportedVersions[1:] {
		legacy[version] = true
	}
	return legacy
}()

// checkVersion refuses an unknown revision in the header. A newer one that is in the body as well
// is left to checkModern.
func checkVersion(header http.Header, p *wire.Params) *rpcError {
	switch version := headerValue(header, versionHeader); {
	case version == "", version == core.ModernVersion, legacyVersions[version], version > core.ModernVersion && !p.ProtocolVersion.Empty():
		return nil
	case version > core.ModernVersion:
		return unsupportedVersion(codeBadVersion, version)
	default: // a legacy client does not know codeBadVersion
		return unsupportedVersion(codeInvalidRequest, version)
	}
}

// maxShownVersion is the number of bytes of an unknown protocol version that are shown.
const maxShownVersion = 40

func unsupportedVersion(code int, version string) *rpcError {
	version = strings.ToValidUTF8(version[:min(len(version), maxShownVersion)], "")
	text := fmt.Sprintf("the protocol version %q is not supported. Supported versions: %s", version, strings.Join(supportedVersions, ", "))
	refusal := newRefusal(http.StatusBadRequest, code, text)
	if code == codeBadVersion {
		data, _ := json.Marshal(mcp.UnsupportedProtocolVersionData{Supported: supportedVersions, Requested: version})
		refusal.object = wire.ErrorObject(code, text, data)
	}
	return refusal
}

// checkModern checks that the headers of a modern request match its body, and that it has the
// required _meta.
func (b *Bridge) checkModern(x *exchange) *rpcError {
	header, raw, p := x.request.Header, x.rawParams(), &x.params
	version := headerValue(header, versionHeader)
	if version != core.ModernVersion || string(wire.Bytes(raw, p.ProtocolVersion)) != `"`+core.ModernVersion+`"` {
		switch inBody, _ := wire.Unquote(wire.Bytes(raw, p.ProtocolVersion)); {
		case version == "":
			return mismatch("the header MCP-Protocol-Version is missing")
		case inBody == "":
			return missingMeta(wire.MetaProtocolVersion)
		case inBody != version:
			return mismatch("the header MCP-Protocol-Version does not match the revision in _meta")
		case version != core.ModernVersion:
			return unsupportedVersion(codeBadVersion, version)
		}
	}
	if headerValue(header, methodHeader) != x.env.Method {
		return mismatch("the header Mcp-Method must contain the method")
	}
	if can := wire.Bytes(raw, p.ClientCapabilities); len(can) == 0 || can[0] != '{' {
		return missingMeta(wire.MetaClientCapabilities)
	}
	if info := wire.Bytes(raw, p.ClientInfo); len(info) > 0 && info[0] != '{' {
		return missingMeta(wire.MetaClientInfo)
	}
	return b.checkNames(x)
}

// checkNames compares the headers that repeat parts of the params of a modern request.
func (b *Bridge) checkNames(x *exchange) *rpcError {
	header, raw, p := x.request.Header, x.rawParams(), &x.params
	name := wire.NameHeaderValue(x.env.Method, raw, p)
	if name == "" && !inputMethods[x.env.Method] {
		return nil // the method has no name, or its params have none
	}
	if given, ok := wire.HeaderText(headerValue(header, nameHeader)); !ok || given == "" || given != name {
		return mismatch("the header Mcp-Name must contain the name, the URI or the id of the task in the params")
	}
	if x.env.Method != "tools/call" {
		return nil
	}
	// What the client does not see has no headers: they would reveal that it exists.
	tool, _ := b.views.of(x.endpoint, x.origin.token).Lookup(core.Tools, name)
	list, _ := wire.HeaderParams(tool.Raw)
	for _, param := range list {
		if !param.Matches(wire.Bytes(raw, p.Arguments), headerValue(header, param.Header)) {
			return mismatch("the header " + param.Header + " does not match the argument " + strings.Join(param.Path, "."))
		}
	}
	return nil
}

func mismatch(message string) *rpcError {
	return newRefusal(http.StatusBadRequest, codeHeaderMismatch, message)
}

func missingMeta(key string) *rpcError {
	return newRefusal(http.StatusBadRequest, codeInvalidParams, fmt.Sprintf("missing or invalid _meta field %q", key))
}

const (
	versionHeader = "Mcp-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"
	methodHeader  = "Mcp-Method"
	nameHeader    = "Mcp-Name"
)

// headerValue is [http.Header.Get] for a key in canonical form. It does not canonicalize the key,
// because Get checks every letter.
func headerValue(header http.Header, key string) string {
	if v := header[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// accepts reports whether the client accepts a JSON document and an event stream. The protocol
// requires both for every POST request.
func accepts(header http.Header) (document, stream bool) {
	for _, value := range header["Accept"] {
		if value == "application/json, text/event-stream" {
			return true, true
		}
		for part := range strings.SplitSeq(value, ",") {
			kind, _, _ := strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(kind)) {
			case "application/json", "application/*":
				document = true
			case "text/event-stream", "text/*":
				stream = true
			case "*/*":
				return true, true
			}
		}
	}
	return document, stream
}

func isJSON(header http.Header) bool {
	v := headerValue(header, "Content-Type")
	if v == "application/json" {
		return true
	}
	kind, _, err := mime.ParseMediaType(v)
	return err == nil && kind == "application/json"
}
