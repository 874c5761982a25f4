package window

import (
	"bufio"
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

// command is a command of the daemon to the window; see the API's GET /api/v1/window.
type command struct {
	Command string `json:"command"` // focus, pick or quit
	To      string `json:"to"`
	Kind    string `json:"kind"`
	ID      string `json:"id"`
}

// daemon is the connection to the program that this window shows, identified by its data folder. It
// may stop, restart and listen at another address.
type daemon struct {
	client *http.Client
	retry  time.Duration // interval between attempts to connect

	mu   sync.Mutex
	data string // "" until it is known; see startDaemon
}

func newDaemon(data string) *daemon {
	return &daemon{data: data, retry: time.Second, client: &http.Client{Transport: &http.Transport{Proxy: nil}}}
}

// errNoDaemon means that no daemon runs in the folder, or that it does not respond yet.
var errNoDaemon = errors.New("the daemon is not running")

func (d *daemon) folder() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.data
}

// request sends a request to the running daemon as the user. The caller closes the body.
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
	admin, err := loopback.ReadAdminToken(data)
	if err != nil {
		return nil, err
	}
	req, err := loopback.NewAPIRequest(ctx, method, rt.URL, route, admin, in)
	if err != nil {
		return nil, err
	}
	resp, err := d.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		resp.Body.Close()
		return nil, fmt.Errorf("the daemon responded with status %d", resp.StatusCode)
	}
	return resp, nil
}

// newPageURL returns the page's address with a new one-time code, or "" if there is no daemon.
func (d *daemon) newPageURL(ctx context.Context) string {
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

// follow passes the daemon's commands to runCommand until ctx is done. After a lost connection it
// reconnects and calls reconnected each time, because the address may have changed.
func (d *daemon) follow(ctx context.Context, reconnected func(), runCommand func(command)) {
	for first := true; ; {
		if resp, err := d.request(ctx, http.MethodGet, "window", nil); err == nil {
			if !first {
				reconnected()
			}
			first = false
			d.read(resp.Body, runCommand)
			resp.Body.Close()
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(d.retry):
		}
	}
}

// read reads server-sent events until the stream ends. An event is a few hundred bytes, or a form
// that a link opened.
func (d *daemon) read(stream io.Reader, runCommand func(command)) {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 256<<10)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var c command
		if json.Unmarshal([]byte(data), &c) == nil {
			runCommand(c)
		}
	}
}

// navigationScript returns JavaScript that navigates the page to a route, or "". page is the page's
// address with its one-time code.
//
// The page removes the code from its own address when it starts. If the route replaced the address
// before that, the code would be lost and the sign-in would fail. Therefore the script waits until
// the code is gone. On the entry page it loads the address with both code and route immediately.
func navigationScript(to, page string) string {
	if !strings.HasPrefix(to, "/") {
		return ""
	}
	u, err := url.Parse(localAddress(page))
	if err != nil || u.Host == "" {
		return ""
	}
	u.Fragment, u.RawFragment = to, ""
	address := u.String()
	if base, code, ok := strings.Cut(localAddress(page), "#code="); ok {
		code, _, _ = strings.Cut(code, "&")
		address = base + "#code=" + code + "&to=" + url.QueryEscape(to)
	}
	args := make([]any, 0, 3)
	for _, text := range []string{to, u.Host, address} {
		quoted, err := json.Marshal(text) // JSON for HTML is safe inside a script, whatever it contains
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

// moveScript returns JavaScript that navigates the page to another address.
func moveScript(address string) string {
	quoted, err := json.Marshal(address)
	if err != nil || localAddress(address) == "" {
		return ""
	}
	return "location.replace(" + string(quoted) + ")"
}
