package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tailscale/hujson"

	"github.com/drawbridge-mcp/drawbridge/config"
)

// accepted checks that both the program and the JSON schema accept a configuration.
// absoluteJSON finds absolute paths of Unix in lists.
var absoluteJSON = regexp.MustCompile(`([\[,]\s*)"(/)`)

func accepted(t *testing.T, where, name, src string) {
	t.Helper()
	if _, problems := config.Parse(name, []byte(src)); len(problems) > 0 {
		t.Errorf("%s: %v\n%s", where, problems, src)
		return
	}
	plain := []byte(src)
	var err error
	if strings.HasSuffix(name, ".yaml") {
		plain, err = yaml.YAMLToJSON(plain)
	} else {
		plain, err = hujson.Standardize(plain)
	}
	require.NoError(t, err, where)
	var value any
	require.NoError(t, json.Unmarshal(plain, &value), where)
	assert.NoErrorf(t, schema(t).Validate(value), "%v %v", where, src)
}

func schema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	require.NoError(t, json.Unmarshal(config.Schema(), &s))
	resolved, err := s.Resolve(nil)
	require.NoError(t, err)
	return resolved
}

// Every configuration in a document can be pasted. A block for another program's file is marked
// "json client" and must only be valid JSON.
func TestConfigurationsInDocumentsAreAccepted(t *testing.T) {
	count := 0
	for _, b := range blocks(t) {
		kind, client := strings.CutSuffix(b.kind, " client")
		src := strings.TrimSpace(b.text)
		switch kind {
		case "json", "jsonc":
			if strings.HasPrefix(src, `"`) || strings.HasPrefix(src, "//") && !strings.Contains(src, "\n{") { // entries without the enclosing object
				src = `{"mcpServers": {` + src + `}}`
			}
			if client {
				plain, err := hujson.Standardize([]byte(src))
				assert.Truef(t, err == nil && json.Valid(plain), "%s: no JSON: %v\n%s", b.path, err, src)
				continue
			}
			if runtime.GOOS == "windows" { // the examples have the paths of Unix
				src = absoluteJSON.ReplaceAllString(src, `$1"C:$2`)
			}
			accepted(t, b.path, "config.jsonc", src)
		case "yaml":
			accepted(t, b.path, "config.yaml", src)
		default:
			continue
		}
		count++
	}
	assert.Truef(t, count >= 12, "only %d configurations were found: the documents are not understood", count)
}

func TestExamplesAreAccepted(t *testing.T) {
	dir := filepath.Join(root, "config/examples")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	kinds := map[string]bool{}
	for _, e := range entries {
		src, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		accepted(t, e.Name(), e.Name(), string(src))
		c, _ := config.Parse(e.Name(), src)
		for _, s := range c.Servers {
			kinds[string(s.Type)] = true
		}
	}
	for _, kind := range []string{"stdio", "docker", "http", "sse"} {
		assert.Truef(t, kinds[kind], "no example has a server of type %s", kind)
	}
	_, err = os.Stat(filepath.Join(dir, "config.mcp.json"))
	assert.NoError(t, err)
}

// The schema describes each key, for the reference and for completion in editors.
func TestEveryConfigKeyIsDocumented(t *testing.T) {
	var root property
	require.NoError(t, json.Unmarshal(config.Schema(), &root))
	keys := 0
	var look func(place string, p property)
	look = func(place string, p property) {
		for _, inner := range p.Properties {
			keys++
			assert.NotEmptyf(t, inner.Description, "%s%s has no description in config/schema.json", place, inner.name)
			look(place+inner.name+".", inner.property)
		}
		var each property
		if json.Unmarshal(p.Additional, &each) == nil {
			look(place+"*.", each)
		}
	}
	look("", root)
	for name, p := range root.Defs {
		look(name+": ", p)
	}
	assert.Truef(t, keys >= 150, "only %d keys were found: the schema is not understood", keys)
}
