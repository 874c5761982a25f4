package main

import (
	"testing"

	"github.com/drawbridge-mcp/drawbridge/config"
)

func TestReleasesAreKnownOnlyWithURLAndKey(t *testing.T) {
	for _, c := range []config.Updates{{}, {URL: "https://example.com/latest.json"}, {PublicKey: "key"}} {
		if knowsReleases(c) {
			t.Errorf("%+v is enough", c)
		}
	}
	if !knowsReleases(config.Updates{URL: "https://example.com/latest.json", PublicKey: "key"}) {
		t.Error("URL and key are not enough")
	}
}
