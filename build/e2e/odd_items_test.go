//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/mcptest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wellFormed are items with every member that MCP 2025-11-25 defines.
const wellFormed = `{
	"tools": {"name":"t","title":"T","description":"D","icons":[{"src":"data:,","mimeType":"image/png","sizes":["any"],"theme":"dark"}],
		"inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"a":{"type":"string"}},"required":["a"]},
		"outputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"a":{"type":"string"}},"required":["a"]},
		"annotations":{"title":"T","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false},
		"execution":{"taskSupport":"forbidden"},"_meta":{"a":1}},
	"prompts": {"name":"t","title":"T","description":"D","icons":[{"src":"data:,"}],"arguments":[{"name":"a","title":"A","description":"D","required":true}],"_meta":{"a":1}},
	"resources": {"uri":"x:t","name":"t","title":"T","description":"D","icons":[{"src":"data:,"}],"mimeType":"text/plain","size":5,
		"annotations":{"audience":["user"],"priority":0.5,"lastModified":"2025-01-12T15:00:58Z"},"_meta":{"a":1}},
	"resourceTemplates": {"uriTemplate":"y:{t}","name":"t","title":"T","description":"D","icons":[{"src":"data:,"}],"mimeType":"text/plain",
		"annotations":{"audience":["user"],"priority":0.5,"lastModified":"2025-01-12T15:00:58Z"},"_meta":{"a":1}}
}`

// deviations returns a copy of an item for each of its members at any depth and each fault: null, a
// value of another type, and none at all. Names identify the fault.
func deviations(item any) map[string]any {
	all := map[string]any{}
	var visit func(path []string, value any)
	visit = func(path []string, value any) {
		if len(path) > 0 {
			for fault, with := range map[string]any{"null": nil, "other type": otherType(value), "missing": missing} {
				all[strings.Join(path, ".")+" "+fault] = replaced(item, path, with)
			}
		}
		switch v := value.(type) {
		case object:
			for key, part := range v {
				visit(append(slices.Clone(path), key), part)
			}
		case []any:
			visit(append(slices.Clone(path), "0"), v[0])
		}
	}
	visit(nil, item)
	return all
}

var missing = new(int)

func otherType(value any) any {
	switch value.(type) {
	case string:
		return 5
	case bool, float64:
		return "5"
	case []any:
		return object{"a": 1}
	}
	return "x"
}

func replaced(value any, path []string, with any) any {
	if len(path) == 0 {
		return with
	}
	switch v := value.(type) {
	case object:
		out := object{}
		for key, part := range v {
			if key == path[0] {
				if part = replaced(part, path[1:], with); part == missing {
					continue
				}
			}
			out[key] = part
		}
		return out
	case []any:
		if part := replaced(v[0], path[1:], with); part != missing {
			return []any{part}
		}
		return []any{}
	}
	return value
}

