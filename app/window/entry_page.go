package window

import (
	"context"
	_ "embed"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

//go:embed entrance.html
var entranceHTML string

var entrancePage = template.Must(template.New("entrance").Parse(entranceHTML))

// entryPage is the handler behind Wails' own address. It answers every request with one
// page, which leads to the daemon, or tries again every two seconds and says why.
type entryPage struct {
	client *http.Client
	ask    func(context.Context) string // asks the daemon for the address

	mu      sync.Mutex
	led     bool   // the page was led to the address once
	failed  bool   // the page that it was led to could not be loaded
	address string // with the one-time code; "" when not known
}

// newEntryPage takes the address from the environment; what is not an address of this
// machine counts as none.
func newEntryPage(address string, ask func(context.Context) string) *entryPage {
	return &entryPage{
		client:  &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{Proxy: nil}},
		ask:     ask,
		address: local(address),
	}
}

func (e *entryPage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	again, failed := e.led, e.failed
	e.failed = false
	e.mu.Unlock()
	if failed { // it would go round and round with an address that answers, and not with the page
		e.write(w, "")
		return
	}
	if again || !e.answers() { // the code that is known was used, or nobody takes it
		e.set(local(e.ask(r.Context())))
	}
	target := ""
	if e.answers() {
		e.mu.Lock()
		target = e.address
		e.led = true
		e.mu.Unlock()
	}
	e.write(w, target)
}

func (e *entryPage) write(w http.ResponseWriter, target string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_ = entrancePage.Execute(w, target) // fails only when the window is gone
}

// fail notes that the page could not be loaded: the next answer leads nowhere, and the one
// after it, two seconds later, leads there again with a new code.
func (e *entryPage) fail() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.led, e.failed = true, true
}

// page is the address with the code that was used last, or will be next.
func (e *entryPage) page() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.address
}

// base is the address without path and code, or "".
func (e *entryPage) base() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	u, err := url.Parse(e.address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// answers reports whether a daemon is there now.
func (e *entryPage) answers() bool {
	base := e.base()
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

// take makes address the one that the page is led to when it is loaded next.
func (e *entryPage) take(address string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.address, e.led = address, false
}

// local returns address if it is an http address of this machine, else "".
func local(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Scheme != "http" || u.User != nil {
		return ""
	}
	switch u.Hostname() {
	case "127.0.0.1", "::1", "localhost":
		return u.String()
	}
	return ""
}
