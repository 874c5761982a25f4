package upstream

import (
	"net/http"
	"net/url"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// remoteEndpoint returns the endpoint of a remote server. shown is its address without the parts
// that may contain secrets.
func remoteEndpoint(c *config.Server, env environment) (r *Remote, shown string, err error) {
	address, err := env.expand("url", c.URL)
	if err != nil {
		return nil, "", err
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, "", &core.Error{Code: core.CodeValidation, Cause: err,
			Message: "its url is not an http or https URL",
			Fields:  []core.FieldError{{Field: "url", Error: "not an http or https URL"}}}
	}
	headers, err := env.expandAll("headers", c.Headers)
	if err != nil {
		return nil, "", err
	}
	r = &Remote{URL: address, Header: http.Header{}, AllowInsecure: c.AllowInsecure, LegacySSE: c.Type == core.SSE}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	return r, (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), nil
}

// recordRemoteFrames returns a function that records the messages of a remote server and passes
// them to the observer.
func (d *Dialer) recordRemoteFrames(server string, t *frameRecorder) func(sent bool, http string, text []byte) {
	t.limit = maxRemoteFrames
	return func(sent bool, http string, text []byte) {
		now := time.Now().UTC()
		if d.Observer != nil && d.Observer.WatchesServer(server) {
			d.Observer.Message(server, sent, now, http, text[:min(len(text), observerBytes)], len(text))
		}
		t.add(now, sent, http, text[:min(len(text), maxRecordedBytes)], len(text))
	}
}
