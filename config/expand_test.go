package config

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSecretReferencesAreFoundEverywhere(t *testing.T) {
	c := parse(t, `{"mcpServers": {
		"one": {"command": "x", "args": ["--k=${secret:arg}"], "env": {"A": "${secret:both}", "B": "$${secret:literal}", "C": "${secret:late:-none}"}},
		"two": {"type": "http", "url": "http://127.0.0.1:1/${secret:path}", "headers": {"Authorization": "Bearer ${secret:both} ${OTHER}"}}
	}}`)
	got := ReferencedSecrets(c)
	require.Equalf(t, []string{"arg", "both", "late", "path"}, slices.Sorted(maps.Keys(got)), "found %v", got)
	require.Equal(t, []string{"one", "two"}, got["both"], "both is used")
}
