package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Examples and starter files of earlier versions must parse without a problem. When a format
// change changes an example, keep the old one in testdata/earlier.
func TestConfigsOfEarlierVersionsAreRead(t *testing.T) {
	files, err := filepath.Glob("testdata/earlier/*")
	require.Truef(t, err == nil && len(files) >= 4, "%v, %v", files, err)
	for _, file := range files {
		src, err := os.ReadFile(file)
		require.NoError(t, err)
		c, problems := Parse(filepath.Base(file), src)
		assert.Truef(t, len(problems) <= 0 && c != nil, "%s: %v", file, problems)
	}
}

// testdata/accepted_keys.txt has a line for each key that any version has accepted, with its
// allowed values. Removing a key or a value would break existing configurations; new ones are added
// with: go test ./config -run TestKeysOfEarlierVersionsAreRead -update.
func TestKeysOfEarlierVersionsAreRead(t *testing.T) {
	const file = "testdata/accepted_keys.txt"
	now := map[string][]string{}
	var look func(place string, value any)
	look = func(place string, value any) {
		one, ok := value.(map[string]any)
		if !ok {
			return
		}
		var words []string
		for _, key := range []string{"type", "$ref", "enum"} {
			switch v := one[key].(type) {
			case string:
				words = append(words, v)
			case []any:
				for _, word := range v {
					words = append(words, fmt.Sprint(word))
				}
			}
		}
		now[place] = words
		if keys, ok := one["properties"].(map[string]any); ok {
			for key, inner := range keys {
				look(place+"."+key, inner)
			}
		}
		look(place+".*", one["additionalProperties"])
		look(place+"[]", one["items"])
		if either, ok := one["oneOf"].([]any); ok {
			for n, inner := range either {
				look(fmt.Sprint(place, "/", n), inner)
			}
		}
	}
	var root map[string]any
	require.NoError(t, json.Unmarshal(Schema(), &root))
	look("file", root)
	for name, def := range root["$defs"].(map[string]any) {
		look("$"+name, def)
	}
	src, err := os.ReadFile(file)
	require.NoError(t, err)
	known := map[string][]string{}
	for line := range strings.Lines(string(src)) {
		key, words, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		known[key] = strings.Fields(words)
	}
	assert.Truef(t, len(known) >= 150, "only %d keys of earlier versions", len(known))
	for key, words := range known {
		for _, word := range words {
			assert.Contains(t, now[key], word)
		}
	}
	var all []string
	for key, words := range now {
		all = append(all, strings.TrimSpace(key+" "+strings.Join(words, " "))+"\n")
		for _, word := range words {
			assert.Falsef(t, !slices.Contains(known[key], word) && !*update, "%s %s is new: write it down with -update", key, word)
		}
	}
	if *update && !t.Failed() { // lines are never removed
		slices.Sort(all)
		require.NoError(t, os.WriteFile(file, []byte(strings.Join(all, "")), 0o644))
	}
}
