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

// maxBody is the largest request that the demo server takes, in bytes.
const maxBody = 4 << 20

// DemoHandler serves the demo server over streamable HTTP, in both eras, at any
// path. It answers requests of this machine only: foreign Host and Origin headers
// are refused.
func DemoHandler() http.Handler {
	server := newDemo()
	pick := func(*http.Request) *mcp.Server { return server }
	// The SDK serves one era with each handler.
	modern := mcp.NewStreamableHTTPHandler(pick, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	legacy := mcp.NewStreamableHTTPHandler(pick, &mcp.StreamableHTTPOptions{SessionTimeout: 30 * time.Minute})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
			http.Error(w, "foreign origin", http.StatusForbidden)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			http.Error(w, "request too large", http.StatusRequestEntityTooLarge)
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

// isModern tells the eras apart. Revisions are dates, so that they compare as text.
func isModern(version string, body []byte) bool {
	if version >= core.ModernVersion {
		return true
	}
	var request struct {
		Params struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		} `json:"params"`
	}
	_ = json.Unmarshal(body, &request) // what is not JSON is refused by the SDK
	_, ok := request.Params.Meta["io.modelcontextprotocol/protocolVersion"]
	return ok
}
