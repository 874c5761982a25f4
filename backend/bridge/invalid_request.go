package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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

// refuseParamsArray refuses a request whose params are an array, which MCP does not allow.
func refuseParamsArray(w http.ResponseWriter, x *exchange) (refused bool) {
	if raw := x.rawParams(); x.env.Kind != wire.Request || len(raw) == 0 || raw[0] != '[' {
		return false
	}
	writeError(w, http.StatusBadRequest, x.id(), codeInvalidParams, "the params must be an object")
	return true
}

// refuseUnknownVersion refuses a message with a version header that is newer than every supported
// revision. If the message also has a version in _meta, go-sdk refuses it.
func refuseUnknownVersion(w http.ResponseWriter, x *exchange) (refused bool) {
	version := headerValue(x.request.Header, versionHeader)
	if version <= core.ModernVersion || !x.params.ProtocolVersion.Empty() {
		return false
	}
	version = strings.ToValidUTF8(version[:min(len(version), maxShownVersion)], "")
	text := fmt.Sprintf("the protocol version %q in the header MCP-Protocol-Version is not supported. Supported versions: %s", version, strings.Join(supportedVersions, ", "))
	data, _ := json.Marshal(mcp.UnsupportedProtocolVersionData{Supported: supportedVersions, Requested: version})
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(wire.AppendError(nil, x.id(), mcp.CodeUnsupportedProtocolVersion, text, data))
	return true
}

// maxShownVersion is the number of bytes of an unknown protocol version that are shown.
const maxShownVersion = 40

var sdkTypeMark = []byte(" into a *mcp.")

// withoutSDKTypes replaces the error with which go-sdk refuses params that do not match the schema
// of the protocol, because it names types of Go. p is a response, or an event with one.
func (sw *sdkWriter) withoutSDKTypes(p []byte) []byte {
	if sw.exchange.message == nil || !bytes.Contains(p, sdkTypeMark) {
		return p
	}
	from, to := bytes.IndexByte(p, '{'), bytes.LastIndexByte(p, '}')
	if from < 0 || to < from {
		return p
	}
	msg := p[from : to+1]
	env, err := wire.Scan(msg)
	if err != nil || env.Kind != wire.Response || env.Error.Empty() {
		return p
	}
	out := wire.AppendError(bytes.Clone(p[:from]), wire.Bytes(msg, env.ID), codeInvalidParams,
		fmt.Sprintf("the params of %q do not match the schema of the protocol", sw.exchange.env.Method), nil)
	return append(out, p[to+1:]...)
}
