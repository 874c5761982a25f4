//go:build e2e

package e2e

import (
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func (d *daemon) host() string { return strings.TrimPrefix(d.url, "http://") }

func (d *daemon) port() string {
	_, port, _ := net.SplitHostPort(d.host())
	return port
}

// rss returns the resident memory of the daemon and its watchdog, without servers.
func (d *daemon) rss(t testing.TB) (bytes int) {
	t.Helper()
	for _, p := range descendants(d.cmd.Process.Pid) {
		if !strings.HasPrefix(p.command, binary) || strings.Contains(p.command, "demo-server") {
			continue
		}
		bytes += p.memory(t, "status", "VmRSS")
	}
	require.NotEqual(t, 0, bytes, "the daemon's memory cannot be read")
	return bytes
}

func bridged(t testing.TB) *daemon {
	t.Helper()
	d := start(t, object{"mcpServers": object{"demo": demo()}})
	d.running("demo")
	return d
}

func TestNET06OnlyHeaderTokenAuthenticates(t *testing.T) {
	t.Parallel()
	d := bridged(t)
	token := d.token("net")
	json := "Content-Type: application/json"
	accept := "Accept: application/json, text/event-stream"
	throttled := 0
	for _, path := range []string{"/mcp", "/s/demo/mcp"} {
		for _, c := range []struct {
			query   string
			headers []string
		}{
			{"", nil},
			{"?token=" + token + "&access_token=" + token, nil},
			{"", []string{"Authorization: Bearer dbr_wrong"}},
			{"", []string{"Authorization: Bearer " + token, "Authorization: Bearer " + token}},
			{"", []string{"Authorization: Bearer " + token, "Authorization: Bearer dbr_wrong"}},
			{"", []string{"Authorization: " + token}},
			{"", []string{"Authorization: Basic " + token}},
			{"", []string{"Authorization: Bearer " + token + "x"}},
			{"", []string{"Authorization: Bearer " + token[:len(token)-1]}},
			{"", []string{"Authorization: Bearer " + token + ", Bearer " + token}},
			{"", []string{"Authorization: Bearer " + d.admin}},
			{"", []string{"Authorization: Bearer " + strings.Repeat("x", 10_000)}},
			{"", []string{"Cookie: drawbridge_" + d.port() + "=" + token, "X-Drawbridge-Key: " + token}},
			{"", []string{"X-Drawbridge-Client: net", "X-Drawbridge-Shim: net"}},
			{"", []string{"Proxy-Authorization: Bearer " + token}},
		} {
			code, body, header := d.rawHTTP(t, headOf("POST", path+c.query, d.host(), len(hello), append(c.headers, json, accept)...), hello)
			switch {
			case code == 429 && header.Get("Retry-After") != "":
				throttled++
			case code != 401 || header.Get("WWW-Authenticate") == "":
				t.Errorf("%s%.10s %.60q: %d %s", path, c.query, c.headers, code, body)
			}
		}
	}
	// The throttle delays clients that guess and no others.
	for range 20 {
		code, _, _ := d.rawHTTP(t, headOf("POST", "/mcp", d.host(), len(hello), json, accept, "Authorization: Bearer dbr_guess"), hello)
		if code == 429 {
			throttled++
		}
		if code, body, _ := d.rawHTTP(t, headOf("POST", "/mcp", d.host(), len(hello), json, accept, "Authorization: Bearer "+token), hello); code != 200 {
			t.Fatalf("with the right token: %d %s", code, body)
		}
	}
	assert.NotEqual(t, 0, throttled, "50 guesses in a moment are not throttled")
	logged := d.log.String()
	files, _ := filepath.Glob(filepath.Join(d.data, "logs", "*"))
	for _, name := range files {
		src, _ := os.ReadFile(name)
		logged += string(src)
	}
	for _, secret := range []string{token, d.admin, "dbr_"} {
		assert.NotContains(t, logged, secret, "a token is in the log")
	}
	assert.Contains(t, logged, "without a valid access token", "a refused request is not in the log")
}

// endless is a body that does not end; after limit bytes the test has failed.
type endless struct{ sent, limit int }

func (e *endless) Read(p []byte) (int, error) {
	if e.sent > e.limit {
		return 0, io.EOF
	}
	e.sent += copy(p, bytes.Repeat([]byte{'1'}, len(p)))
	return len(p), nil
}

func TestNET08LargeEndlessAndCompressedBodiesAreBounded(t *testing.T) {
	d := bridged(t)
	token := d.token("net")
	send := func(path, bearer, encoding string, body io.Reader) int {
		req, err := http.NewRequest("POST", d.url+path, body)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+bearer)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if encoding != "" {
			req.Header.Set("Content-Encoding", encoding)
		}
		transport := &http.Transport{DisableKeepAlives: true}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			return 0 // cut off while writing, which is also correct
		}
		defer resp.Body.Close()
		io.Copy(io.Discard, resp.Body)
		return resp.StatusCode
	}
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 64 {
		z.Write(make([]byte, 1<<20))
	}
	z.Close()
	large := func(n int) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"` + strings.Repeat("a", n) + `"}}}`
	}
	// The exchange of a one-time code stops earlier, when it sees that this is no code.
	refused := func(path string, code int) bool {
		return code == 413 || code == 0 || code == 400 && path == "/api/session"
	}
	round := func() {
		for path, bearer := range map[string]string{"/mcp": token, "/api/v1/call": d.admin, "/api/session": ""} {
			// 5 MB exceeds the limit of the bridge, 9 MB exceeds every limit.
			for _, n := range []int{5 << 20, 9 << 20} {
				code := send(path, bearer, "", strings.NewReader(large(n)))
				assert.Truef(t, refused(path, code), "%s with %d bytes: %d", path, n, code)
			}
			e := &endless{limit: 64 << 20}
			code := send(path, bearer, "", io.MultiReader(strings.NewReader(`{"jsonrpc":"2.0","id":`), e))
			if !refused(path, code) || e.sent > 40<<20 {
				t.Errorf("%s with an endless body: %d after %d bytes", path, code, e.sent)
			}
			if code := send(path, bearer, "gzip", bytes.NewReader(bomb.Bytes())); code != 415 && code != 0 {
				t.Errorf("%s with a packed body: %d", path, code)
			}
		}
	}
	round()
	before := d.rss(t)
	for range 4 {
		round()
	}
	after := d.rss(t)
	t.Logf("memory after the first round %d MB, after four more %d MB", before>>20, after>>20)
	assert.Truef(t, after <= before+16<<20, "memory grows from %d to %d MB", before>>20, after>>20)
}

func TestNET09SlowHeadersBlockNobody(t *testing.T) {
	d := bridged(t)
	c := &rawClient{t: t, url: d.url + "/mcp", token: d.token("net"), modern: true}
	call := func() time.Duration {
		began := time.Now()
		c.post("tools/call", "demo__echo", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"x"},`+modernMeta+`}}`)
		return time.Since(began)
	}
	measure := func(n int) (list times) {
		for range n {
			list = append(list, call())
		}
		slices.Sort(list)
		return list
	}
	quiet := measure(200)
	var slow []net.Conn
	for range 800 {
		conn, err := net.DialTimeout("tcp", d.host(), limit(5*time.Second))
		require.NoError(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, "POST /mcp HTTP/1.1\r\nHost: "+d.host()+"\r\nX-Slow: ")
		require.NoError(t, err)
		slow = append(slow, conn)
	}
	began := time.Now()
	loaded := measure(200)
	open := time.Since(began)
	assert.Truef(t, open <= limit(4*time.Second), "200 calls beside 800 slow connections took %s", open)
	var wg sync.WaitGroup
	for _, conn := range slow {
		wg.Go(func() {
			conn.SetReadDeadline(began.Add(limit(8 * time.Second)))
			_, err := io.Copy(io.Discard, conn)
			assert.Falsef(t, err != nil && !strings.Contains(err.Error(), "reset"), "a slow connection is still open: %v", err)
		})
	}
	wg.Wait()
	t.Logf("800 slow connections were closed after %s; calls: quiet %s, beside them %s", time.Since(began).Round(time.Millisecond), quiet, loaded)
	p99 := len(quiet) * 99 / 100
	assert.Truef(t, loaded[p99] <= limit(4*quiet[p99]+10*time.Millisecond), "p99 grows from %s to %s", quiet[p99], loaded[p99])
}

