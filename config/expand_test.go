package config

import (
	"maps"
	"slices"
	"testing"
)

func TestSecretReferencesAreFoundEverywhere(t *testing.T) {
	c := parse(t, `{"mcpServers": {
		"one": {"command": "x", "args": ["--k=${secret:arg}"], "env": {"A": "${secret:both}", "B": "$${secret:literal}", "C": "${secret:late:-none}"}},
		"two": {"type": "http", "url": "http://127.0.0.1:1/${secret:path}", "headers": {"Authorization": "Bearer ${secret:both} ${OTHER}"}}
	}}`)
	got := ReferencedSecrets(c)
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, []string{"arg", "both", "late", "path"}) {
		t.Fatalf("found %v", got)
	}
	if !slices.Equal(got["both"], []string{"one", "two"}) {
		t.Fatalf("both is used by %v", got["both"])
	}
}
