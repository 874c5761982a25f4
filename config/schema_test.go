package config

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type schemaObject struct {
	Properties map[string]schemaProperty `json:"properties"`
}

type schemaProperty struct {
	Type    any    `json:"type"`
	Enum    []any  `json:"enum"`
	Default any    `json:"default"`
	Ref     string `json:"$ref"`
	schemaObject
}

func readSchema(t *testing.T) (root, server schemaObject, defs map[string]schemaObject) {
	t.Helper()
	var s struct {
		Draft string `json:"$schema"`
		schemaObject
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(Schema(), &s))
	assert.Equal(t, "https://json-schema.org/draft/2020-12/schema", s.Draft)
	defs = map[string]schemaObject{}
	for name, raw := range s.Defs {
		var o schemaObject
		require.NoError(t, json.Unmarshal(raw, &o))
		defs[name] = o
	}
	return s.schemaObject, defs["server"], defs
}

// fieldsAccept reports whether the real fields accept value under a key.
func fieldsAccept(t *testing.T, fields []field, name, value string) bool {
	t.Helper()
	root, problem := tree("probe.json", []byte(value))
	require.Nil(t, problem)
	i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
	r := &reader{}
	fields[i].read(r, name, root.at, root)
	return !HasErrors(r.problems)
}

func checkObject(t *testing.T, path string, fields []field, o schemaObject) {
	t.Helper()
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	slices.Sort(names)
	assert.Empty(t, cmp.Diff(names, slices.Sorted(maps.Keys(o.Properties))), path)
	for name, p := range o.Properties {
		if !slices.Contains(names, name) || name == "$schema" || name == "name" || name == "description" {
			continue
		}
		where := path + name
		if p.Default != nil {
			value, _ := json.Marshal(p.Default)
			assert.Truef(t, fieldsAccept(t, fields, name, string(value)), "%s: Go refuses the default %s", where, value)
		}
		for _, v := range p.Enum {
			value, _ := json.Marshal(v)
			assert.Truef(t, fieldsAccept(t, fields, name, string(value)), "%s: Go refuses %s, which the schema allows", where, value)
		}
		// Both reject a value of any other kind.
		kinds := map[string]string{"string": `"http://127.0.0.1:1"`, "integer": "5", "number": "1.5", "boolean": "true", "object": "{}", "array": "[]"}
		allowed, _ := p.Type.(string)
		switch {
		case p.Enum != nil:
			allowed = "string"
		case strings.HasSuffix(p.Ref, "/strings"):
			allowed = "object"
		case strings.HasSuffix(p.Ref, "/servers"):
			continue
		case strings.HasSuffix(p.Ref, "/patterns"):
			allowed = "array"
		case p.Ref != "":
			allowed = "object"
		}
		for kind, value := range kinds {
			if allowed == "number" && kind == "integer" {
				continue // an integer is a number
			}
			if pass := fieldsAccept(t, fields, name, value); pass && kind != allowed {
				t.Errorf("%s: Go takes %s, the schema wants %s", where, kind, allowed)
			} else if !pass && kind == allowed && p.Enum == nil && kind != "string" {
				t.Errorf("%s: Go refuses %s", where, value)
			}
		}
	}
}

