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
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
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

// A window that is started directly, as macOS starts the program of a bundle, gets no address. It
// then requests one from the daemon's program and passes on the link that it was opened for. See
// build/package/macos.sh.

// startDaemonTimeout limits startDaemon. The daemon's program limits its waits itself.
const startDaemonTimeout = 2 * time.Minute

// printAddressVariable is set for the daemon's program to make it print the address instead of
// opening a window.
const printAddressVariable = "DRAWBRIDGE_PRINT_ADDRESS"

// startDaemon runs the daemon's program, which starts the daemon if none runs, and returns the
// address of the page at the route of link. An empty link means the start page. That program
// validates the link. Afterwards the daemon's folder is known.
func (d *daemon) startDaemon(ctx context.Context, program, link string) (address string, err error) {
	ctx, cancel := context.WithTimeout(ctx, startDaemonTimeout)
	defer cancel()
	var args []string
	if link != "" {
		args = append(args, link)
	}
	if data := d.folder(); data != "" {
		args = append(args, "--data", data)
	}
	cmd := osutil.HideConsole(exec.CommandContext(ctx, program, args...))
	cmd.Env = append(os.Environ(), printAddressVariable+"=1")
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failed
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("cannot reach Drawbridge: %w: %s", err, bytes.TrimSpace(failed.Bytes()))
	}
	var reply struct{ URL, Data string }
	if err := json.Unmarshal(out.Bytes(), &reply); err != nil || localAddress(reply.URL) == "" {
		return "", fmt.Errorf("cannot reach Drawbridge: %s printed no URL", program)
	}
	d.mu.Lock()
	d.data = reply.Data
	d.mu.Unlock()
	return localAddress(reply.URL), nil
}

// bundledDaemon is the path of the daemon's program in a macOS bundle, relative to the folder of
// the window's program. It is in a bundle of its own because macOS could otherwise pass links to it
// instead.
const bundledDaemon = "../Helpers/Drawbridge Daemon.app/Contents/MacOS/drawbridge"

// daemonProgram returns the daemon's binary for the window's binary self.
func daemonProgram(self string) string {
	name := "drawbridge"
	if runtime.GOOS == "windows" {
		name = "drawbridgew.exe" // the build without a console
	}
	places := []string{name}
	if strings.HasSuffix(filepath.ToSlash(filepath.Dir(self)), ".app/Contents/MacOS") {
		places = append(places, bundledDaemon)
	}
	for _, path := range places {
		path = filepath.Join(filepath.Dir(self), path)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return name
}

// linkLifetime is how long after a link arrives pages that finish loading are navigated to it.
const linkLifetime = 30 * time.Second

// recentLink is the route that the daemon last requested. WebKit silently drops a script if another
// process takes over the page at that moment, which happens between the entry page and the
// daemon's page. Therefore each page that finishes loading soon after is navigated to the route
// again.
type recentLink struct {
	mu sync.Mutex
	to string
	at time.Time
}

func (l *recentLink) set(to string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.to, l.at = to, now
}

// route returns the route that a page that has finished loading is navigated to, or "" for none.
func (l *recentLink) route(now time.Time) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if age := now.Sub(l.at); age < 0 || age > linkLifetime {
		return ""
	}
	return l.to
}
