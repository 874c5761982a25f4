package bridge

import (
	"crypto/sha256"
	"encoding/base64"
	"mime"
	"net/http"
	"strings"
)

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

const (
	base64Open  = "=?base64?"
	base64Close = "?="
)

// normalizeName decodes the base64 form of Mcp-Name in place, because go-sdk compares the header
// without decoding it. It returns false if the value has the base64 form but cannot be decoded.
func normalizeName(header http.Header) bool {
	values := header[nameHeader]
	if len(values) == 0 {
		return true
	}
	inner, ok := strings.CutPrefix(values[0], base64Open)
	if !ok {
		return true
	}
	if inner, ok = strings.CutSuffix(inner, base64Close); !ok {
		return true
	}
	plain, err := base64.StdEncoding.DecodeString(inner)
	if err != nil {
		return false
	}
	header[nameHeader] = []string{string(plain)}
	return true
}

// acceptsJSONAndStream reports whether the client accepts both a JSON document and an event stream,
// which the protocol requires for every POST.
func acceptsJSONAndStream(header http.Header) bool {
	var document, stream bool
	for _, value := range header["Accept"] {
		if value == "application/json, text/event-stream" {
			return true
		}
		for part := range strings.SplitSeq(value, ",") {
			kind, _, _ := strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(kind)) {
			case "application/json", "application/*":
				document = true
			case "text/event-stream", "text/*":
				stream = true
			case "*/*":
				return true
			}
		}
	}
	return document && stream
}

func isJSON(header http.Header) bool {
	v := headerValue(header, "Content-Type")
	if v == "application/json" {
		return true
	}
	kind, _, err := mime.ParseMediaType(v)
	return err == nil && kind == "application/json"
}

const (
	// privatePrefix is the prefix of the headers that only Drawbridge sets. The loopback guard
	// removes them from incoming requests, except those of the shim.
	privatePrefix = "X-Drawbridge-"
	// ClientHeader is the name of the client's token. The loopback guard sets it after
	// authentication.
	ClientHeader = privatePrefix + "Client"
	// ShimHeader identifies the stdio shim that forwards the request. It is not verified.
	ShimHeader = privatePrefix + "Shim"
	// ticketHeader links a call of go-sdk's middleware to the exchange of its request. A context
	// cannot do so, because the SDK passes the context of the first request of the session.
	ticketHeader = privatePrefix + "Ticket"
)

// requestOrigin is the verified client and the shim that a request comes from.
type requestOrigin struct {
	token string // name of the token; "" without one
	shim  string
	// workspace is the folder in which the shim was started, or the client works.
	workspace string
	// credential identifies the token, which may be replaced later.
	credential [sha256.Size]byte
}

// readOrigin reads the private headers of a request and removes all of them.
func readOrigin(header http.Header) requestOrigin {
	origin := requestOrigin{token: headerValue(header, ClientHeader), shim: headerValue(header, ShimHeader), workspace: decodeWorkspace(headerValue(header, WorkspaceHeader))}
	for name := range header {
		if len(name) > len(privatePrefix) && strings.EqualFold(name[:len(privatePrefix)], privatePrefix) {
			delete(header, name)
		}
	}
	return origin
}
