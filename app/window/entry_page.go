package window

import (
	"context"
	_ "embed"
	"html/template"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"
)

//go:embed entry_page.html
var entryPageHTML string

var entryPageTemplate = template.Must(template.New("entry page").Parse(entryPageHTML))

// entryPage handles Wails' own address. It answers every request with one page, which redirects to
// the daemon, or shows why it cannot and tries again every two seconds.
type entryPage struct {
	client         *http.Client
	requestAddress func(context.Context) string // requests the address from the daemon

	mu         sync.Mutex
	redirected bool   // the page has been redirected to the address
	failed     bool   // the page at the address failed to load
	address    string // with the one-time code; "" if unknown
}

// newEntryPage returns an entryPage for the address from the environment. It ignores an address
// that is not of this machine.
func newEntryPage(address string, requestAddress func(context.Context) string) *entryPage {
	return &entryPage{
		client:         &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{Proxy: nil}},
		requestAddress: requestAddress,
		address:        localAddress(address),
	}
}

func (e *entryPage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	again, failed := e.redirected, e.failed
	e.failed = false
	e.mu.Unlock()
	if failed { // avoids a redirect loop if the address responds but the page fails to load
		e.write(w, "")
		return
	}
	if again || !e.daemonResponds() { // the known code has been used, or no daemon responds
		e.set(localAddress(e.requestAddress(r.Context())))
	}
	target := ""
	if e.daemonResponds() {
		e.mu.Lock()
		target = e.address
		e.redirected = true
		e.mu.Unlock()
	}
	e.write(w, target)
}

func (e *entryPage) write(w http.ResponseWriter, target string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_ = entryPageTemplate.Execute(w, struct{ Target string }{target}) // fails only when the window is closed
}

// fail records that the page failed to load. The next response does not redirect, and the one after
// it, two seconds later, redirects with a new code.
func (e *entryPage) fail() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.redirected, e.failed = true, true
}

// pageAddress returns the address with the code that was used last or will be used next.
func (e *entryPage) pageAddress() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.address
}

// origin returns the address without path and code, or "".
func (e *entryPage) origin() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	u, err := url.Parse(e.address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

func (e *entryPage) daemonResponds() bool {
	base := e.origin()
	if base == "" {
		return false
	}
	resp, err := e.client.Get(base + "/healthz")
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func (e *entryPage) set(address string) {
	if address == "" {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.address = address
}

// redirectTo sets the address that the next load redirects to.
func (e *entryPage) redirectTo(address string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.address, e.redirected = address, false
}

// localAddress returns address if it is an http address of this machine, otherwise "".
func localAddress(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Scheme != "http" || u.User != nil {
		return ""
	}
	if addr, err := netip.ParseAddr(u.Hostname()); u.Hostname() != "localhost" && (err != nil || !addr.IsLoopback()) {
		return ""
	}
	return u.String()
}
