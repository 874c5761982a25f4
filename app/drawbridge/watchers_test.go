package main

import (
	"testing"

	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
)

func TestReleasesAreKnownOnlyWithURLAndKey(t *testing.T) {
	for _, c := range []config.Updates{{}, {URL: "https://example.com/latest.json"}, {PublicKey: "key"}} {
		assert.Falsef(t, knowsReleases(c), "%+v is enough", c)
	}
	assert.True(t, knowsReleases(config.Updates{URL: "https://example.com/latest.json", PublicKey: "key"}), "URL and key are not enough")
}
