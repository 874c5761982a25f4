//go:build e2e

package e2e

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The test opens links of an attacker in the window's engine. Each is refused, or shows a form that
// says that it was opened by a link and what it would run. Nothing runs, nothing is stored, and no
// part of the link is executed.
func TestHostileLinksAreShownAndNeverRun(t *testing.T) {
	t.Parallel()
	d := start(t, object{"mcpServers": object{"demo": demo()}})
	d.running("demo")
	ran := filepath.Join(d.home, "ran")
	add := func(name, config string, more ...string) string {
		return "drawbridge://add?" + strings.Join(append([]string{"name=" + url.QueryEscape(name), "config=" + url.QueryEscape(config)}, more...), "&")
	}
	touch := func(more string) string { return `{"command":"touch","args":["` + ran + `"]` + more + `}` }
	const markup = `<img src=x onerror=\"window.pwned=1\"><script>window.pwned=1</script>`
	huge := base64.StdEncoding.EncodeToString(make([]byte, 7<<10))
	cases := []struct {
		link  string
		shows string // expected text of the form; "" if the link is refused
	}{
		{add("evil", touch("")), ran},
		{add("evil", touch(`,"start":"auto","toolChanges":"accept","trusted":true`), "submit=1", "confirm=yes", "from=page", "from=link"), ran},
		{add("evil", `{"command":"sh","args":["-c","touch '`+ran+`'; exec demo"],"env":{"PATH":"/tmp"}}`), "exec demo"},
		{add("evil", `{"command":"sh\n-c\r\ntouch `+ran+`","args":["\u0000\u001b[2J"]}`), "touch " + ran},
		{add("demo", touch("")), ran},            // the name of an existing server
		{add("dеmо", touch("")), ran},            // the same in Cyrillic letters
		{add("__proto__", touch("")), ""},        // a property of JavaScript objects
		{add("constructor", touch("")), ran},     //
		{add("evil", touch(""), "#code=1"), ran}, // with its own code
		{add("evil", `{"command":"`+markup+`","args":["`+markup+`"],"cwd":"`+markup+`"}`), "onerror"},
		{add("evil", `{"url":"javascript:window.pwned=1"}`), "javascript:"},
		{add("evil", `{"url":"file:///etc/passwd"}`), "file:///etc/passwd"},
		{add("evil", `{"url":"https://login.example@evil.example/\u202emoc.elgoog"}`), "evil.example"},
		{add("evil", `{"command":"touch","args":["`+huge+`","`+ran+`"]}`), ran},
		{strings.Replace(add("evil", `{"x":DEEP,"command":"deep"}`), "DEEP", strings.Repeat("[", 7000)+strings.Repeat("]", 7000), 1), "deep"},
		{add("evil", `{"command":"good","command":"touch","args":["`+ran+`"]}`), ran},
		{add("evil", `{"mcpServers":{"a":`+touch("")+`,"b":{"command":"second"}}}`), ran},
		{strings.Replace(add("evil", touch("")), "touch", "%74ouch", 1), ran},
		{"drawbridge://run?command=touch&args=" + ran, ""}, // TestLinksOpenOnlyThePage has more of these
	}
	before, err := os.ReadFile(filepath.Join(d.data, "config.jsonc"))
	require.NoError(t, err)
	w := startWebkit(t)
	begun := false
	for _, c := range cases {
		cmd := command(t, append(d.env(), "DRAWBRIDGE_PRINT_ADDRESS=1"), binary, c.link, "--data", d.data)
		if c.shows == "" {
			run(t, cmd, 1)
			continue
		}
		var told struct{ URL string }
		require.NoError(t, json.Unmarshal([]byte(run(t, cmd, 0)), &told))
		u, err := url.Parse(told.URL)
		require.Truef(t, err == nil && strings.HasPrefix(told.URL, d.url+"/#code="), "%.100q leads to %q", c.link, told.URL)
		to, err := url.ParseQuery(u.EscapedFragment())
		require.Truef(t, err == nil && strings.HasPrefix(to.Get("to"), "/add?"), "%.100q leads to %q", c.link, told.URL)
		if !begun { // opens the window; the other links are sent to the open window
			w.do("POST", "/url", object{"url": told.URL}, nil)
			begun = true
		} else {
			place, _ := json.Marshal(to.Get("to"))
			w.run("location.hash = "+string(place), nil)
		}
		want, _ := json.Marshal(c.shows)
		eventually.Complete(t, patience, func() string {
			var got string
			w.run(`const text = document.body.innerText, box = document.querySelector('form textarea')
				return text.includes('This form was opened by a link') && (text.includes(`+string(want)+`) || box?.value.includes(`+string(want)+`)) && box ? '' : text`, &got)
			if got != "" {
				return c.link[:min(len(c.link), 200)] + " does not show " + c.shows + " but " + tail(got)
			}
			return ""
		})
		var pwned bool
		if w.run("return 'pwned' in window || document.querySelector('form img, form script') !== null", &pwned); pwned {
			t.Errorf("%.200q runs in the page", c.link)
		}
		w.run("location.hash = '/servers'", nil)
		w.shows("Add server")
	}
	after, err := os.ReadFile(filepath.Join(d.data, "config.jsonc"))
	assert.Truef(t, err == nil && string(after) == string(before), "the configuration became %s (%v)", after, err)
	if list := d.ask("GET", "servers", nil); strings.Contains(list, "evil") || strings.Count(list, `"id":`) != 1 {
		t.Errorf("the servers became %s", tail(list))
	}
	_, err = os.Stat(ran)
	assert.Error(t, err, "a link ran a program")
}
