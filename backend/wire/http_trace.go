package wire

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/redact"
)

// trace passes a message, an HTTP head, or both to the OnMessage callback.
func (o *RemoteOptions) trace(sent bool, http string, text []byte) {
	if o.OnMessage != nil && (http != "" || len(text) > 0) {
		o.OnMessage(sent, http, text)
	}
}

// doTraced makes a request and shows it with the status and headers of its response.
func (o *RemoteOptions) doTraced(c *http.Client, req *http.Request, body []byte) (*http.Response, error) {
	if o.OnMessage == nil {
		return c.Do(req)
	}
	o.traceRequest(req, body)
	return o.traceResponse(c.Do(req))
}

func (o *RemoteOptions) traceRequest(req *http.Request, body []byte) {
	if o.OnMessage != nil {
		o.trace(true, o.formatHead(req.Method+" "+req.URL.Path, req.Header), body)
	}
}

// traceResponse shows the status and headers of a response, or the reason why there is none.
func (o *RemoteOptions) traceResponse(resp *http.Response, err error) (*http.Response, error) {
	if o.OnMessage == nil {
		return resp, err
	}
	if err != nil {
		cause := err
		if outer, ok := errors.AsType[*url.Error](err); ok {
			cause = outer.Err // without the URL, whose query may contain a secret
		}
		o.trace(false, fmt.Sprintf("no response: %.200s", cause.Error()), nil)
		return nil, err
	}
	o.trace(false, o.formatHead("HTTP "+resp.Status, resp.Header), nil)
	return resp, nil
}

const (
	maxTracedHead      = 4 << 10 // bytes of the shown headers
	maxTracedHeadValue = 256     // bytes of each value
)

// formatHead returns the first line and the headers, one per line, sorted by name. It omits the
// values of configured headers and of headers whose name suggests a secret.
func (o *RemoteOptions) formatHead(first string, h http.Header) string {
	var b strings.Builder
	b.WriteString(first)
	for _, name := range slices.Sorted(maps.Keys(h)) {
		value := strings.Join(h[name], ", ")
		if configured := o.Header.Values(name); len(configured) > 0 || redact.MayNameSecretHeader(name) {
			value = redact.Mark
		}
		if b.Len() > maxTracedHead {
			b.WriteString("\n…")
			break
		}
		fmt.Fprintf(&b, "\n%.100s: %.*s", name, maxTracedHeadValue, strings.Map(replaceUnprintable, value))
	}
	return b.String()
}

func replaceUnprintable(r rune) rune {
	if r < ' ' || r == 0x7F {
		return '\uFFFD'
	}
	return r
}