// A server lists one well-formed item of each kind and many odd ones. The lists of another server
// are complete for every client at the endpoint that combines them, and so are the well-formed items.
func TestOddItemsHideNoOtherItemFromRealClients(t *testing.T) {
	t.Parallel()
	var good map[string]any
	decode(t, wellFormed, &good)
	entry := func(lists any) object {
		server := testServer(t, "lists")
		text, err := json.Marshal(lists)
		require.NoError(t, err)
		server["env"].(object)[mcptest.EnvLists] = string(text)
		return server
	}
	outputs := map[string]any{}
	for i, schema := range []string{
		`{"type":"text"}`, `{"type":"object","properties":{"a":{"pattern":"\\Z"}}}`, `{"type":"object","properties":{"a":{"pattern":"("}}}`, `{"type":"object","id":"x"}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}`, `{"type":"object","properties":{"a":{"minimum":"5","enum":[],"nullable":true}}}`,
		`{"type":"array","items":{"$ref":"#/$defs/a"},"$defs":{"a":{"type":"string"}}}`, `{"oneOf":[{"$ref":"#"}]}`, `true`, `[]`, `{"type":"object","anyOf":5}`,
	} {
		var output any
		decode(t, schema, &output)
		outputs[fmt.Sprintf("outputs.%d schema", i)] = object{"name": "t", "inputSchema": object{"type": "object"}, "outputSchema": output}
	}
	servers := object{"good": entry(object{"tools": []any{good["tools"]}, "prompts": []any{good["prompts"]}, "resources": []any{good["resources"]}, "resourceTemplates": []any{good["resourceTemplates"]}})}
	profiles, members, rows := object{}, map[string]string{"all": "all"}, 0
	for kind, item := range good {
		byMember := map[string][]any{}
		odd := deviations(item)
		if kind == "tools" {
			maps.Copy(odd, outputs)
		}
		for fault, odd := range odd {
			rows++
			member := strings.Fields(fault)[0]
			if o := odd.(object); o["uri"] != nil {
				o["uri"] = "x:odd-" + fmt.Sprint(rows)
			}
			if o := odd.(object); o["name"] == "t" {
				o["name"] = "odd-" + fmt.Sprint(rows)
			}
			byMember[member] = append(byMember[member], odd)
		}
		for member, list := range byMember {
			id := fmt.Sprintf("odd-%d", len(profiles))
			servers[id] = entry(object{kind: list})
			profiles[id] = object{"servers": object{"good": object{}, id: object{}}}
			members[id] = kind + ": " + member
		}
	}
	require.Truef(t, rows >= 60, "only %d deviations", rows)
	d := start(t, object{"mcpServers": servers, "profiles": profiles})
	endpoints := map[string]string{"all": d.url + "/mcp"}
	for id := range profiles {
		d.running(id)
		endpoints[id] = d.url + "/p/" + id + "/mcp"
	}
	names := map[string]string{"tools": "good__t", "prompts": "good__t", "resources": "t", "resourceTemplates": "t"}
	for _, sdk := range []string{"v1", "v2", "v2-legacy"} {
		t.Run(sdk, func(t *testing.T) {
			var read map[string]map[string]any
			decode(t, readLists(t, object{"endpoints": endpoints, "token": d.token("reader"), "sdk": sdk}), &read)
			for id := range endpoints {
				for kind, name := range names {
					list, ok := read[id][kind].([]any)
					if !ok || !slices.Contains(list, any(name)) {
						t.Errorf("with odd %s: %s: %v", members[id], kind, read[id][kind])
					}
				}
			}
		})
	}
	t.Run("Claude Code", func(t *testing.T) {
		home, env := isolatedHome(t)
		entries := object{}
		for id, url := range endpoints {
			entries[id] = object{"type": "http", "url": url, "headers": object{"Authorization": "Bearer " + d.token("claude")}}
		}
		settings(t, filepath.Join(home, ".claude.json"), object{"mcpServers": entries})
		env = append(env, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1")
		text := inHome(t, home, env, claudeCodeBinary(t), "mcp", "list")
		n := strings.Count(text, "Connected")
		assert.Truef(t, n >= len(endpoints) && !strings.Contains(text, "fail"), "%d of %d connected:\n%s", n, len(endpoints), text)
	})
	assert.Contains(t, d.cli(0, "status"), "annotations.readOnlyHint", "status does not name what is odd")
}

// A server of MCP 2026-07-28 has tools whose results are no objects. Older clients list and call them.
func TestOutputsAreWrappedForOlderRealClients(t *testing.T) {
	t.Parallel()
	server := testServer(t, "lists")
	server["env"].(object)[mcptest.EnvLists] = `{"modern":true,
		"tools":[{"name":"days","inputSchema":{"type":"object"},"outputSchema":{"type":"array","items":{"$ref":"#/$defs/day"},"$defs":{"day":{"type":"string"}}}}],
		"result":{"resultType":"complete","content":[{"type":"text","text":"Monday"}],"structuredContent":["Monday"]}}`
	d := start(t, object{"mcpServers": object{"m": server}})
	d.running("m")
	for sdk, want := range map[string]string{"v1": `{"result":["Monday"]}`, "v2-legacy": `{"result":["Monday"]}`, "v2": `["Monday"]`} {
		var read map[string]struct {
			Tools  any
			Result struct{ StructuredContent json.RawMessage }
		}
		decode(t, readLists(t, object{"endpoints": object{"all": d.url + "/mcp", "own": d.url + "/s/m/mcp"}, "token": d.token("reader"), "sdk": sdk, "call": "days"}), &read)
		decode(t, readLists(t, object{"endpoints": object{"all": d.url + "/mcp"}, "token": d.token("reader"), "sdk": sdk, "call": "m__days"}), &read)
		for endpoint, got := range read {
			assert.Equalf(t, want, string(got.Result.StructuredContent), "%v %v %v", sdk, endpoint, got.Tools)
		}
	}
}

func decode(t testing.TB, text string, v any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), v), text)
}

// readLists runs read-lists.mjs.
func readLists(t testing.TB, input object) string {
	t.Helper()
	text, err := json.Marshal(input)
	require.NoError(t, err)
	cmd := command(t, nil, node, abs("clients/read-lists.mjs"))
	cmd.Stdin = strings.NewReader(string(text))
	return run(t, cmd, 0)
}
