package bridge

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// limited returns a fixture whose client "small" has the limits.
func limited(t *testing.T, limits ClientLimits) *fixture {
	return newFixture(t, answerLocally, func(o *Options) {
		o.Limits = func(token string) ClientLimits {
			if token == "small" {
				return limits
			}
			return ClientLimits{}
		}
	})
}

func instructionsOf(t *testing.T, answer string) string {
	t.Helper()
	var m struct{ Result struct{ Instructions string } }
	require.NoError(t, json.Unmarshal([]byte(answer), &m), answer)
	return m.Result.Instructions
}

func TestTalkativeServersShareTheInstructions(t *testing.T) {
	for _, servers := range []int{5, 20, 60, 300} {
		s := limited(t, ClientLimits{Instructions: 2048})
		whole := map[string]string{}
		for i := range servers {
			id := fmt.Sprintf("server%d", i)
			whole[id] = strings.Repeat(fmt.Sprintf("Rule %d of %s says 💡 something. ", i, id), 30)
			if i == 1 {
				whole[id] = "Short."
			}
			s.registry.Set(id, id, &core.Catalog{Instructions: whole[id]})
		}
		got := instructionsOf(t, onlyMessage(t, s.modern("/mcp", "server/discover", "", "", ClientHeader, "small")))
		n := units(got)
		assert.Truef(t, n <= 2048 && !(servers <= 20 && n < 1500), "%d servers: %d units: %s", servers, n, got)
		for id := range whole {
			assert.Falsef(t, servers <= 60 && !strings.Contains(got, id), "%d servers: %s is not represented: %s", servers, id, got)
		}
		assert.Falsef(t, servers == 5 && !strings.Contains(got, "# server1\n\nShort."), "a short text is cut: %s", got)
		assert.Contains(t, onlyMessage(t, s.modern("/mcp", "tools/list", "", "", ClientHeader, "small")), readMore)
		assert.Equal(t, whole["server0"], textOf(t, s.callTool(core.Modern, "small", readMore, `{"server":"server0"}`)), "the rest reads")
		// Others get everything, and so does the endpoint of a server.
		other := instructionsOf(t, onlyMessage(t, s.modern("/mcp", "server/discover", "", "", ClientHeader, "other")))
		one := instructionsOf(t, onlyMessage(t, s.modern("/s/server2/mcp", "server/discover", "", "", ClientHeader, "small")))
		require.Containsf(t, other, strings.TrimSpace(whole["server2"]), "%d", servers)
		require.Equalf(t, whole["server2"], one, "%d", servers)
	}
}

func TestDescriptionsWithinTheLimitKeepTheirBytes(t *testing.T) {
	s := limited(t, ClientLimits{Description: 200})
	fits, long := strings.Repeat("é", 200), strings.Repeat("A sentence of 💡 words. ", 40)
	definition := `{"description":%s,"name":"%s","x-own":[1.0,"\u00e9"],"inputSchema":{"type":"object"}}`
	c := &core.Catalog{}
	for name, text := range map[string]string{"fits": fits, "over": fits + "é", "long": long} {
		c.Tools = append(c.Tools, core.Item{Name: name, Raw: json.RawMessage(fmt.Sprintf(definition, wire.AppendString(nil, text), name))})
	}
	s.registry.Set("texts", "texts", c)
	before := onlyMessage(t, s.modern("/mcp", "tools/list", "", "", ClientHeader, "other"))
	after := onlyMessage(t, s.modern("/mcp", "tools/list", "", "", ClientHeader, "small"))
	var list struct {
		Result struct{ Tools []json.RawMessage }
	}
	require.NoError(t, json.Unmarshal([]byte(after), &list))
	for _, raw := range list.Result.Tools {
		n := DescriptionUnits(raw)
		switch {
		case n > 200:
			t.Errorf("%d units: %s", n, raw)
		case strings.Contains(string(raw), `"texts__long"`) || strings.Contains(string(raw), `"texts__over"`):
			if n < 100 || !strings.Contains(string(raw), readMore) || !strings.Contains(string(raw), `,"x-own":[1.0,"\u00e9"],`) {
				t.Errorf("shortened to %s", raw)
			}
		case !strings.Contains(string(raw), readMore) && !strings.Contains(before, string(raw)):
			t.Errorf("changed: %s", raw)
		}
	}
	assert.Equal(t, long, textOf(t, s.callTool(core.Modern, "small", readMore, `{"tool":"texts__long"}`)), "the rest reads")
	assert.Contains(t, s.callTool(core.Modern, "small", readMore, `{}`), `"isError":true`, "without a name")
}

