package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// grant is a successful response of a token endpoint.
type grant struct {
	access, refresh string
	expires         time.Time // zero if not specified
	scopes          []string  // nil if not specified: the requested scopes are granted
}

// tokenError is a refusal by a token endpoint that a retry does not change.
type tokenError struct {
	code        string // OAuth error code, "" if the response has none
	description string // description for the user, already shortened by cut
}

func (e *tokenError) Error() string {
	switch {
	case e.description != "" && e.code != "":
		return e.code + " (" + e.description + ")"
	case e.description != "":
		return e.description
	}
	return e.code
}

// temporaryError is a temporary failure of a token endpoint: status 429 or 5xx.
type temporaryError struct{ status int }

func (e *temporaryError) Error() string {
	return fmt.Sprintf("its token endpoint responded with HTTP status %d", e.status)
}

// Unreachable reports true, so that a server that needs a new token is retried like a server that
// cannot be reached.
func (e *temporaryError) Unreachable() bool { return true }

// Limits of a token. It is sent in a header.
const (
	maxToken    = 16 << 10
	maxLifetime = 366 * 24 * time.Hour
)

// requestToken sends a token request and parses the response.
func (g *guard) requestToken(ctx context.Context, endpoint string, c clientIdentity, form url.Values) (*grant, error) {
	resp, err := g.postForm(ctx, endpoint, c, form)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := readLimited(resp.Body)
	if err != nil {
		return nil, stripURL(err)
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		return nil, &temporaryError{resp.StatusCode}
	case resp.StatusCode != http.StatusOK:
		return nil, parseTokenError(resp.StatusCode, body)
	case !strings.HasSuffix(media, "json"):
		return nil, &tokenError{description: "its token endpoint returned " + sanitize(media, 60) + " instead of JSON"}
	}
	return parseGrant(body)
}

// postForm sends a form with the authentication of the client. Redirects are refused.
func (g *guard) postForm(ctx context.Context, endpoint string, c clientIdentity, form url.Values) (*http.Response, error) {
	g.determineZone(ctx)
	if _, err := g.parseURL("token_endpoint", endpoint); err != nil {
		return nil, err
	}
	if c.Method != authBasic {
		form.Set("client_id", c.ID)
	}
	if c.Method == authPost {
		form.Set("client_secret", c.Secret)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if c.Method == authBasic { // RFC 6749, 2.3.1: both are form-encoded first
		req.SetBasicAuth(url.QueryEscape(c.ID), url.QueryEscape(c.Secret))
	}
	resp, err := g.client.Do(req)
	if err != nil {
		return nil, stripURL(err)
	}
	return resp, nil
}

// parseTokenError parses an error response of a token endpoint (RFC 6749, section 5.2). Its text is
// untrusted.
func parseTokenError(status int, body []byte) error {
	var answer struct {
		Code string `json:"error"`
		Said string `json:"error_description"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Code == "" {
		return &tokenError{description: fmt.Sprintf("its token endpoint responded with HTTP status %d", status)}
	}
	return &tokenError{code: sanitize(answer.Code, 60), description: sanitize(answer.Said, 200)}
}

func parseGrant(body []byte) (*grant, error) {
	var answer struct {
		Access  string          `json:"access_token"`
		Refresh string          `json:"refresh_token"`
		Type    string          `json:"token_type"`
		Expires json.RawMessage `json:"expires_in"`
		Scope   *string         `json:"scope"`
		Error   string          `json:"error"`
		Said    string          `json:"error_description"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, &tokenError{description: "the response from its token endpoint is not valid JSON"}
	}
	switch {
	case answer.Error != "": // some servers send errors with status 200
		return nil, &tokenError{code: sanitize(answer.Error, 60), description: sanitize(answer.Said, 200)}
	case !strings.EqualFold(answer.Type, "bearer"):
		return nil, &tokenError{description: fmt.Sprintf("it issues tokens of type %q, but only Bearer is supported", sanitize(answer.Type, 40))}
	case !validToken(answer.Access):
		return nil, &tokenError{description: "it issued a token with invalid characters"}
	case answer.Refresh != "" && len(answer.Refresh) > maxToken:
		return nil, &tokenError{description: "it issued a refresh token that is too large"}
	}
	g := &grant{access: answer.Access, refresh: answer.Refresh, expires: parseExpiry(answer.Expires)}
	if answer.Scope != nil {
		g.scopes = append([]string{}, parseScopes(*answer.Scope)...)
	}
	return g, nil
}

// parseExpiry parses expires_in, which some servers send as a string. It returns the zero time if the
// value is missing or invalid.
func parseExpiry(raw json.RawMessage) time.Time {
	var seconds float64
	if err := json.Unmarshal([]byte(strings.Trim(string(raw), `"`)), &seconds); err != nil || seconds <= 0 {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(min(seconds, maxLifetime.Seconds()) * float64(time.Second))).UTC()
}

// validToken reports whether text can be sent in an Authorization header. It accepts all of RFC
// 6750, section 2.1, and any other visible ASCII character.
func validToken(text string) bool {
	if text == "" || len(text) > maxToken {
		return false
	}
	for i := range len(text) {
		if text[i] <= ' ' || text[i] >= 0x7F {
			return false
		}
	}
	return true
}

// requiresLogin reports whether err is a refusal that requires the user to sign in again.
func requiresLogin(err error) bool {
	_, ok := errors.AsType[*tokenError](err)
	return ok
}
