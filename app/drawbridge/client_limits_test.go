package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type listedAlready struct{}

func (listedAlready) WaitListed(context.Context, string) {}

// The 500 tools get descriptions of up to 20,000 characters, and their 20 servers instructions of 1,000.
func TestNoClientLosesSilentlyWhatItsLimitsExclude(t *testing.T) {
	file, err := os.Open("../../backend/registry/testdata/tool-search-500-tools.jsonl")
	require.NoError(t, err)
	defer file.Close()
	views, catalogs, tools := registry.New(registry.Options{}), map[string]*core.Catalog{}, 0
	for lines := bufio.NewScanner(file); lines.Scan(); tools++ {
		var one struct {
			Server string
			Tool   map[string]any
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &one))
		text, _ := one.Tool["description"].(string)
		if tools%7 == 0 {
			one.Tool["description"] = strings.Repeat(text+" ", 1+(tools*40)/len(text))
		}
		if tools%11 == 0 {
			one.Tool["name"] = fmt.Sprint(one.Tool["name"], strings.Repeat("x", 60))
		}
		raw, _ := json.Marshal(one.Tool)
		if catalogs[one.Server] == nil {
			catalogs[one.Server] = &core.Catalog{Instructions: strings.Repeat("Rule of "+one.Server+". ", 60)}
		}
		c := catalogs[one.Server]
		c.Tools = append(c.Tools, core.Item{Name: fmt.Sprint(one.Tool["name"]), Raw: raw})
	}
	for id, c := range catalogs {
		views.Set(id, id, c)
	}
	front := bridge.New(bridge.Options{Registry: views, Lister: listedAlready{}, Limits: func(token string) bridge.ClientLimits { return clientLimits(token, "") }})
	ask := func(client, method string, into any) {
		body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"}}}}`
		r := httptest.NewRequest("POST", "/mcp", strings.NewReader(body))
		for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": core.ModernVersion, "Mcp-Method": method, bridge.ClientHeader: client} {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		front.ServeHTTP(w, r)
		answer, _ := io.ReadAll(w.Body)
		require.NoErrorf(t, json.Unmarshal(answer, into), "%v %v %v", client, method, string(answer))
	}
	units := func(s string) int { return len(utf16.Encode([]rune(s))) }
	for _, client := range clientconf.Known() {
		var list struct {
			Result struct {
				Tools []struct{ Name, Description string }
			}
		}
		var about struct{ Result struct{ Instructions string } }
		ask(client.ID, "tools/list", &list)
		ask(client.ID, "server/discover", &about)
		lost, limits := 0, client.Limits
		for _, tool := range list.Result.Tools {
			name := strings.ReplaceAll(client.NamePrefix, "{entry}", clientconf.EntryName) + tool.Name
			if limits.Description > 0 && units(tool.Description) > limits.Description || client.MaxPrefixedName > 0 && len(name) > client.MaxPrefixedName {
				lost++
			}
		}
		assert.Truef(t, len(list.Result.Tools) >= tools && lost <= 0, "%s gets %d of %d tools and loses %d", client.ID, len(list.Result.Tools), tools, lost)
		if limits.Instructions > 0 && units(about.Result.Instructions) > limits.Instructions {
			t.Errorf("%s gets %d characters of instructions", client.ID, units(about.Result.Instructions))
		}
		for id := range catalogs {
			assert.Contains(t, about.Result.Instructions, id, client.ID)
		}
	}
}

// A client under a name that its user chose is known by how its application calls itself.
func TestApplicationTellsTheLimitsOfAClientUnderAnotherName(t *testing.T) {
	views := registry.New(registry.Options{})
	views.Set("talker", "", &core.Catalog{Instructions: strings.Repeat("A rule of the talker. ", 300)})
	var front *bridge.Bridge
	front = bridge.New(bridge.Options{Registry: views, Lister: listedAlready{}, Limits: func(token string) bridge.ClientLimits { return clientLimits(token, front.ClientName(token)) }})
	for names, limit := range map[string]int{"mine|claude-code": 2048, "mine|Claude Code": 2048, "mine|claude-codes": 10_000, "mine|other": 10_000, "claude-code|renamed": 2048} {
		token, application, _ := strings.Cut(names, "|")
		r := httptest.NewRequest("POST", "/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"`+application+`","version":"1"}}}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set(bridge.ClientHeader, token)
		w := httptest.NewRecorder()
		front.ServeHTTP(w, r)
		n := w.Body.Len()
		assert.Truef(t, n >= 2000 && n <= limit+1500 && !(limit > 2048 && n < 6000), "%s: %d bytes", names, n)
	}
}