func TestToolsThatAClientUsesComeFirst(t *testing.T) {
	used := &UsedTools{{"math", "add"}: 3}
	s := newFixture(t, answerLocally, func(o *Options) {
		o.Used = func(token string) *UsedTools {
			if token == "small" || token == "plain" {
				return used
			}
			return nil
		}
		o.Limits = func(token string) ClientLimits {
			if token == "small" {
				return ClientLimits{PinKey: "anthropic/alwaysLoad", PinnedDescription: 40}
			}
			return ClientLimits{}
		}
	})
	for token, want := range map[string]string{
		"small": `{"tools":[{"name":"math__add","_meta":{"anthropic/alwaysLoad":true},`, "plain": `{"tools":[{"name":"math__add","`, "other": `{"tools":[{"name":"files__`,
	} {
		got := onlyMessage(t, s.modern("/mcp", "tools/list", "", "", ClientHeader, token))
		_, result, _ := strings.Cut(got, `"result":`)
		assert.Truef(t, strings.HasPrefix(result, want) && strings.Count(got, "alwaysLoad") <= 1, "%s gets %s", token, got)
	}
	for meta, want := range map[string]string{`{}`: `{"k":true}`, `{"a":1}`: `{"k":true,"a":1}`, `{"k":false}`: `{"k":false}`, `5`: `5`} {
		raw, _ := endpoint{limits: ClientLimits{PinKey: "k"}}.withinLimits([]byte(`{"name":"a","_meta":`+meta+`}`), "a", true)
		assert.Equal(t, `{"name":"a","_meta":`+want+`}`, string(raw), meta)
	}
}

// A server may pin its tool itself; the client then cuts the description of a pinned tool.
func TestToolThatItsServerPinsHasTheLimitOfPinnedTools(t *testing.T) {
	limits := ClientLimits{Description: 400, PinKey: "k", PinnedDescription: 100}
	for own, want := range map[string]int{`true`: 100, `false`: 400} {
		raw, shortened := endpoint{limits: limits}.withinLimits([]byte(`{"name":"a","description":"`+strings.Repeat("Some words. ", 90)+`","_meta":{"k":`+own+`}}`), "a", true)
		n := DescriptionUnits(raw)
		assert.Truef(t, shortened && n <= want && n >= want/2 && strings.Contains(string(raw), `"_meta":{"k":`+own+`}`), "%s: %d units: %s", own, n, raw)
	}
}

// corpus returns 500 definitions of tools as a registry.
func corpus(t testing.TB) *registry.Registry {
	t.Helper()
	file, err := os.Open("../registry/testdata/tool-search-500-tools.jsonl")
	require.NoError(t, err)
	defer file.Close()
	r, catalogs := registry.New(registry.Options{}), map[string]*core.Catalog{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var one struct {
			Server string
			Tool   json.RawMessage
		}
		var tool struct{ Name string }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &one))
		require.NoError(t, json.Unmarshal(one.Tool, &tool))
		if catalogs[one.Server] == nil {
			catalogs[one.Server] = &core.Catalog{}
		}
		c := catalogs[one.Server]
		c.Tools = append(c.Tools, core.Item{Name: tool.Name, Raw: one.Tool})
		r.Set(one.Server, "", c)
	}
	return r
}

func TestAutoModeNeverCostsMore(t *testing.T) {
	r := corpus(t)
	many := r.All()
	r.Configure(registry.Prefixed, []registry.Server{{ID: "few"}})
	r.Set("few", "", mathCatalog())
	few := r.All()
	for _, c := range []struct {
		name   string
		v      *registry.View
		limits ClientLimits
		want   string
	}{
		{"many", many, ClientLimits{}, ToolsSearch}, {"a client with its own search", many, ClientLimits{SearchesItself: true}, ""}, {"few", few, ClientLimits{}, ""},
		{"a client that does not support so many", many, ClientLimits{SearchesItself: true, Tools: 40}, ToolsSearch}, {"one that supports them", few, ClientLimits{Tools: 40}, ""},
	} {
		mode, why := AutoMode(c.v, c.limits, "")
		assert.Truef(t, mode == c.want && why != "", "%s: %q because %s", c.name, mode, why)
	}
	s := newFixture(t, answerLocally)
	s.bridge.SetVisibility(Visibility{Clients: map[string]ClientVisibility{"auto": {ToolMode: ToolsAuto}}})
	assert.Contains(t, onlyMessage(t, s.modern("/mcp", "tools/list", "", "", ClientHeader, "auto")), `"math__add"`, "few tools are listed as")
	// The client may have an older list, in another mode.
	got := textOf(t, s.callTool(core.Modern, "auto", findTools, `{"query":"add numbers"}`))
	assert.Truef(t, strings.HasPrefix(got, "math__add("), "found %s", got)
}

