package loopback

import (
	"encoding/json"
	"net/http"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// problem is an RFC 9457 problem document with a Drawbridge error code. It never echoes the
// request.
type problem struct {
	Title  string    `json:"title"`
	Status int       `json:"status"`
	Code   core.Code `json:"code"`
	Detail string    `json:"detail"`
	Hint   string    `json:"hint,omitempty"`
}

// writeProblem responds with a problem document and closes the connection, so that rejected
// requests do not occupy connection slots.
func writeProblem(w http.ResponseWriter, status int, code core.Code, detail, hint string) {
	body, _ := json.Marshal(problem{http.StatusText(status), status, code, detail, hint})
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Connection", "close")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// noAuthorizationServer responds to an MCP client's OAuth discovery requests. OAuth libraries can
// parse the body.
func noAuthorizationServer(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write([]byte(`{"error":"not_found","error_description":"Drawbridge has no authorization server. Use a bearer token: drawbridge token NAME prints one."}`))
}
