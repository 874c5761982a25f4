package oauth

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// callbackHandler returns the handler of the redirect URI. It accepts only the first request with
// the state parameter of this sign-in, and sends the outcome to done.
func (l *login) callbackHandler(ctx context.Context, a *account, done chan<- error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		// Any other host name indicates DNS rebinding.
		if host, _, err := net.SplitHostPort(r.Host); err != nil || host != "127.0.0.1" && host != "localhost" || r.Method != http.MethodGet || r.URL.Path != callbackPath {
			http.Error(w, "not found", http.StatusNotFound)
			return
		}
		code, ours, err := l.acceptCallback(r.URL.Query())
		if !ours {
			writePage(w, http.StatusBadRequest, "Drawbridge did not expect this response.", "Go back to the page where you started to sign in.")
			if err != nil {
				done <- err
			}
			return
		}
		if err == nil {
			err = a.redeemCode(ctx, l, code)
		}
		if err != nil {
			writePage(w, http.StatusOK, "Drawbridge could not sign in to "+a.id+".", capitalize(sanitize(err.Error(), 500))+".")
		} else {
			writePage(w, http.StatusOK, "Drawbridge is signed in to "+a.id+".", "You can close this page.")
		}
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		done <- err
	})
}

// acceptCallback validates the query of a callback request. ours is false if its state is not that
// of this sign-in; err is then non-nil when maxAnswers such requests have come.
func (l *login) acceptCallback(q url.Values) (code string, ours bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one := q["state"]; l.received || len(one) != 1 || !constantTimeEqual(one[0], l.state) {
		if l.wrongCallbacks++; l.wrongCallbacks == maxWrongCallbacks {
			return "", false, errors.New("too many invalid callbacks were received")
		}
		return "", false, nil
	}
	l.received = true
	return l.parseCode(q)
}

func (l *login) parseCode(q url.Values) (code string, ours bool, err error) {
	// RFC 9207: iss identifies the issuer, in error responses as well. The comparison is exact.
	issuer := l.target.server.Issuer
	switch iss := q["iss"]; {
	case len(iss) > 1 || len(iss) == 1 && iss[0] != issuer:
		return "", true, fmt.Errorf("the response is from another authorization server, %s", sanitize(strings.Join(iss, ", "), 200))
	case len(iss) == 0 && l.target.server.AuthorizationResponseIssParameterSupported:
		return "", true, errors.New("the response does not identify its issuer")
	}
	if q.Has("error") {
		why := &tokenError{code: sanitize(q.Get("error"), 60), description: sanitize(q.Get("error_description"), 200)}
		if why.code == "access_denied" {
			return "", true, errors.New("the sign-in was declined: " + why.Error())
		}
		return "", true, errors.New("the authorization server rejected the request: " + why.Error())
	}
	if one := q["code"]; len(one) == 1 && one[0] != "" && len(one[0]) <= maxToken {
		return one[0], true, nil
	}
	return "", true, errors.New("the response contains no authorization code")
}

var pageTemplate = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Drawbridge</title>
<style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:20vh auto;padding:0 1rem}h1{font-size:1.25rem}</style>
</head><body><main><h1>{{.Title}}</h1><p>{{.Text}}</p></main></body></html>
`))

func writePage(w http.ResponseWriter, status int, title, text string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = pageTemplate.Execute(w, struct{ Title, Text string }{title, text})
}

func capitalize(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