// The test sends messages that two JSON parsers may read differently. Each is refused, or the
// server receives exactly the message that was checked.
func TestNET11PolicyAndServerReadSameMessage(t *testing.T) {
	t.Parallel()
	d := start(t, object{"mcpServers": object{"echo": testServer(t, "echo")}})
	d.running("echo")
	c := &rawClient{t: t, url: d.url + "/mcp", token: d.token("net")}
	c.initialize()
	call := func(params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`
	}
	const ok = `{"name":"echo__echo","arguments":{"a":1}}`
	for name, body := range map[string]string{
		"two methods":            `{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":` + ok + `}`,
		"a method spelled twice": `{"jsonrpc":"2.0","id":1,"method":"tools/list","m\u0065thod":"tools/call","params":` + ok + `}`,
		"Method":                 `{"jsonrpc":"2.0","id":1,"Method":"tools/call","method":"ping","params":` + ok + `}`,
		"METHOD alone":           `{"jsonrpc":"2.0","id":1,"METHOD":"tools/call","params":` + ok + `}`,
		"paramſ":                 `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + ok + `,"paramſ":{"name":"x"}}`,
		"a NUL in a key":         `{"jsonrpc":"2.0","id":1,"method":"tools/call","method\u0000":"ping","params":` + ok + `}`,
		"two names":              call(`{"name":"echo__echo","name":"other__tool"}`),
		"a name spelled twice":   call(`{"name":"echo__echo","n\u0061me":"other__tool"}`),
		"two arguments":          call(`{"name":"echo__echo","arguments":{},"arguments":{"x":1}}`),
		"depth 9,000":            call(`{"name":"echo__echo","arguments":{"a":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}}`),
		"depth 1,000,000":        call(`{"name":"echo__echo","arguments":{"a":` + strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000) + `}}`),
		"depth outside params":   `{"x":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `,"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + ok + `}`,
		"an object as id":        `{"jsonrpc":"2.0","id":{},"method":"tools/call","params":` + ok + `}`,
		"rest after the end":     call(ok) + call(ok),
		"a comment":              `{"jsonrpc":"2.0",/*x*/"id":1,"method":"tools/call","params":` + ok + `}`,
		"a byte order mark":      "\xef\xbb\xbf" + call(ok),
		"a comma too much":       `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + ok + `,}`,
	} {
		code, answer := d.as(c, body)
		if code < 400 && !strings.Contains(answer, `"error"`) && !strings.Contains(answer, `"isError":true`) || strings.Contains(answer, "structuredContent") {
			t.Errorf("%s: %d %s", name, code, tail(answer))
		}
	}
	// These are unambiguous and reach the server unchanged.
	for _, arguments := range []string{
		`{"dup":1,"dup":2}`, `{"name":"x","Name":"y"}`, `{"\u0000":1}`, `{"a\u0000":"\u0000"}`, `{"ſ":"s","s":"ſ"}`, `{"n":1e400,"m":-0,"k":0.10}`, `{"u":"\ud83d\ude00","raw":"😀"}`,
	} {
		code, answer := d.as(c, call(`{"name":"echo__echo","arguments":`+arguments+`}`))
		assert.Truef(t, code == 200 && strings.Contains(answer, `"structuredContent":`+arguments), "%s arrives as %d %s", arguments, code, answer)
	}
}

// as POSTs a body with the headers of a client and returns any result.
func (d *daemon) as(c *rawClient, body string) (int, string) {
	d.t.Helper()
	code, answer, _ := d.rawHTTP(d.t, headOf("POST", strings.TrimPrefix(c.url, d.url), d.host(), len(body), "Content-Type: application/json",
		"Accept: application/json, text/event-stream", "Authorization: Bearer "+c.token, "Mcp-Session-Id: "+c.session, "MCP-Protocol-Version: 2025-11-25"), body)
	return code, answer
}
