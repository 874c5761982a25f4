package upstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
)

// respondWith answers initialize, server/discover and tools/list with the given results.
func respondWith(results map[string]string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal(body, &m)
		result, known := results[m.Method]
		switch {
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		case !known:
			w.WriteHeader(http.StatusBadRequest)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
		}
	})
}

func TestMalformedHandshakeIsDescribedWithoutGoTypes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		era                  core.Era
		method, result, want string
	}{
		{core.Legacy, "initialize", `"hello"`, "expected an object, found a string"},
		{core.Legacy, "initialize", `[]`, "expected an object, found an array"},
		{core.Legacy, "initialize", `null`, "expected an object, found null"},
		{core.Legacy, "initialize", `{"protocolVersion":5,"capabilities":{}}`, `expected a string in "protocolVersion", found a number`},
		{core.Modern, "server/discover", `true`, "expected an object, found a boolean"},
		{core.Modern, "server/discover", `{"supportedVersions":{}}`, `expected an array in "supportedVersions", found an object`},
		{core.Modern, "server/discover", `{"supportedVersions":[5]}`, `expected a string in "supportedVersions", found a number`},
		{core.Modern, "server/discover", `{"supportedVersions":["2026-07-28"],"_meta":7}`, `expected an object in "_meta", found a number`},
	} {
		server := httptest.NewServer(respondWith(map[string]string{c.method: c.result}))
		_, err := Connect(t.Context(), Options{Server: "test", Era: c.era, Remote: &Remote{URL: server.URL + "/mcp"}})
		want := `cannot connect to server "test": the server's response to ` + c.method + " is not valid: " + c.want
		assert.Equal(t, want, fmt.Sprint(err), c.result)
		server.Close()
	}
}

func TestMalformedListIsDescribedInWarning(t *testing.T) {
	t.Parallel()
	for result, want := range map[string]string{
		`"hello"`:       "expected an object, found a string",
		`{"tools":{}}`:  `expected an array in "tools", found an object`,
		`{"tools":"x"}`: `expected an array in "tools", found a string`,
	} {
		c := connectRemote(t, respondWith(map[string]string{
			"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}`, "tools/list": result,
		}), core.Legacy, nil)
		want = "cannot list tools: the server's response to tools/list is not valid: " + want
		assert.Equal(t, want, strings.Join(c.Catalog().Warnings, "\n"), result)
	}
}

// What is listed so far is used, and a person is told that there may be more.
func TestCursorThatIsNoStringEndsListWithWarning(t *testing.T) {
	t.Parallel()
	const tool = `{"name":"a","inputSchema":{"type":"object"}}`
	for cursor, found := range map[string]string{`5`: "a number", `{}`: "an object", `true`: "a boolean", `null`: "", `""`: ""} {
		c := connectRemote(t, respondWith(map[string]string{
			"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}`, "tools/list": `{"tools":[` + tool + `],"nextCursor":` + cursor + `}`,
		}), core.Legacy, nil)
		want := ""
		if found != "" {
			want = `the list of tools may be incomplete: expected a string in "nextCursor", found ` + found
		}
		if got := strings.Join(c.Catalog().Warnings, "\n"); got != want || len(c.Catalog().Tools) != 1 {
			t.Errorf("%s: %d tools, %q", cursor, len(c.Catalog().Tools), got)
		}
	}
}

func TestServerThatQuotesIDsIsUsedWithWarning(t *testing.T) {
	t.Parallel()
	inner := respondWith(map[string]string{"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}`, "tools/list": `{"tools":[]}`})
	c := connectRemote(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		inner.ServeHTTP(answer, r)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(answer.Code)
		_, _ = io.WriteString(w, regexp.MustCompile(`"id":(\d+)`).ReplaceAllString(answer.Body.String(), `"id":"$1"`))
	}), core.Legacy, nil)
	assert.Equal(t, quotedIDsWarning, strings.Join(c.Catalog().Warnings, "\n"))
}

func TestPlainHTTPIsLimitedToLoopback(t *testing.T) {
	for address, ok := range map[string]bool{
		"http://127.0.0.1:8080/mcp":            true,
		"http://127.9.9.9/mcp":                 true,
		"http://[::1]:8080/mcp":                true,
		"http://[::ffff:127.0.0.1]/mcp":        true,
		"http://LocalHost:1/mcp":               true,
		"https://example.com/mcp":              true,
		"http://example.com/mcp":               false,
		"http://127.0.0.1.example.com/mcp":     false,
		"http://localhost.example.com/mcp":     false,
		"http://127.0.0.1@example.com/mcp":     false,
		"http://example.com#127.0.0.1":         false,
		"http://10.0.0.1/mcp":                  false,
		"http://0.0.0.0/mcp":                   false,
		"http://[fe80::1%25lo]/mcp":            false,
		"HTTP://example.com/mcp":               false,
		"http://2130706433/mcp":                false,
		"http://host.docker.internal:3000/mcp": false,
	} {
		err := (&Remote{URL: address}).checkTransportSecurity("s")
		assert.Equal(t, ok, err == nil, address)
		assert.NoError(t, (&Remote{URL: address, AllowInsecure: true}).checkTransportSecurity("s"), address)
	}
	sent := 0
	client := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		sent++
		return nil, errors.New("offline")
	})}
	_, err := Connect(t.Context(), Options{Server: "s", Remote: &Remote{URL: "http://example.invalid/mcp", HTTP: client}})
	assert.Truef(t, core.CodeOf(err) == core.CodeValidation && strings.Contains(err.Error(), "plain http") && sent == 0, "%v, %d requests were sent", err, sent)
}

// roundTrip is a function that sends HTTP requests.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
