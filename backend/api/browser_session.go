package api

import (
	"encoding/json"
	"net/http"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
)

// openSession exchanges a one-time code for a cookie and a key. It is the only plain handler,
// because it needs no token.
func (a *API) openSession(w http.ResponseWriter, r *http.Request) {
	if err := loopback.RefuseOtherUser(r); err != nil {
		writeProblem(w, err)
		return
	}
	var body struct {
		Code string `json:"code"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4096)).Decode(&body); err != nil || body.Code == "" {
		writeProblem(w, &core.Error{Code: core.CodeValidation, Message: "the request is not valid", Fields: []core.FieldError{{Field: "code", Error: "is required"}}})
		return
	}
	cookie, key, err := a.Options.Sessions.Exchange(body.Code)
	if err != nil {
		writeProblem(w, err)
		return
	}
	http.SetCookie(w, cookie)
	w.Header().Set("Content-Type", "application/json")
	noStore(w.Header())
	_ = json.NewEncoder(w).Encode(struct {
		Key string `json:"key"`
	}{key})
}

// isAuthenticated reports whether a request has the admin token, the token of a client or a
// session.
func (a *API) isAuthenticated(w http.ResponseWriter, r *http.Request) bool {
	token, shown := loopback.BearerOf(r)
	if !shown {
		return a.Sessions.Check(w, r)
	}
	if a.Admin.Valid(token) {
		return true
	}
	_, client := a.Tokens.Client(token)
	return client
}
