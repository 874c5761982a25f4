package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
)

// maxDocument is the size limit of an API response.
const maxDocument = 256 << 20

// notRunningHint suggests starting it in the background; drawbridge serve would block the terminal.
const notRunningHint = "Start it with: drawbridge"

// daemon is a client of the running daemon.
type daemon struct {
	url   string
	token string
	http  *http.Client
}

// daemon finds the running daemon of the data folder. It warns if the version of the daemon
// differs.
func (p *program) daemon() (*daemon, error) {
	folders, err := p.folders()
	if err != nil {
		return nil, err
	}
	rt, running, err := loopback.FindDaemon(folders.Data)
	if err != nil || !running {
		return nil, &core.Error{Code: core.CodeUnavailable, Message: "Drawbridge is not running",
			Hint: notRunningHint, Cause: err}
	}
	token, err := loopback.ReadAdmin(folders.Data)
	if err != nil {
		return nil, &core.Error{Code: core.CodeUnauthorized, Message: "cannot read the admin token", Cause: err}
	}
	if rt.Version != p.Version && !p.json {
		fmt.Fprintf(p.Stderr, "Drawbridge %s is running, but this command is version %s: restart Drawbridge.\n", escapeLine(rt.Version), p.Version)
	}
	return &daemon{url: rt.URL, token: token, http: &http.Client{Transport: &http.Transport{DialContext: loopback.Dialer(folders.Data)}}}, nil
}

// send makes one request; path is below /api/v1 and body nil or encoded as JSON.
// A status other than 2xx is an error.
func (d *daemon) send(ctx context.Context, method, path string, query url.Values, body any) (*http.Response, error) {
	var reader io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		reader = bytes.NewReader(data)
	}
	address := d.url + "/api/v1/" + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, address, reader)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+d.token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := d.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &core.Error{Code: core.CodeUnavailable, Message: "Drawbridge does not respond", Hint: "If it is starting, try again in a moment.", Cause: err}
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, parseProblem(resp)
}

// parseProblem parses a problem document.
func parseProblem(resp *http.Response) error {
	var doc problem
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if media != "application/problem+json" || json.Unmarshal(data, &doc) != nil || doc.Detail == "" {
		return core.Errorf(core.CodeInternal, "Drawbridge answered %s", resp.Status)
	}
	if doc.Code == "" {
		doc.Code = core.CodeInternal
	}
	return &core.Error{Code: doc.Code, Message: doc.Detail, Hint: doc.Hint, Fields: doc.Errors}
}

// requestRaw reads one document.
func (d *daemon) requestRaw(ctx context.Context, method, path string, query url.Values, body any) ([]byte, error) {
	resp, err := d.send(ctx, method, path, query, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument))
	if err != nil {
		return nil, fmt.Errorf("cannot read the answer: %w", err)
	}
	return bytes.TrimSpace(data), nil
}

// fetch requests a document. With --json it prints the document and reports done; otherwise it
// decodes it into to.
func (p *program) fetch(ctx context.Context, method, path string, query url.Values, body, to any) (done bool, err error) {
	d, err := p.daemon()
	if err != nil {
		return false, err
	}
	data, err := d.requestRaw(ctx, method, path, query, body)
	if err != nil {
		return false, err
	}
	if p.json {
		_, err := fmt.Fprintf(p.Stdout, "%s\n", data)
		return true, err
	}
	if to == nil {
		return false, nil
	}
	return false, decode(data, to)
}

// serverID returns the id of the server with the id or name text; text itself if there is none,
// because the history contains removed servers.
func (d *daemon) serverID(ctx context.Context, text string) string {
	var s core.ServerStatus
	if d.fetchInto(ctx, "servers/"+url.PathEscape(text), &s) != nil || s.ID == "" {
		return text
	}
	return s.ID
}

// knownServer returns the id of the server with the given id or name, or an error.
func (d *daemon) knownServer(ctx context.Context, text string) (string, error) {
	var s core.ServerStatus
	err := d.fetchInto(ctx, "servers/"+url.PathEscape(text), &s)
	if core.CodeOf(err) == core.CodeNotFound {
		return "", &core.Error{Code: core.CodeNotFound, Message: fmt.Sprintf("no server is called %q", text), Hint: "List them with: drawbridge status"}
	}
	return s.ID, err
}

// clientName returns the name of the client that equals text ignoring case; text itself if there is
// none or more than one.
func (p *program) clientName(ctx context.Context, text string) string {
	d, err := p.daemon()
	if err != nil {
		return text
	}
	var list items[struct {
		Token string `json:"token"`
		Name  string `json:"name"`
	}]
	if d.fetchInto(ctx, "clients", &list) != nil {
		return text
	}
	found := map[string]bool{}
	for _, c := range list.Items {
		for _, one := range []string{c.Token, c.Name} {
			if one == text {
				return text
			}
			if strings.EqualFold(one, text) {
				found[one] = true
			}
		}
	}
	if len(found) == 1 {
		for one := range found {
			return one
		}
	}
	return text
}

// items is the form of every list.
type items[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next"`
}

var errStreamEnded = errors.New("the event stream ended: Drawbridge stopped, or this command read too slowly")

// formatAge formats the time since t in the largest fitting unit.
func formatAge(now, t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	d := max(0, now.Sub(t))
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	}
	return fmt.Sprintf("%dd ago", int(d.Hours()/24))
}

func decode(data []byte, to any) error {
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("cannot read the answer: %w", err)
	}
	return nil
}