func TestSchemaMatchesParser(t *testing.T) {
	root, server, defs := readSchema(t)
	var boxes []container
	checkObject(t, "", rootFields(Default(), &rules{}, &boxes), root)
	checkObject(t, "server.", serverFields(&entry{Server: Server{keys: map[string]Position{}}}), server)
	checkObject(t, "server.docker.", dockerFields(&Docker{}), server.Properties["docker"].schemaObject)
	checkObject(t, "server.oauth.", oauthFields(&OAuth{}, new(string)), server.Properties["oauth"].schemaObject)
	checkObject(t, "server.accounts.", accountFields(&Account{}, map[string]Position{}), defs["account"])
	checkObject(t, "profile.", profileFields(&Profile{}), defs["profile"])
	checkObject(t, "client.", clientFields(&Client{}), defs["client"])

	checkObject(t, "server.sandbox.", sandboxFields(&Sandbox{}), defs["sandbox"])
	checkObject(t, "tool.", toolFields(&Tool{}), defs["tool"])
	for name, fields := range map[string]field{
		"retry": retryField(new(*Retry)), "breaker": breakerField(new(*Breaker)),
		"rateLimit": rateLimitField(new(*RateLimit)), "concurrency": concurrencyField(new(*Concurrency)),
	} {
		for key := range defs[name].Properties {
			r := &reader{}
			root, _ := tree("probe.json", []byte(`{"`+key+`": null}`))
			fields.read(r, name, root.at, root)
			if len(r.problems) != 1 || r.problems[0].Warning {
				t.Errorf("%s.%s: %v", name, key, r.problems)
			}
		}
	}

	// Sections, by the keys that Go does not report as unknown.
	for section, o := range map[string]schemaObject{
		"bridge": root.Properties["bridge"].schemaObject, "history": root.Properties["history"].schemaObject,
		"metrics": root.Properties["metrics"].schemaObject, "globalSettings": root.Properties["globalSettings"].schemaObject, "mcp": root.Properties["mcp"].schemaObject,
		"policy": root.Properties["policy"].schemaObject,
	} {
		for key := range o.Properties {
			_, problems := Parse("c.json", []byte(`{"`+section+`": {"`+key+`": null}}`))
			for _, problem := range problems {
				assert.Falsef(t, problem.Warning, "%s.%s: %v", section, key, problem)
			}
		}
	}
	for name, want := range map[string]time.Duration{
		"startupTimeoutMs": DefaultStartupTimeout, "heartbeatIntervalMs": DefaultHeartbeat, "staleTimeoutMs": DefaultStale,
	} {
		got := server.Properties[name].Default
		assert.Truef(t, got == float64(want.Milliseconds()), "%s: the schema says %v, Go %v", name, got, want)
	}
	names := make([]any, len(Namings))
	for i, n := range Namings {
		names[i] = n
	}
	assert.Empty(t, cmp.Diff(names, root.Properties["bridge"].Properties["naming"].Enum))
	for spelling := range transports {
		assert.Contains(t, server.Properties["type"].Enum, any(spelling), "the schema does not know the type")
	}
}

func TestStarterIsTheDefault(t *testing.T) {
	c, problems := Parse("config.jsonc", Starter())
	assert.Truef(t, c != nil && len(problems) <= 0 && Same(c, Default()), "the starter is not the default: %v", problems)
}

func TestWordsLimitsAndDefaultsComeFromTheSchema(t *testing.T) {
	t.Parallel()
	var to struct {
		Word  string        `key:"word"`
		Name  string        `key:"name,id"`
		Off   bool          `key:"on,not"`
		Count int           `key:"count"`
		Wait  time.Duration `key:"waitMs"`
		Keep  time.Duration `key:"keepDays"`
		Inner struct {
			List []string `key:"list"`
		} `key:"inner"`
	}
	var node schemaNode
	if err := json.Unmarshal([]byte(`{"properties": {"word": {"enum": ["a", "b"]}, "name": {"minLength": 1}, "on": {}, "count": {"minimum": 2, "maximum": 5, "default": 4},
		"waitMs": {"minimum": 10, "maximum": 20}, "keepDays": {"maximum": 3}, "inner": {"properties": {"list": {"default": ["d"]}}}}}`), &node); err != nil {
		t.Fatal(err)
	}
	node.parseDefaults()
	if node.setDefaults(&to); to.Count != 4 || len(to.Inner.List) != 1 || to.Word != "" {
		t.Errorf("the defaults are %+v", to)
	}
	for src, want := range map[string]string{
		`{"word": "c"}`: "'word' must be one of a, b", `{"name": " "}`: "'name' must not be empty", `{"name": "a b"}`: "'name' must be at most 32 letters and digits, with single '_' or '-' between them",
		`{"count": 1}`: "'count' must be a whole number from 2 to 5", `{"waitMs": 21}`: "'waitMs' must be a whole number from 10 to 20", `{"keepDays": -1}`: "'keepDays' must be a whole number from 0 to 3",
		`{"inner": {"lst": 1}}`: "unknown key 'lst'", `{"inner": {"list": 1}}`: "'list' must be a list of strings, not a number",
		`{"word": "b", "name": "x", "on": false, "count": 5, "waitMs": 10, "keepDays": 1, "inner": {"list": ["l"]}}`: "",
	} {
		root, _ := tree("c.json", []byte(src))
		r := &reader{}
		r.object(root, node.fields(&to))
		assert.Equal(t, want, append(r.problems, Problem{})[0].Message, src)
	}
	if to.Word != "b" || to.Name != "x" || !to.Off || to.Count != 5 || to.Wait != 10*time.Millisecond || to.Keep != 24*time.Hour || len(to.Inner.List) != 1 {
		t.Errorf("%+v", to)
	}
}
