package desktop

import (
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLinksOpenOnlyThePage(t *testing.T) {
	for link, want := range map[string]string{
		"drawbridge://":                              "/",
		"DrawBridge://open":                          "/",
		"drawbridge://open/servers":                  "/servers",
		"drawbridge://open/servers/my%20files":       "/servers/my%20files",
		"drawbridge://open/../../servers/x":          "/servers/x",
		"drawbridge://open/approvals":                "/approvals",
		`drawbridge://add?name=f&config={"url":"x"}`: "/add?config=%7B%22url%22%3A%22x%22%7D&from=link&name=f",
		`drawbridge://add/?config=%7B%7D&token=t`:    "/add?config=%7B%7D&from=link&name=",
	} {
		got, err := ResolveLink(link)
		assert.Truef(t, err == nil && got == want, "%s leads to %q (%v), want %q", link, got, err, want)
	}
	for _, link := range []string{
		"", "x", "http://open/servers", "drawbridge:open", "drawbridge://run?command=rm", "drawbridge://me@open/servers",
		"drawbridge://open:1/servers", "drawbridge://open/api/v1/token", "drawbridge://open/servers/%0Ax", "drawbridge://open/servers/a%2Fb",
		"drawbridge://open/servers/a%3Fb", "drawbridge://open/servers/a%23code=1", "drawbridge://open/%5C%5Cevil", "drawbridge://add",
		"drawbridge://add?config=[]", "drawbridge://add?config=null", "drawbridge://add?name=%0a&config={}", "drawbridge://add?name=" + strings.Repeat("a", 65) + "&config={}",
		"drawbridge://add/x?config={}", "drawbridge://add?config={}&%zz", "drawbridge://add?config={}" + strings.Repeat("%20", maxLink),
	} {
		got, err := ResolveLink(link)
		assert.Errorf(t, err, "%.80q leads to %q", link, got)
	}
}

// A link to a missing route would open an empty page.
func TestLinksMatchPageRoutes(t *testing.T) {
	router, err := os.ReadFile("../../frontend/src/app/router.tsx")
	require.NoError(t, err)
	has, left := map[string]bool{}, map[string]bool{}
	for _, m := range regexp.MustCompile(`path: '/([a-z]+)'`).FindAllStringSubmatch(string(router), -1) {
		has[m[1]], left[m[1]] = true, true
	}
	for _, name := range linkPages {
		assert.Truef(t, has[name], "drawbridge://open/%s leads to no page", name)
		delete(left, name)
	}
	assert.Empty(t, left, "no link leads")
}

// FuzzResolveLink checks that any accepted link leads to a path of the page, and that its data
// stays in the query parameters of the form.
func FuzzResolveLink(f *testing.F) {
	for _, seed := range []string{
		"drawbridge://", "drawbridge://open/servers/x", `drawbridge://add?name=f&config={"command":"x","args":["#code=1"]}`,
		"drawbridge://open//evil.example/servers", "drawbridge://open/%2e%2e/servers", "drawbridge://add?config={}#code=1",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, link string) {
		page, err := ResolveLink(link)
		if err != nil {
			return
		}
		u, err := url.Parse(page)
		if err != nil || u.Host != "" || u.Scheme != "" || u.Fragment != "" || !strings.HasPrefix(page, "/") || strings.HasPrefix(page, "//") {
			t.Fatalf("%q leads to %q", link, page)
		}
		require.Falsef(t, u.RawQuery != "" && (u.Path != "/add" || u.Query().Get("from") != "link"), "%q leads to %q", link, page)
	})
}
