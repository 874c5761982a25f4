package api

import (
	"bytes"
	"crypto/rand"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// contentPolicy is what the page may do: load and reach nothing but ourselves, and be
// framed by nobody. Text of servers shown as markup by mistake could still do nothing,
// and browsers that know trusted types do not even parse it.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; media-src data:; font-src 'self'; frame-src 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'; trusted-types 'none'"

const permissionsPolicy = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"

// nonceMark is replaced in index.html by a random value for each response. The page's code editor
// adds a style element that names it; no other style element is allowed.
const nonceMark = "STYLE-NONCE"

// types are by suffix and not the system's, which may know them wrongly.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".png": "image/png", ".ico": "image/x-icon", ".woff2": "font/woff2",
	".json": "application/json", ".webmanifest": "application/manifest+json", ".txt": "text/plain; charset=utf-8",
}

// IsShell reports whether a request is for the static page. Links from anywhere may open it,
// because it contains no data of the user.
func IsShell(r *http.Request) bool {
	return r.Method == http.MethodGet && (r.URL.Path == "/" || r.URL.Path == "/index.html")
}

// servePage serves the page. Its routes are in the fragment, so there is one document.
func (a *API) servePage(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		writeProblem(w, core.Errorf(core.CodeNotFound, "there is no such page"))
		return
	}
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	if name == "" {
		name = "index.html"
	}
	kind, known := types[path.Ext(name)]
	var body []byte
	err := fs.ErrNotExist
	if known {
		body, err = fs.ReadFile(a.UI, name)
	}
	h := w.Header()
	if err != nil && name == "index.html" {
		body, kind, err = []byte(noPage), types[".html"], nil
	}
	if err != nil {
		writeProblem(w, core.Errorf(core.CodeNotFound, "there is no such page"))
		return
	}
	noStore(h)
	h.Set("Content-Type", kind)
	policy := contentPolicy
	if name == "index.html" {
		nonce := rand.Text()
		policy = strings.Replace(policy, "style-src 'self'", "style-src 'self' 'nonce-"+nonce+"'", 1)
		body = bytes.Replace(body, []byte(nonceMark), []byte(nonce), 1)
	}
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", permissionsPolicy)
	if strings.HasPrefix(name, "assets/") { // named by their content
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	_, _ = bytes.NewReader(body).WriteTo(w)
}

const noPage = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Drawbridge</title>
<p>Drawbridge is running, but this build does not include the web UI. To build Drawbridge with it, run: make build</p></html>`
