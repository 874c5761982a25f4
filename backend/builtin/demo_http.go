package builtin

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// maxBody is the maximum size of a request body in bytes.
const maxBody = 4 << 20

// DemoHandler serves the demo server over streamable HTTP, in both protocol eras, at any path. It
// serves this machine only: requests with a foreign Host or Origin header are rejected.
func DemoHandler() http.Handler {
	server := newDemoServer()
	pick := func(*http.Request) *mcp.Server { return server }
	// An SDK handler serves one era only.
	modern := mcp.NewStreamableHTTPHandler(pick, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	legacy := mcp.NewStreamableHTTPHandler(pick, &mcp.StreamableHTTPOptions{SessionTimeout: 30 * time.Minute})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
			http.Error(w, "foreign origin", http.StatusForbidden)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			http.Error(w, "the request is larger than "+core.FormatLimit(maxBody), http.StatusRequestEntityTooLarge)
			return
		} else if err != nil {
			http.Error(w, "cannot read the request", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if isModern(r.Header.Get("Mcp-Protocol-Version"), body) {
			modern.ServeHTTP(w, r)
		} else {
			legacy.ServeHTTP(w, r)
		}
	})
}

// isModern reports whether a request is of the modern era. Protocol revisions are dates, so they
// can be compared as strings.
func isModern(version string, body []byte) bool {
	if version >= core.ModernVersion {
		return true
	}
	var request struct {
		Params struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		} `json:"params"`
	}
	_ = json.Unmarshal(body, &request) // the SDK rejects invalid JSON
	_, ok := request.Params.Meta["io.modelcontextprotocol/protocolVersion"]
	return ok
}
