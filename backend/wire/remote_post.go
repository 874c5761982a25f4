package wire

import (
	"bytes"
	"context"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// newRequest creates a request; fresh omits the session headers.
func (r *Remote) newRequest(ctx context.Context, method string, body []byte, fresh bool) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, r.o.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range r.o.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	if fresh {
		return req, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.version != "" {
		req.Header.Set("Mcp-Protocol-Version", r.version)
	}
	if r.session != "" {
		req.Header.Set("Mcp-Session-Id", r.session)
	}
	return req, nil
}

// post sends one message. Modern servers require the method and name of a request in headers, too.
func (r *Remote) post(ctx context.Context, method string, params, body []byte, header http.Header) (*http.Response, error) {
	req, err := r.newRequest(ctx, http.MethodPost, body, method == "initialize")
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	r.mu.Lock()
	modern := r.era == core.Modern
	r.mu.Unlock()
	if modern && method != "" {
		req.Header.Set("Mcp-Method", method)
		if spans, err := ScanParams(params); err == nil {
			if name := NameHeaderValue(method, params, &spans); name != "" {
				req.Header.Set("Mcp-Name", HeaderValue(name))
			}
		}
	}
	return r.o.doTraced(r.http, req, body)
}

// NameHeaderValue returns the value of the header Mcp-Name, or "" if the method has none. spans are
// those of params.
func NameHeaderValue(method string, params []byte, spans *Params) string {
	span := spans.Name
	switch method {
	case "resources/read":
		span = spans.URI
	case "tasks/get", "tasks/update", "tasks/cancel":
		span = spans.TaskID
	case "tools/call", "prompts/get":
	default:
		return ""
	}
	name, _ := Unquote(Bytes(params, span))
	return name
}

// HeaderValue encodes text for an MCP header (SEP-2243): text that is not valid in a header is
// base64-encoded.
func HeaderValue(text string) string {
	plainText := strings.TrimSpace(text) == text && !strings.HasPrefix(text, "=?base64?")
	for i := 0; plainText && i < len(text); i++ {
		plainText = 0x20 <= text[i] && text[i] < 0x7F
	}
	if plainText {
		return text
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
}

// HeaderText is the inverse of HeaderValue. ok is false if value has the base64 form but cannot be
// decoded.
func HeaderText(value string) (text string, ok bool) {
	if inner, ok := strings.CutPrefix(value, "=?base64?"); ok {
		if inner, ok = strings.CutSuffix(inner, "?="); ok {
			plain, err := base64.StdEncoding.DecodeString(inner)
			return string(plain), err == nil
		}
	}
	return value, true
}

// Notify posts a notification.
func (r *Remote) Notify(ctx context.Context, method string, params []byte) error {
	if err := r.send(ctx, method, AppendNotification(nil, method, removeNewlines(params))); err != nil {
		return err
	}
	if method == "notifications/initialized" {
		r.readyOnce.Do(func() { close(r.ready) })
	}
	return nil
}

func (r *Remote) send(ctx context.Context, method string, body []byte) error {
	resp, err := r.post(ctx, method, nil, body, nil)
	if err != nil {
		return r.unreachableError(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return r.statusError(resp)
	}
	return nil
}
