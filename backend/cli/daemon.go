package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"drawbridge/backend/hub"
	"drawbridge/backend/loopback"
)

// answerLimit bounds how long the daemon may take for anything but a tool call.
const answerLimit = 30 * time.Second

// maxAnswer bounds what is read from the daemon.
const maxAnswer = 64 << 20

// daemon is the API of the running instance.
type daemon struct {
	url   string
	admin string
	http  *http.Client
}

// problemError is an error document of the API, as it came, and what it says.
type problemError struct {
	raw  []byte
	says *hub.Error
}

func (e *problemError) Error() string { return e.says.Error() }
func (e *problemError) Unwrap() error { return e.says }

// daemon finds the running instance of this data folder.
func (c *commands) daemon() (*daemon, error) {
	folders, err := c.folders()
	if err != nil {
		return nil, err
	}
	rt, ok, err := loopback.FindDaemon(folders.Data)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, &hub.Error{Code: hub.CodeUnavailable, Message: "Drawbridge is not running", Hint: "Start it with: drawbridge, or drawbridge serve."}
	}
	admin, err := loopback.ReadAdmin(folders.Data)
	if err != nil {
		return nil, err
	}
	return &daemon{url: rt.URL, admin: admin, http: &http.Client{Transport: &http.Transport{Proxy: nil}}}, nil
}

// ask sends a request and returns the document that came back. A problem document
// becomes an error.
func (d *daemon) ask(ctx context.Context, method, path string, query url.Values, body any) ([]byte, error) {
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, answerLimit)
		defer cancel()
	}
	resp, err := d.send(ctx, method, path, query, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("cannot read the answer of Drawbridge: %w", err)
	}
	raw = bytes.TrimSpace(raw)
	if resp.StatusCode >= 400 {
		return nil, problemOf(raw, resp.StatusCode)
	}
	return raw, nil
}

func (d *daemon) send(ctx context.Context, method, path string, query url.Values, body any) (*http.Response, error) {
	var reader io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		reader = bytes.NewReader(b)
	}
	target := d.url + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, target, reader)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+d.admin)
	if body != nil || method != http.MethodGet {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := d.http.Do(req)
	if err != nil {
		return nil, &hub.Error{Code: hub.CodeUnavailable, Cause: err, Message: "Drawbridge does not answer", Hint: "Its log says why: drawbridge logs."}
	}
	return resp, nil
}

// get asks for a document and decodes it too.
func (d *daemon) get(ctx context.Context, path string, query url.Values, into any) ([]byte, error) {
	raw, err := d.ask(ctx, http.MethodGet, path, query, nil)
	if err != nil || into == nil {
		return raw, err
	}
	return raw, json.Unmarshal(raw, into)
}

func problemOf(raw []byte, status int) error {
	var p struct {
		Code   hub.Code         `json:"code"`
		Detail string           `json:"detail"`
		Title  string           `json:"title"`
		Hint   string           `json:"hint"`
		Errors []hub.FieldError `json:"errors"`
	}
	if json.Unmarshal(raw, &p) != nil || p.Detail == "" && p.Title == "" {
		return fmt.Errorf("Drawbridge answered with status %d", status)
	}
	detail := p.Detail
	if detail == "" {
		detail = p.Title
	}
	for _, e := range p.Errors {
		detail += "\n  " + strings.TrimSpace(e.Field+": "+e.Error)
	}
	return &problemError{raw: raw, says: &hub.Error{Code: p.Code, Message: detail, Hint: p.Hint}}
}