func TestSignaturesSayWhatAToolTakes(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"string"}},"required":["a"]}`:                                    `(a,b?:integer)`,
		`{"type":"object","properties":{"x":{"enum":["r","w"]},"y":{"type":["string","null"]},"z":{"const":1}}}`:                            `(x?:"r"|"w",y?:string|null,z?:1)`,
		`{"type":"object","properties":{"l":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"number"}]}}}}`:                     `(l?:(string|number)[])`,
		`{"type":"object","properties":{"o":{"type":"object","properties":{"p q":{"type":"boolean"}},"required":["p q"]}}}`:                 `(o?:{"p q":boolean})`,
		`{"type":"object","properties":{"r":{"$ref":"#/$defs/d"}},"$defs":{"d":{"type":"object","properties":{"r":{"$ref":"#/$defs/d"}}}}}`: `(r?:{r?:object})`,
		`{"anyOf":[{"type":"object","properties":{"a":{}}},{"type":"object","properties":{"b":{}}}]}`:                                       `({a?:any}|{b?:any})`,
		`{"type":"object"}`: `(...)`, `{}`: `(...)`, `{"type":"object","properties":{}}`: `()`, `{"type":"evil\nname"}`: `(...)`, `[]`: `(...)`, `{"$ref":"http://x"}`: `(...)`,
	} {
		item := registry.Item{Public: "t", Target: registry.Target{Raw: json.RawMessage(`{"name":"t","description":"Does it. Well.","inputSchema":` + schema + `}`)}}
		assert.Equal(t, "t"+want+": Does it", signature(item), schema)
	}
}

func TestInvalidArgumentsAreAnsweredWithTheDefinition(t *testing.T) {
	s := newFixture(t, func(context.Context, *core.Call, core.ServerMessageHandler) (core.Reply, error) {
		return core.Reply{}, &core.Error{Code: core.CodeValidation, Message: "wrong", Hint: "Correct it.", Fields: []core.FieldError{{Field: "region", Error: "is missing"}}}
	})
	s.setToolModes()
	definition := `\"x-mcp-header\":\"Region\"`
	assert.Contains(t, s.callTool(core.Legacy, "search", callTool, `{"name":"files__marked","arguments":{}}`), definition)
	assert.NotContains(t, s.callTool(core.Legacy, "other", "files__marked", `{}`), definition, "a client with the whole list gets")
}

// accepts reports whether a value is what the shape tells.
func (s shape) accepts(v any) bool {
	switch {
	case len(s.anyOf) > 0:
		return slices.ContainsFunc(s.anyOf, func(one shape) bool { return one.accepts(v) })
	case len(s.values) > 0:
		raw, _ := json.Marshal(v)
		return slices.Contains(s.values, string(raw))
	case s.items != nil:
		list, ok := v.([]any)
		return ok && !slices.ContainsFunc(list, func(one any) bool { return !s.items.accepts(one) })
	case s.members != nil:
		object, ok := v.(map[string]any)
		for _, m := range s.members {
			value, has := object[m.name]
			ok = ok && (has || !m.required) && (!has || m.is.accepts(value))
		}
		return ok
	}
	switch v := v.(type) {
	case string:
		return s.name == "string" || s.name == "any"
	case bool:
		return s.name == "boolean" || s.name == "any"
	case float64:
		return s.name == "number" || s.name == "any" || s.name == "integer" && v == float64(int64(v))
	case nil:
		return s.name == "null" || s.name == "any"
	case map[string]any:
		return s.name == "object" || s.name == "any"
	}
	return s.name == "any"
}

// valueOf returns a random value that a schema of the corpus allows.
func valueOf(r *rand.Rand, s map[string]any) any {
	if values, ok := s["enum"].([]any); ok {
		return values[r.IntN(len(values))]
	}
	switch s["type"] {
	case "object":
		o := map[string]any{}
		properties, _ := s["properties"].(map[string]any)
		required, _ := s["required"].([]any)
		for name, p := range properties {
			if sub, ok := p.(map[string]any); ok && (slices.Contains(required, any(name)) || r.IntN(2) == 0) {
				o[name] = valueOf(r, sub)
			}
		}
		return o
	case "array":
		items, _ := s["items"].(map[string]any)
		return []any{valueOf(r, items), valueOf(r, items)}
	case "integer":
		return float64(r.IntN(1000))
	case "number":
		return r.Float64()
	case "boolean":
		return r.IntN(2) == 0
	}
	return fmt.Sprint("text", r.IntN(1000))
}

func TestValidArgumentsMatchTheSignature(t *testing.T) {
	r, calls := rand.New(rand.NewPCG(1, 2)), 0
	for _, item := range corpus(t).All().Items(core.Tools) {
		var tool struct {
			InputSchema json.RawMessage `json:"inputSchema"`
		}
		var schema map[string]any
		require.NoError(t, json.Unmarshal(item.Raw, &tool))
		require.NoError(t, json.Unmarshal(tool.InputSchema, &schema))
		told := shapeOf(tool.InputSchema, maxSignatureDepth)
		for range 10 {
			calls++
			if v := valueOf(r, schema); !told.accepts(v) {
				t.Errorf("%s does not allow %v", signature(item), v)
			}
		}
	}
	assert.Truef(t, calls >= 5000, "only %d calls", calls)
}
