package loopback

import (
	"encoding/json"
	"net/http"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// problem is an RFC 9457 document with our code. Nothing of the request is in it.
type problem struct {
	Title  string    `json:"title"`
	Status int       `json:"status"`
	Code   core.Code `json:"code"`
	Detail string    `json:"detail"`
	Hint   string    `json:"hint,omitempty"`
}

// refuse answers with a problem and closes the connection: places are few, and strangers
// must not keep them by what is refused.
func refuse(w http.ResponseWriter, status int, code core.Code, detail, hint string) {
	body, _ := json.Marshal(problem{http.StatusText(status), status, code, detail, hint})
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Connection", "close")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// noAuthorizationServer answers the requests by which an MCP client looks for OAuth.
// The body is what an OAuth library can parse.
func noAuthorizationServer(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write([]byte(`{"error":"not_found","error_description":"There is no authorization server here. Use a bearer token: drawbridge token NAME prints one."}`))
}
