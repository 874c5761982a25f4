package window

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
)

// command is what the daemon asks of the window; see the API's GET /api/v1/window.
type command struct {
	Command string `json:"command"` // focus, pick or quit
	To      string `json:"to"`
	Kind    string `json:"kind"`
	ID      string `json:"id"`
}

// daemon is the program that this window shows, found by its data folder. As long as
// the folder is the same, it may end, start again, and answer elsewhere.
type daemon struct {
	client *http.Client
	retry  time.Duration // between tries to reach it

	mu   sync.Mutex
	data string // "" while it is not known; see summon
}

func newDaemon(data string) *daemon {
	return &daemon{data: data, retry: time.Second, client: &http.Client{Transport: &http.Transport{Proxy: nil}}}
}

// errNoDaemon: none runs in the folder, or it does not answer yet.
var errNoDaemon = errors.New("no daemon runs")

func (d *daemon) folder() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.data
}

// request asks the running daemon as the user. The caller closes the body.
func (d *daemon) request(ctx context.Context, method, route string, in any) (*http.Response, error) {
	data := d.folder()
	if data == "" {
		return nil, errNoDaemon
	}
	rt, ok, err := loopback.FindDaemon(data)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errNoDaemon
	}
	admin, err := loopback.ReadAdmin(data)
	if err != nil {
		return nil, err
	}
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, rt.URL+"/api/v1/"+route, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+admin)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := d.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		resp.Body.Close()
		return nil, fmt.Errorf("the daemon answers %d", resp.StatusCode)
	}
	return resp, nil
}

// address is the page's, with a new one-time code; "" when there is no daemon.
func (d *daemon) address(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	resp, err := d.request(ctx, http.MethodPost, "open-code", struct{}{})
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	var page struct{ URL string }
	if json.NewDecoder(io.LimitReader(resp.Body, 1<<16)).Decode(&page) != nil {
		return ""
	}
	return page.URL
}

// follow obeys the daemon's commands until ctx ends. After a loss it tries again, and
// calls back at each return, when the address may be another one.
func (d *daemon) follow(ctx context.Context, back func(), obey func(command)) {
	for first := true; ; {
		if resp, err := d.request(ctx, http.MethodGet, "window", nil); err == nil {
			if !first {
				back()
			}
			first = false
			d.read(resp.Body, obey)
			resp.Body.Close()
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(d.retry):
		}
	}
}

// read reads server-sent events to their end. One is a few hundred bytes, or a form
// that a link brought.
func (d *daemon) read(stream io.Reader, obey func(command)) {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 256<<10)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var c command
		if json.Unmarshal([]byte(data), &c) == nil {
			obey(c)
		}
	}
}

// script is what leads the page to a place of itself, or "". page is its address, with the
// code that lets it in.
//
// The page takes the code out of its own address when it begins: until then the place has to
// wait, or nobody would be let in. Where our own page is still there, which is on its way to
// that address, it is sent to the place at once.
func script(to, page string) string {
	if !strings.HasPrefix(to, "/") {
		return ""
	}
	u, err := url.Parse(local(page))
	if err != nil || u.Host == "" {
		return ""
	}
	u.Fragment, u.RawFragment = to, ""
	address := u.String()
	if base, code, ok := strings.Cut(local(page), "#code="); ok {
		code, _, _ = strings.Cut(code, "&")
		address = base + "#code=" + code + "&to=" + url.QueryEscape(to)
	}
	args := make([]any, 0, 3)
	for _, text := range []string{to, u.Host, address} {
		quoted, err := json.Marshal(text) // JSON for HTML: safe inside a script, whatever it holds
		if err != nil {
			return ""
		}
		args = append(args, quoted)
	}
	return fmt.Sprintf(`(function go(to, host, address, left) {
	if (location.host !== host) location.replace(address);
	else if (left > 0 && /[#&]code=/.test(location.hash)) setTimeout(go, 50, to, host, address, left - 1);
	else location.hash = to;
})(%s, %s, %s, 400)`, args...)
}

// move leads the page to another address.
func move(address string) string {
	quoted, err := json.Marshal(address)
	if err != nil || local(address) == "" {
		return ""
	}
	return "location.replace(" + string(quoted) + ")"
}
